"""Counting tokens: tiktoken's `o200k_base`, from a vocabulary file that lies in this package.

tiktoken would fetch the file over the network, at each call where there is none. Here nothing is
ever fetched: another encoding is taken only if its file is where tiktoken looks for it.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compactor.clusters import cut_before, cut_behind
from compactor.errors import TokenizerError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tiktoken import Encoding

VOCABULARY = Path(__file__).parent / "vocabulary"
# By encoding: the name of its file (the SHA-1 of its download address), and the SHA-256 of what is
# in it. tiktoken would delete a file that says anything else, and fetch it anew.
FILES = {
    "o200k_base": (
        "fb374d419588a4632f3f557e76b4b70aebbca790",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
    "cl100k_base": (
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
}
_PIECE = 16_384  # characters; one endless word would take quadratic time
_CACHE_VARIABLES = ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR")
_environment = threading.Lock()


class TokenCounter:
    """Counts tokens in one encoding; the vocabulary is loaded at the first count."""

    def __init__(self, encoding: str = "o200k_base") -> None:
        self.encoding = encoding

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`."""
        if len(text) <= _PIECE:
            return len(self._encoding.encode_ordinary(text)) if text else 0
        return sum(
            len(self._encoding.encode_ordinary(text[at : at + _PIECE]))
            for at in range(0, len(text), _PIECE)
        )

    def exceeds(self, text: str, limit: int) -> bool:
        """Whether `text` has more than `limit` tokens, without counting where a bound decides."""
        if len(text) * 4 <= limit or most_tokens(text) <= limit:
            return False
        return self.count(text) > limit

    def trim(self, text: str, limit: int) -> str:
        """Return `text` in at most `limit` tokens: its head and tail around a marked gap."""
        if not self.exceeds(text, limit):
            return text
        low, high = 0, min(len(text) - 1, limit * 16)  # characters to keep
        best = ""
        while low <= high:
            size = (low + high) // 2
            head = text[: cut_before(text, size - size // 3)]
            tail = text[cut_behind(text, len(text) - size // 3) :]
            left_out = len(text) - len(head) - len(tail)
            short = f"{head} [... {left_out} characters left out ...] {tail}"
            if self.exceeds(short, limit):
                high = size - 1
            else:
                best, low = short, size + 1
        return best

    def count_message(self, row: Mapping[str, Any]) -> int:
        """Return the tokens of a message as a model would be sent it: text, calls, reasoning."""
        return self.count(message_text(row))

    @property
    def _encoding(self) -> Encoding:
        return load_encoding(self.encoding)


@cache
def load_encoding(name: str) -> Encoding:
    """Load an encoding, once; raises `TokenizerError` where its vocabulary is not there."""
    import tiktoken  # noqa: PLC0415 - a pass with nothing to count does without

    folder = _folder_of(name)
    with _environment:
        saved = os.environ.get(_CACHE_VARIABLES[0])  # noqa: TID251 - tiktoken's only way in
        os.environ[_CACHE_VARIABLES[0]] = str(folder)  # noqa: TID251
        try:
            return tiktoken.get_encoding(name)
        finally:
            if saved is None:
                del os.environ[_CACHE_VARIABLES[0]]  # noqa: TID251
            else:
                os.environ[_CACHE_VARIABLES[0]] = saved  # noqa: TID251


def most_tokens(text: str) -> int:
    """Return a bound that costs nothing: a text has at most as many tokens as UTF-8 bytes."""
    return len(text.encode("utf-8", "surrogatepass"))


def message_text(row: Mapping[str, Any]) -> str:
    """Return all text of a message that a model would be sent."""
    parts: list[str] = []
    content = row.get("content")
    if isinstance(content, str):
        parts.append(content)
    elif content is not None:
        parts.append(json.dumps(content, ensure_ascii=False))
    for key in ("reasoning_content", "tool_calls", "thinking_blocks", "extra_content"):
        value = row.get(key)
        if value:
            parts.append(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    return "\n".join(part for part in parts if part)


def _folder_of(encoding: str) -> Path:
    if encoding not in FILES:
        raise TokenizerError(encoding, f"unknown; expected one of {', '.join(FILES)}")
    name, digest = FILES[encoding]
    named = [os.environ.get(variable) for variable in _CACHE_VARIABLES]  # noqa: TID251
    places = [VOCABULARY, *(Path(place) for place in named if place)]
    places.append(Path(tempfile.gettempdir()) / "data-gym-cache")
    for place in places:
        file = place / name
        if file.is_file() and sha256(file.read_bytes()).hexdigest() == digest:
            return place
    raise TokenizerError(
        encoding,
        f"its vocabulary file {name} is not, or not whole, in {', '.join(map(str, places))}",
    )
