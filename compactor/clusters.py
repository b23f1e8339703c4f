"""Where a text may be cut: not within what is drawn as one character.

A letter and its accents, an emoji and what is joined to it, a flag, and a Korean syllable that is
written in parts are several characters each. Packages that know all of Unicode's rules would add a
dependency for the few of them that matter here.
"""

from __future__ import annotations

import unicodedata

_LONGEST = 32  # characters that may be drawn as one; more is not writing
_JOINERS = "\u200c\u200d"


def cut_before(text: str, at: int) -> int:
    """Return the last place up to `at` where `text` may be cut."""
    for place in range(at, max(at - _LONGEST, 0), -1):
        if not _is_within(text, place):
            return place
    return at if at > _LONGEST else 0


def cut_behind(text: str, at: int) -> int:
    """Return the first place from `at` on where `text` may be cut."""
    for place in range(at, min(at + _LONGEST, len(text))):
        if not _is_within(text, place):
            return place
    return at if at + _LONGEST < len(text) else len(text)


def _is_within(text: str, at: int) -> bool:
    """Whether a cut at `at` would go through what is drawn as one."""
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    return (
        before == "\u200d"
        or after in _JOINERS
        or unicodedata.category(after)[0] == "M"  # accents, variation selectors
        or "\U0001f3fb" <= after <= "\U0001f3ff"  # a skin tone
        or "\u1160" <= after <= "\u11ff"  # the rest of a syllable
        or (_is_half_flag(after) and _flag_halves(text, at) % 2 == 1)
    )


def _is_half_flag(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _flag_halves(text: str, at: int) -> int:
    """Count the halves of flags directly ahead of `at`: only from their first on do they pair."""
    start = at
    while start > 0 and _is_half_flag(text[start - 1]):
        start -= 1
    return at - start
