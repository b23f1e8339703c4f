"""Revising an entry: what matters stays, what is settled leaves, nothing nests or grows."""

from __future__ import annotations

from compactor.entry import QUOTED, Heading, frame, parse_sections, render_sections
from tests.compactor.digests import (
    COUNTER,
    MONTH,
    digest,
    load,
    message,
    section,
)


def test_an_open_item_leaves_the_entry_once_it_is_settled() -> None:
    """Finished tasks that come back as open are carried out twice."""
    entry = render_sections(
        {
            Heading.GOAL: "- Move the office",
            Heading.OPEN: "- Order the moving boxes\n- The landlord must be called",
        }
    )
    rows = (
        message("user", "What about the moving boxes?", day=2),
        message("assistant", "I have ordered the moving boxes, forty of them.", day=2),
    )
    text = digest(*rows, previous=frame(entry))
    assert "Order the moving boxes" not in section(text, Heading.OPEN)
    assert "The landlord must be called" in section(text, Heading.OPEN)
    assert section(text, Heading.GOAL) == "- Move the office"


def test_what_the_agent_had_asked_before_is_not_open_after_more_was_said() -> None:
    """An item of our own wording is settled by any later exchange."""
    first = digest(
        message("user", "Book me a table at Da Mario."),
        message("assistant", "For how many people shall I book it?"),
    )
    later = (message("user", "Four.", day=2), message("assistant", "Booked.", day=2))
    assert section(first, Heading.OPEN)
    assert not section(digest(*later, previous=frame(first)), Heading.OPEN)


def test_ten_rounds_keep_what_was_planted_and_neither_nest_nor_grow() -> None:
    """Facts of the first round survive, no line comes twice, and the length stays."""
    covered = load(MONTH)
    planted = (
        message("user", "My account number is 88213, never call me before 9. I am Ines Weber."),
        message("assistant", "Noted. I wrote it to /srv/notes/ines.md."),
    )
    rows = (*planted, *covered)
    step = len(rows) // 10 + 1
    text, sizes = "", []
    for start in range(0, len(rows), step):
        text = digest(
            *rows[start : start + step],
            previous=frame(text) if text else None,
            kept=rows[start + step : start + step + 4],
        )
        sizes.append(COUNTER.count(text))
        lines = [line for line in text.split("\n") if line]
        assert len(lines) == len(set(lines))
        assert [line for line in lines if line.startswith("#")] == [
            f"## {heading}" for heading in parse_sections(text)
        ]
    assert len(sizes) == 10
    assert max(sizes) <= 1200
    assert "88213, never call me before 9" in section(text, Heading.DECISIONS)
    assert "My account number is 88213" in section(text, Heading.GOAL)
    assert "Compact entry" not in text
    assert "messages by the user: 118" in section(text, Heading.DONE)
    assert "2026-02-18 update_reservation_flights(" in section(text, Heading.DONE)


def test_a_round_without_news_changes_nothing_of_what_stands() -> None:
    """Ten times the same thanks, and every fact is where it was."""
    text = digest(
        message("user", "My locker code is QX-4471 and the invoice INV-2031 is 120 EUR."),
        message("assistant", "I saved both in /data/ines/codes.txt for you."),
    )
    facts = section(text, Heading.FACTS)
    for day in range(2, 12):
        text = digest(
            message("user", "Thanks!", day=day),
            message("assistant", "You're welcome!", day=day),
            previous=frame(text),
        )
    assert section(text, Heading.FACTS) == facts
    assert "QX-4471" in facts
    assert "/data/ines/codes.txt" in facts


def test_a_correction_takes_the_place_of_what_it_corrects() -> None:
    """Of two statements about the same thing the newer stands, over rounds and within one."""
    first = digest(message("user", "My room number is 1204A."), message("assistant", "Noted."))
    assert "My room number is 1204A" in section(first, Heading.FACTS)
    second = digest(
        message("user", "Sorry, my room number is 1407B.", day=2),
        message("assistant", "Corrected.", day=2),
        previous=frame(first),
    )
    assert "my room number is 1407B" in section(second, Heading.FACTS)
    assert "My room number is 1204A" not in section(second, Heading.FACTS)
    corrected_later = digest(
        message("user", "My room number is 1204A."),
        message("assistant", "Noted."),
        kept=(message("user", "No, my room number is 1407B.", day=2),),
    )
    assert "User: My room number is 1204A" not in section(corrected_later, Heading.FACTS)


def test_the_quoted_sections_of_an_earlier_entry_are_left_out() -> None:
    """They quote messages that may since be covered, and other code writes them anew."""
    entry = render_sections(
        {Heading.DONE: "- Sent the offer", **dict.fromkeys(QUOTED, "> User: the old words")}
    )
    text = digest(message("user", "And the invoice?"), previous=frame(entry))
    assert "Sent the offer" in text
    assert "the old words" not in text


def test_a_paragraph_of_an_earlier_entry_is_shortened_and_not_dropped() -> None:
    """A model writes long lines; their beginning is worth more than nothing."""
    entry = frame(render_sections({Heading.DONE: "- Moved the server to Ulm. " + "More. " * 900}))
    text = digest(message("user", "Thanks, that is all."), previous=entry, limit=400)
    assert "- Moved the server to Ulm. More." in section(text, Heading.DONE)


def test_a_summary_that_somebody_else_wrote_is_kept_in_part() -> None:
    """Its beginning stands under *Done*, marked, and stays there once over the rounds."""
    foreign = "The user Ines plans a trip to Kyoto. " + "Many details follow. " * 400
    text = digest(message("user", "Book the train."), previous=frame(foreign), limit=400)
    for day in (2, 3):
        text = digest(message("user", "And the hotel?", day=day), previous=frame(text), limit=400)
    done = section(text, Heading.DONE)
    assert done.count("Earlier summary: The user Ines plans a trip to Kyoto.") == 1
    assert COUNTER.count(text) <= 400
    assert "And the hotel?" in text


def test_nothing_said_leaves_the_entry_before_it() -> None:
    """A revision without news is the entry, with its goal and its facts."""
    entry = "## Goal\n- Rent a flat\n\n## Exact facts\n- Ids: A1234B"
    assert digest(message("user", ""), previous=frame(entry)) == entry


def test_the_first_request_after_a_summary_is_not_called_the_first() -> None:
    """What came before is in the summary, whoever wrote it."""
    asked = message("user", "Book the train to Ulm.")
    for previous in ("The user wants to travel.", frame("## Done\n- Found a hotel")):
        goal = section(digest(asked, previous=previous), Heading.GOAL)
        assert goal == "- Request (2026-05-01): Book the train to Ulm."
