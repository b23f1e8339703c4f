"""Whether a text names an identifier: in any spelling, and never as a part of another one."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactor.audit import find_missing
from tests.compactor.labelled import read_lines

_SPELLINGS = tomllib.loads((Path(__file__).parent / "spellings.toml").read_text(encoding="utf-8"))
SAME = [(one, text) for one, texts in _SPELLINGS["same"].items() for text in texts]
OTHER = [(one, text) for one, texts in _SPELLINGS["other"].items() for text in texts]
LABELS = sorted(
    {text for lines in read_lines().values() for line in lines for _, text in line.wanted}
)


@pytest.mark.parametrize(("identifier", "text"), SAME)
def test_another_spelling_is_no_loss(identifier: str, text: str) -> None:
    """What a reader would take for the same is found."""
    assert find_missing([identifier], f"- Note: {text}") == ()
    assert find_missing([identifier], text) == ()


@pytest.mark.parametrize(("identifier", "text"), OTHER)
def test_a_part_of_another_identifier_is_not_it(identifier: str, text: str) -> None:
    """And a day that could be another day is nobody's guess."""
    assert find_missing([identifier], f"- Note: {text}, fine") == (identifier,)
    assert find_missing([identifier], text) == (identifier,)


@pytest.mark.parametrize("form", ["{}", "- `{}`", "**{}**,", "({})", "“{}”."])
def test_every_labelled_identifier_is_found_in_a_plain_list(form: str) -> None:
    """In the form in which what is missing is appended, first of all."""
    text = "\n".join(form.format(label) for label in LABELS)
    assert find_missing(LABELS, text) == ()


@settings(max_examples=150)
@given(
    st.text(st.characters(codec=None), max_size=12), st.text(st.characters(codec=None), max_size=60)
)
def test_no_text_makes_the_comparison_raise(identifier: str, text: str) -> None:
    """Empty ones, lone surrogates and signs alone included."""
    assert set(find_missing([identifier], text)) <= {identifier}
