"""Reasoning within a text, and a text without it."""

from __future__ import annotations

import re
from itertools import product

import pytest

from compactor.thinking import drop_thoughts, strip_thinking

NAIVE = re.compile(r"(?is)<think(?:ing)?>.*?</think(?:ing)?>")


def test_whole_blocks_are_dropped_and_all_else_stays() -> None:
    """Whatever their spelling, on one line or many; half a block stays."""
    text = "a<think>b</think>c\n<THINKING>d\ne</thinking> f</think> g <think>h"
    assert drop_thoughts(text) == "ac\n f</think> g <think>h"
    assert drop_thoughts("") == ""


def test_every_order_of_marks_reads_as_the_plain_pattern_does() -> None:
    """All texts of up to six beginnings, ends and words."""
    for length in range(7):
        for parts in product(("<think>", "</think>", "x"), repeat=length):
            text = "".join(parts)
            assert drop_thoughts(text) == NAIVE.sub("", text)


@pytest.mark.timeout(10)
@pytest.mark.parametrize("text", ["<think>", "</think>", "<think", "<think>a</think><think>"])
def test_many_marks_take_linear_time(text: str) -> None:
    """A megabyte and more of them: looking for an end from each would take minutes."""
    many = text * 200_000
    assert len(drop_thoughts(many)) <= len(many)
    assert len(drop_thoughts(f"<think>{many}</think>{many}")) <= 2 * len(many)
    assert len(strip_thinking(many)) <= len(many)
