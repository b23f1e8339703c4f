"""Transcript text made harmless and short: one line, no secrets, no controls, no base64.

Whatever a digest says of a transcript has gone through `readable_text` and, last, `clip`.
"""

from __future__ import annotations

import re
import unicodedata

from compactor.redact import redact
from compactor.secret_rules.private_keys import LONGEST_BLOCK

# Characters beyond a cut that are read too: more than the longest secret, so that none is cut in
# half. A private key is the longest by far.
_MARGIN = LONGEST_BLOCK + 512
_WIDER = 4  # times as much is read where what was read shrank to less than was asked for
_LONGEST_CLUSTER = 32  # characters that may be drawn as one; more is not writing

_BREAKS = re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
# Controls, formatting (but for the joiners that scripts and emoji need), surrogates, tags.
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
_DATA_URL = re.compile(r"data:[\w/.+-]{0,100}(?:;[\w=.-]{1,60}){0,3},[A-Za-z0-9+/=_%-]*+")
_SHORTEST_BASE64 = 200
_BASE64 = re.compile(rf"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/_-]{{{_SHORTEST_BASE64},}}+=*+")
_CODE_BLOCK = re.compile(r"```(?:(?!```)[\s\S])*+(?:```)?")
_MARKUP = re.compile(r"(?m)^[ \t>]*(?:#{1,6}[ \t]+|[-*+•][ \t]+|\d{1,3}[.)][ \t]+)|\*\*|~~")
_HEADING = re.compile(r"(?m)^[ \t]*#{1,6}[ \t].*$|^[ \t]*-{3,}[ \t]*$")
_SENTENCE_END = re.compile(r"\n+|(?<=[.!?…])[ \t]+|(?<=[。\uff01\uff1f])")
_INVISIBLE = " \t\n\u200c\u200d\ufe0e\ufe0f"

_PLACEHOLDERS = {
    "image_url": "[image]",
    "image": "[image]",
    "input_image": "[image]",
    "input_audio": "[audio]",
    "audio": "[audio]",
    "file": "[file]",
    "document": "[file]",
}


def readable_text(content: object, limit: int) -> str:
    """Return the text of a message's `content` in at most `limit` characters, lines kept.

    `content` is a string, a list of parts or anything else (which reads as empty). Of a longer
    text the head and a third of the tail are taken; secrets are redacted before the cut.
    """
    text = _joined(content)
    tail = limit // 3
    head, end = _harmless_start(text, limit - tail), _harmless_end(text, tail)
    if head is None or end is None:
        whole = _harmless(text)
        if len(whole) <= limit:
            return whole.strip(_INVISIBLE)
        head, end = whole[: limit - tail], whole[len(whole) - tail :]
    return " …\n".join(filter(None, (head.strip(_INVISIBLE), end.strip(_INVISIBLE))))


def _harmless_start(text: str, size: int) -> str | None:
    """Return the first `size` characters of `text` made harmless, None if that takes all of it."""
    read = size + _MARGIN
    while read < len(text):
        # Only in the last of what was read can a secret stand that goes on behind it.
        start = _harmless(text[:read])[:-_MARGIN]
        if len(start) >= size:
            return start[:size]
        read *= _WIDER
    return None


def _harmless_end(text: str, size: int) -> str | None:
    """Return the last `size` characters of `text` made harmless, None if that takes all of it."""
    read = size + _MARGIN
    while read < len(text):
        end = _harmless(text[-read:])[_MARGIN:]
        if len(end) >= size:
            return end[len(end) - size :]
        read *= _WIDER
    return None


def one_line(text: str) -> str:
    """Return `text` with every run of white space made one space, and nothing unseen in it."""
    return " ".join(_UNSEEN.sub("", _BREAKS.sub("\n", text)).split())


def split_sentences(text: str) -> list[str]:
    """Return the sentences of `text`, each on one line; code blocks and headings are left out."""
    prose = _HEADING.sub("", _CODE_BLOCK.sub("\n", text))
    pieces = (one_line(piece) for piece in _SENTENCE_END.split(_MARKUP.sub("", prose)))
    return [piece for piece in pieces if any(char.isalnum() for char in piece)]


def clip(text: str, limit: int) -> str:
    """Return `text` in at most `limit` characters, cut at a word where one is near, with an `…`.

    What is drawn as one character (a letter and its accents, a joined emoji) is not cut apart.
    """
    if len(text) <= limit:
        return text
    end = max(limit - 1, 0)
    for _ in range(min(end, _LONGEST_CLUSTER)):
        if not _joins(text[end - 1], text[end]):
            break
        end -= 1
    space = text.rfind(" ", max(end - 12, end // 2), end + 1)
    if space > 0:
        end = space
    return text[:end].rstrip(" ,;:") + "…" if limit > 0 else ""


def _joins(before: str, after: str) -> bool:
    return (
        before == "\u200d"
        or after in "\u200c\u200d"
        or unicodedata.category(after)[0] == "M"
        or "\U0001f3fb" <= after <= "\U0001f3ff"  # a skin tone
    )


def _joined(content: object) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(filter(None, map(_part_text, content)))


def _part_text(part: object) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return ""
    text = part.get("text")
    if isinstance(text, str):
        return text
    kind = part.get("type")
    return _PLACEHOLDERS.get(kind, "") if isinstance(kind, str) else ""


def _harmless(text: str) -> str:
    # Most texts need none of this, and are many.
    if not text.isprintable():
        text = _UNSEEN.sub("", _BREAKS.sub("\n", text))
    if "data:" in text:
        text = _DATA_URL.sub("[data]", text)
    if len(text) >= _SHORTEST_BASE64:
        text = _BASE64.sub("[data]", text)
    return redact(text)
