"""The text of a compact entry."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactor.entry import FRAME, Heading, clean_text, frame, parse_sections, render_sections

LINES = st.text(st.characters(codec="utf-8", exclude_characters="\n"), min_size=1, max_size=20)
BODIES = st.lists(LINES.filter(lambda line: not line.startswith("## ")), min_size=1, max_size=4)
SECTIONS = st.dictionaries(
    st.sampled_from(Heading), BODIES.map("\n".join).map(str.strip).filter(bool)
)


@given(SECTIONS)
def test_sections_come_back_as_they_were(sections: dict[Heading, str]) -> None:
    """An entry that is taken apart is the entry that was put together."""
    assert parse_sections(render_sections(sections)) == sections
    assert parse_sections(frame(render_sections(sections))) == sections


def test_sections_stand_in_the_order_of_a_hand_off() -> None:
    """Whatever the order in which they were written, and only if they say something."""
    text = render_sections({Heading.OPEN: "b", Heading.GOAL: "a\n", Heading.DONE: " "})
    assert text == "## Goal\na\n\n## Open\nb"


def test_a_heading_that_comes_twice_is_one_section() -> None:
    """Nothing of it is lost."""
    text = "## Open\none\n\n## Goal\ngoal\n\n## Open\ntwo"
    assert parse_sections(text) == {Heading.OPEN: "one\n\ntwo", Heading.GOAL: "goal"}


def test_what_stands_under_another_heading_is_no_section() -> None:
    """Nor does it become part of the section ahead of it."""
    text = "preamble\n## Goal\nfly\n## Recipe\nsalt\n### Detail\n## goal\nx\n## Open \nwho"
    assert parse_sections(text) == {Heading.GOAL: "fly", Heading.OPEN: "who"}


def test_the_entry_says_what_it_is() -> None:
    """The model must not take it for a request."""
    assert frame("body") == f"{FRAME}\n\nbody"
    assert "not a request" in FRAME


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("a\x00b\x1b[31mc\x9b", "ab[31mc"),
        ("a\ud800b", "ab"),
        ("a\r\nb\rc\u2028d\x85e\vf", "a\nb\nc\nd\ne\nf"),
        ("\ttab 👩\u200d🔬 é", "\ttab 👩\u200d🔬 é"),
    ],
)
def test_a_cleaned_text_can_be_stored_and_shown(text: str, cleaned: str) -> None:
    """Controls and lone surrogates go, and all that ends a line is a newline."""
    assert clean_text(text) == cleaned
    cleaned.encode("utf-8")
