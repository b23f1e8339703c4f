"""Which facts of the entry before new notes have lost without a reason."""

from __future__ import annotations

import pytest

from compactor.entry import frame
from compactor.held import HeldFacts
from tests.compactor.builders import messages_of, user

ENTRY = frame(
    "## Goal\n- Fly to Oslo, see TRIP-9\n\n"
    "## Exact facts\n"
    "- Booking reference: H8Q05L\n"
    "- Hotel: 24 Harbour Street, confirmation ZX-4417\n"
    "- `OPS-107`\n"
    "- The user prefers trains\n"
    "- 预订编号\uff1aKQ7788"
)


def lost(notes: str, *said: str) -> list[str]:
    """The lines that are lost from `notes` after this was said."""
    messages = messages_of(*(user(text) for text in said))
    return list(HeldFacts(ENTRY, messages).find_lost(notes))


def test_facts_of_which_nothing_was_said_are_held() -> None:
    """Lines that name something; one that was only appended may go."""
    assert lost("## Goal\n- Fly to Oslo", "thanks") == [
        "- Booking reference: H8Q05L",
        "- Hotel: 24 Harbour Street, confirmation ZX-4417",
        "- 预订编号\uff1aKQ7788",
    ]


def test_what_the_notes_still_name_is_not_lost() -> None:
    """Wherever it stands, however it is spelled, and if only one of its names is there."""
    assert lost("The booking h8q05l, the hotel (ZX-4417), KQ7788", "thanks") == []


@pytest.mark.parametrize(
    "said",
    ["H8Q05L is cancelled", "the booking reference has changed to PP1234", "A new booking it is"],
)
def test_a_fact_of_which_somebody_spoke_may_go(said: str) -> None:
    """It was corrected, or is finished: that is for the notes to say."""
    assert "- Booking reference: H8Q05L" not in lost("## Goal\n- x", said)


def test_without_an_entry_nothing_is_held() -> None:
    """As at the first compaction."""
    assert HeldFacts(None, []).find_lost("## Goal\n- x") == {}
