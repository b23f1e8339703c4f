"""Stored text on its way to a terminal."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactor.printable import printable

ANY_TEXT = st.text(st.characters(codec=None), max_size=60)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("\x9b31m", r"\x9b31m"),
        ("abc\u202egpj.exe", r"abc\u202egpj.exe"),
        ("\u2066hidden\u2069", r"\u2066hidden\u2069"),
        ("a\x00b", r"a\x00b"),
        ("a\ud800b", r"a\ud800b"),
        ("a\r\nb\tc", r"a\x0d\x0ab\x09c"),
        ("a\u2028b", r"a\u2028b"),
        ("\U000e0041", r"\U000e0041"),
        ("\x7f", r"\x7f"),
    ],
)
def test_what_can_not_be_seen_is_written_as_an_escape(text: str, shown: str) -> None:
    """Escape sequences, reordering, NUL, lone surrogates and line ends do nothing any more."""
    assert printable(text) == shown


@pytest.mark.parametrize(
    "text", ["telegram:[/red]x", r"C:\dir", "Grüße, 世界 👋", "[bold]not bold[/bold]", "e\u0301"]
)
def test_what_can_be_seen_stays(text: str) -> None:
    """Markup of rich is visible text, and is rendered as such elsewhere."""
    assert printable(text) == text


def test_lines_may_stay_lines() -> None:
    """A text of several lines keeps newlines and tabs, and nothing else."""
    assert printable("a\n\tb\rc", lines=True) == "a\n\tb\\x0dc"


@given(ANY_TEXT, st.booleans())
def test_nothing_gets_through_unseen(text: str, lines: bool) -> None:
    """Whatever comes in, what goes out is visible, one line, and can be encoded."""
    shown = printable(text, lines=lines)
    shown.encode("utf-8")
    rest = shown.replace("\n", "").replace("\t", "") if lines else shown
    assert all(unicodedata.category(char)[0] != "C" for char in rest)
    assert not {"\u2028", "\u2029"} & set(rest)
