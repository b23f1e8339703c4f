"""The one function through which stored text passes on its way to a terminal, a log or a page."""

from __future__ import annotations

import unicodedata

# Control, formatting (which reorders or hides text), surrogate, private use, unassigned, and the
# separators that end a line.
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}

_LAST_ASCII = 0x7F


def printable(text: str, *, lines: bool = False) -> str:
    """Return `text` with everything that is no visible character written as an escape.

    With `lines`, newlines and tabs stay.
    """
    return "".join(
        char
        if (lines and char in "\n\t") or unicodedata.category(char) not in _HIDDEN
        else char.encode("ascii", "backslashreplace").decode("ascii")
        if ord(char) > _LAST_ASCII
        else f"\\x{ord(char):02x}"
        for char in text
    )
