"""Transcript text made harmless and short: one line, no secrets, no controls, no base64.

Whatever a digest says of a transcript has gone through `readable_text` and, last, `clip`.
"""

from __future__ import annotations

import re

from compactor.clusters import cut_before, cut_behind
from compactor.redact import redact
from compactor.secret_rules.private_keys import LONGEST_BLOCK

# Characters beyond a cut that are read too: more than the longest secret, so that none is cut in
# half. A private key is the longest by far.
_MARGIN = LONGEST_BLOCK + 512
_WIDER = 4  # times as much is read where what was read shrank to less than was asked for

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
GAP = "[…]"  # no prose has it
_BETWEEN = f"\n{GAP}\n"
_INVISIBLE = " \t\n\u200c\u200d"
_NO_BEGINNING = _INVISIBLE + "\ufe0e\ufe0f"  # at an end these belong to the emoji ahead of them

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
    text the head and half as much of the tail are taken, and between them stands a line `[…]`;
    secrets are redacted before the cut.
    """
    text = joined_text(content)
    head_size, tail_size = _shares(limit)
    head, end = _harmless_start(text, head_size), _harmless_end(text, tail_size)
    if head is None or end is None:
        whole = _harmless(text)
        return _strip(whole) if len(whole) <= limit else cut_middle(whole, limit)
    return _join_ends(head, end)


def cut_middle(text: str, limit: int) -> str:
    """Return `text` in at most `limit` characters: its head and tail around a line `[…]`."""
    if len(text) <= limit:
        return text
    head, tail = _shares(limit)
    return _join_ends(text[: cut_before(text, head)], text[cut_behind(text, len(text) - tail) :])


def _shares(limit: int) -> tuple[int, int]:
    room = max(limit - len(_BETWEEN), 0)
    return room - room // 3, room // 3


def _join_ends(head: str, tail: str) -> str:
    return _BETWEEN.join(filter(None, (_strip(head), _strip(tail))))


def _strip(text: str) -> str:
    return text.lstrip(_NO_BEGINNING).rstrip(_INVISIBLE)


def _harmless_start(text: str, size: int) -> str | None:
    """Return the first `size` characters of `text` made harmless, None if that takes all of it."""
    read = size + _MARGIN
    while read < len(text):
        # Only in the last of what was read can a secret stand that goes on behind it.
        start = _harmless(text[:read])
        if len(start) - _MARGIN >= size:
            return start[: cut_before(start, size)]
        read *= _WIDER
    return None


def _harmless_end(text: str, size: int) -> str | None:
    """Return the last `size` characters of `text` made harmless, None if that takes all of it."""
    read = size + _MARGIN
    while read < len(text):
        end = _harmless(text[-read:])
        if len(end) - _MARGIN >= size:
            return end[cut_behind(end, len(end) - size) :]
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
    end = cut_before(text, max(limit - 1, 0))
    space = text.rfind(" ", max(end - 12, end // 2), end + 1)
    if space > 0:
        end = space
    return text[:end].rstrip(" ,;:") + "…" if limit > 0 else ""


def joined_text(content: object) -> str:
    """Return the text of a message's `content`, which may be a list of parts or anything else."""
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
