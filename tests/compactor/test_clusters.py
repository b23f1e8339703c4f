"""Where a text may be cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactor.clusters import cut_before, cut_behind

DRAWN_AS_ONE = {
    "letter and accents": "u\u0323\u0302",
    "family": "👩🏽‍👩🏻‍👧🏿‍👦🏾",
    "heart on fire": "❤️‍🔥",
    "hand": "👍🏽",
    "keycap": "5️⃣",
    "flag": "🇩🇪",
    "syllable in parts": "\u1112\u1161\u11ab",
    "vowel signs": "क्षि"[-2:],
    "variant": "葛\U000e0100",
}
TEXTS = st.lists(st.sampled_from(["a", " ", "国", *DRAWN_AS_ONE.values()])).map("".join)


@pytest.mark.parametrize("one", DRAWN_AS_ONE.values(), ids=DRAWN_AS_ONE)
@pytest.mark.parametrize("ahead", ["", "a", "ab🇯🇵"])
def test_no_cut_is_within_what_is_drawn_as_one(one: str, ahead: str) -> None:
    """From any place in it a cut goes to its beginning, or to its end."""
    text = f"{ahead}{one}{one}z"
    begin, end = len(ahead), len(ahead) + len(one)
    for at in range(begin, end):
        assert cut_before(text, at) == begin
        assert cut_behind(text, at + 1) == end
    assert cut_before(text, end) == cut_behind(text, end) == end


@given(TEXTS, st.integers(0, 60))
def test_a_cut_is_on_its_own_side(text: str, at: int) -> None:
    """What is cut is never longer than asked for, and a cut where one may be stays."""
    at = min(at, len(text))
    assert 0 <= cut_before(text, at) <= at <= cut_behind(text, at) <= len(text)
    assert cut_behind(text, cut_before(text, at)) == cut_before(text, at)


@pytest.mark.parametrize("text", ["a" + "\u0301" * 500, "👩\u200d" * 500])
def test_what_has_no_end_is_cut_all_the_same(text: str) -> None:
    """More than some characters drawn as one is no writing."""
    assert cut_before(text, 400) == cut_behind(text, 400) == 400
    assert cut_before(text, 20) == 0
    assert cut_behind(text, len(text) - 20) == len(text)
