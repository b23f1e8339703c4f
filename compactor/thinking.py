"""The reasoning that some models write into their text, and its removal."""

from __future__ import annotations

import re

_THOUGHT = re.compile(r"(?is)<think(?:ing)?>.*?</think(?:ing)?>")
_MARK = re.compile(r"(?i)<(/?)think(?:ing)?>")


def drop_thoughts(text: str) -> str:
    """Return `text` without whole blocks of reasoning, in linear time."""
    # Behind the last end no block ends; looking for one from each beginning would be quadratic.
    end = max((mark.end() for mark in _MARK.finditer(text) if mark[1]), default=0)
    return _THOUGHT.sub("", text[:end]) + text[end:]


def strip_thinking(text: str) -> str:
    """Return the answer in `text`: without reasoning, also where only one end of it is marked.

    Templates that open the block themselves leave only its end; an open end is all reasoning.
    """
    text = drop_thoughts(text)
    marks = list(_MARK.finditer(text))
    ends = [mark for mark in marks if mark[1]]
    start = ends[-1].end() if ends else 0
    stop = next((mark.start() for mark in marks if mark.start() >= start), len(text))
    return text[start:stop].strip()
