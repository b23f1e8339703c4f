"""Counting tokens: tiktoken's `o200k_base`, from a vocabulary file that lies in this package.

tiktoken would fetch the file over the network, at each call where there is none. Here nothing is
ever fetched: another encoding is taken only if its file is where tiktoken looks for it.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compactor.errors import TokenizerError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tiktoken import Encoding

VOCABULARY = Path(__file__).parent / "vocabulary"
# tiktoken names a file by the SHA-1 of its download address.
FILES = {
    "o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790",
    "cl100k_base": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
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
        if not text:
            return 0
        return sum(
            len(self._encoding.encode_ordinary(text[at : at + _PIECE]))
            for at in range(0, len(text), _PIECE)
        )

    def exceeds(self, text: str, limit: int) -> bool:
        """Whether `text` has more than `limit` tokens, without counting where a bound decides.

        A text has at most as many tokens as UTF-8 bytes.
        """
        if len(text) * 4 <= limit or len(text.encode("utf-8", "replace")) <= limit:
            return False
        return self.count(text) > limit

    def count_message(self, row: Mapping[str, Any]) -> int:
        """Return the tokens of a message as a model would be sent it: text, calls, reasoning."""
        return self.count(message_text(row))

    @cached_property
    def _encoding(self) -> Encoding:
        import tiktoken  # noqa: PLC0415 - a pass with nothing to count does without

        with _environment:
            folder = _folder_of(self.encoding)
            saved = os.environ.get(_CACHE_VARIABLES[0])  # noqa: TID251 - tiktoken's only way in
            os.environ[_CACHE_VARIABLES[0]] = str(folder)  # noqa: TID251
            try:
                return tiktoken.get_encoding(self.encoding)
            finally:
                if saved is None:
                    del os.environ[_CACHE_VARIABLES[0]]  # noqa: TID251
                else:
                    os.environ[_CACHE_VARIABLES[0]] = saved  # noqa: TID251


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
    name = FILES.get(encoding)
    if name is None:
        raise TokenizerError(encoding, f"unknown; expected one of {', '.join(FILES)}")
    named = [os.environ.get(variable) for variable in _CACHE_VARIABLES]  # noqa: TID251
    places = [VOCABULARY, *(Path(place) for place in named if place)]
    places.append(Path(tempfile.gettempdir()) / "data-gym-cache")
    for place in places:
        if (place / name).is_file():
            return place
    raise TokenizerError(
        encoding, f"its vocabulary file {name} is not in {', '.join(map(str, places))}"
    )
