"""Which notes are refused, and by which form; the table is in `notes_to_judge.toml`."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from compactor.entry import Heading, tidy_headings
from compactor.refusals import Refusal, find_fault

_TABLE = tomllib.loads((Path(__file__).parent / "notes_to_judge.toml").read_text("utf-8"))
GOOD = [(kind, note) for kind, notes in _TABLE["good"].items() for note in notes]
BAD = [(Refusal[form], note) for form, notes in _TABLE["bad"].items() for note in notes]
HANDOFF = (
    "## Goal\n- Change a flight\n\n## Done\n- The agent moved H8Q05L to Saturday\n\n"
    "## Decisions and constraints\n- A window seat\n- Never before 9:00\n\n## Exact facts\n- H8Q05L"
)


def lines_of(note: str) -> str:
    """The note as a model would write it."""
    return note.replace("|im_start|", "\0").replace("|", "\n").replace("\0", "|im_start|")


def test_there_are_enough_notes_of_both_kinds() -> None:
    """So that neither side of the line is drawn from a handful."""
    assert len(GOOD) >= 90
    assert len(BAD) >= 80
    assert {form for form, _ in BAD} == set(Refusal)


@pytest.mark.parametrize(("kind", "note"), GOOD)
def test_notes_that_only_tell_are_not_refused(kind: str, note: str) -> None:
    """Neither alone, where a single line is all of it, nor at the end of a hand-off."""
    assert find_fault(f"## Goal\n{lines_of(note)}") is None
    assert find_fault(f"{HANDOFF}\n{lines_of(note)}") is None


@pytest.mark.parametrize(("form", "note"), BAD)
def test_notes_of_a_bad_form_are_refused_by_its_name(form: Refusal, note: str) -> None:
    """The name goes into the report, and to the model that is asked once more."""
    assert find_fault(f"## Goal\n{lines_of(note)}" if form is not Refusal.EMPTY else note) is form


@pytest.mark.parametrize("note", _TABLE["bad"]["ORDERS"])
def test_one_order_is_enough(note: str) -> None:
    """It stands in a hand-off that is good but for that."""
    assert find_fault(f"{HANDOFF}\n{lines_of(note)}") is Refusal.ORDERS


def test_a_line_in_the_first_person_is_no_voice_yet() -> None:
    """Somebody's words may slip in; half of the lines may not."""
    assert find_fault(f"{HANDOFF}\n- I want a window seat") is None
    many = "\n- I want a window seat" * 6
    assert find_fault(f"{HANDOFF}{many}") is Refusal.FIRST_PERSON


def test_deeper_headings_are_tolerated() -> None:
    """They part a section, and open none."""
    assert find_fault("## Done\n### Flights\n- moved\n#42 is closed") is None


@pytest.mark.parametrize("spelling", ["## goal", "##Goal", "## Goal:", "## **Goal**", "## GOAL: "])
def test_a_heading_in_another_spelling_is_ours(spelling: str) -> None:
    """It is written anew, so that the next revision finds its section."""
    assert tidy_headings(f"{spelling}\n- fly") == "## Goal\n- fly"
    assert find_fault(tidy_headings(f"{spelling}\n- fly")) is None


def test_headings_that_we_quote_under_are_not_made_ours() -> None:
    """Only we write those."""
    quoted = f"## {Heading.LAST_EXCHANGE.lower()}:\n> hi"
    assert tidy_headings(quoted) == quoted


@pytest.mark.parametrize("form", Refusal)
def test_the_name_of_a_form_fits_into_a_sentence(form: Refusal) -> None:
    """It is told to the model as "Your last answer was not usable: ...", and put into the log."""
    assert form[0].islower()
    assert form[-1].isalpha()
    assert "\n" not in form
