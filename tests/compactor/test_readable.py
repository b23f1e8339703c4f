"""Texts made short around a marked gap."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactor.readable import cut_middle, readable_text


@given(st.text(min_size=1), st.integers(0, 60), st.sampled_from([1, 7, 9000]))
def test_no_text_is_longer_than_asked_for(text: str, limit: int, times: int) -> None:
    """The gap included."""
    assert len(readable_text(text * times, limit)) <= limit
    assert len(cut_middle(text * times, limit)) <= limit


@pytest.mark.parametrize("size", [31, 1_000, 100_000])
def test_a_long_text_has_one_gap_between_head_and_tail(size: int) -> None:
    """Of the head twice as much is left, whether all of the text was read or only its ends."""
    text = "a" * 16 + "." * (size - 24) + "z" * 8
    for short in (readable_text(text, 29), cut_middle(text, 29)):
        assert short == "a" * 16 + "\n[…]\n" + "z" * 8


def test_a_text_that_fits_has_no_gap() -> None:
    """To the last character."""
    assert readable_text("x" * 29, 29) == cut_middle("x" * 29, 29) == "x" * 29


def test_an_emoji_at_the_end_stays_as_it_is_drawn() -> None:
    """What says how it is drawn belongs to it."""
    assert readable_text("thanks ❤\ufe0f\n", 99) == "thanks ❤\ufe0f"
