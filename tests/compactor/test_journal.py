"""What every journal promises; one suite over both, and the one in a file opened anew each time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from compactor.journal import (
    FOLDED,
    Answer,
    Journal,
    Landed,
    LedgerEntry,
    MemoryJournal,
    SessionMemory,
    Undone,
)
from compactor.model import AuditFigure
from compactor.sqlite_journal import SqliteJournal
from session.model import SessionRef
from tests.compactor.builders import NOW, REF

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OTHER = replace(REF, key="slack:7")
ANSWER = Answer("sha256:q", "## Goal\nfly", "openai", "gpt", "v1", NOW)
LANDED = Landed(180, "sha256:c", "entry", {"covers": 180, "previous": None}, 7, "sha256:t")
UNDONE = Undone(180, "sha256:c", 200)

Open = Callable[[], Journal]


@pytest.fixture(params=["memory", "sqlite"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Return what opens the journal: as often as asked, with all that was written so far."""
    opened: list[Journal] = []

    def open_journal() -> Journal:
        if request.param == "memory":
            opened[:] = opened or [MemoryJournal()]
            return opened[0]
        if opened:
            opened[-1].close()
        opened.append(SqliteJournal(tmp_path / "state"))
        return opened[-1]

    yield open_journal
    for one in opened:
        one.close()


def test_a_new_journal_remembers_nothing(journal: Open) -> None:
    """No session, and no answer."""
    assert journal().recall() == {}
    assert journal().find_answer("sha256:q") is None


def test_an_answer_is_found_by_its_question(journal: Open) -> None:
    """Whole, also when the process has ended since."""
    journal().keep_answer(REF, ANSWER)
    assert journal().find_answer(ANSWER.fingerprint) == ANSWER
    assert journal().find_answer("sha256:other") is None
    journal().keep_answer(REF, replace(ANSWER, text="better", model=None))
    assert journal().find_answer(ANSWER.fingerprint) == replace(ANSWER, text="better", model=None)


def test_what_landed_is_remembered(journal: Open) -> None:
    """In place of what landed before, with its stamp."""
    journal().note_landed(REF, LANDED)
    assert journal().recall() == {REF: SessionMemory(LANDED)}
    newer = replace(LANDED, covers=190, base_text=None, reapplied_at=201)
    journal().note_landed(REF, newer)
    assert journal().recall() == {REF: SessionMemory(newer)}


def test_an_answer_that_landed_has_served_its_time(journal: Open) -> None:
    """The entry itself is what is remembered then."""
    journal().keep_answer(REF, ANSWER)
    journal().keep_answer(OTHER, replace(ANSWER, fingerprint="sha256:r"))
    journal().note_landed(REF, LANDED)
    assert journal().find_answer("sha256:q") is None
    assert journal().find_answer("sha256:r") is not None


def test_what_was_undone_is_remembered_and_its_texts_are_not(journal: Open) -> None:
    """Nothing is left that could be applied again."""
    journal().note_landed(REF, LANDED)
    journal().keep_answer(REF, ANSWER)
    journal().note_undone(REF, UNDONE)
    assert journal().recall() == {REF: SessionMemory(undone=UNDONE)}
    assert journal().find_answer(ANSWER.fingerprint) is None


def test_a_later_compaction_ends_an_undo(journal: Open) -> None:
    """The operator forced it, or the user has spoken."""
    journal().note_undone(REF, UNDONE)
    journal().note_landed(REF, LANDED)
    assert journal().recall() == {REF: SessionMemory(LANDED)}


def test_outcomes_are_counted_from_a_moment_on(journal: Open) -> None:
    """Of all sessions; other outcomes and older lines are not among them."""
    for outcome, days in (("reapplied", 0), ("reapplied", 2), ("compacted", 0)):
        at = NOW - timedelta(days=days)
        journal().write_ledger(REF, LedgerEntry(at, outcome, None))
    assert journal().count_outcomes("reapplied", NOW - timedelta(days=1)) == 1
    assert journal().count_outcomes("reapplied", NOW - timedelta(days=2)) == 2
    assert journal().count_outcomes("failed", NOW - timedelta(days=9)) == 0


def test_calls_for_a_part_are_no_failures_of_the_session(journal: Open) -> None:
    """They count in all, and not against the session; nor do those that nobody answered."""
    for outcome, reason, made in (
        (FOLDED, None, 4),
        ("failed", "bad_summary", 2),
        ("failed", "unavailable", 8),
        ("compacted", None, 1),
    ):
        journal().write_ledger(REF, LedgerEntry(NOW, outcome, reason, calls=made))
    journal().write_ledger(OTHER, LedgerEntry(NOW, "compacted", None, calls=16))
    assert journal().count_calls(NOW, REF, until=NOW) == 3
    assert journal().count_calls(NOW, until=NOW) == 31
    later = NOW + timedelta(seconds=1)
    assert journal().count_calls(later, until=later) == 0


def test_calls_of_a_clock_that_was_ahead_are_not_counted(journal: Open) -> None:
    """Nor such as are too old; the first and the last moment count."""
    for hours, made in ((-25, 1), (-1, 2), (0, 4), (1, 8), (24, 16)):
        at = NOW + timedelta(hours=hours)
        journal().write_ledger(REF, LedgerEntry(at, "compacted", None, calls=made))
    since = NOW - timedelta(hours=1)
    assert journal().count_calls(since, until=NOW) == 6
    assert journal().count_calls(since, REF, until=NOW) == 6


def test_making_room_leaves_no_trace(journal: Open) -> None:
    """However often it is made; answers are kept as before."""
    for _ in range(2):
        journal().make_room()
    assert journal().recall() == {}
    assert journal().find_answer("") is None
    journal().keep_answer(REF, ANSWER)
    journal().make_room()
    assert journal().find_answer(ANSWER.fingerprint) == ANSWER


def test_what_led_to_an_entry_is_what_was_written_since_the_one_before(journal: Open) -> None:
    """Parts, failures and conflicts, as they were written, whatever the clock said."""
    ends = ("compacted", "failed", FOLDED, "conflict", "compacted", "reapplied", "failed")
    lines = [
        LedgerEntry(
            NOW - timedelta(hours=n), end, None, "openai", "gpt", n, 9, 8, 1.5, {"prompt": n}
        )
        for n, end in enumerate(ends)  # a clock that was set back does not disturb their order
    ]
    lines[4] = replace(lines[4], audit=AuditFigure(17, 14, 3))
    assert journal().costs_of(REF) == []
    for line in lines:
        journal().write_ledger(REF, line)
        journal().write_ledger(OTHER, replace(line, calls=100))
    journal().write_ledger(replace(OTHER, key="new"), lines[1])
    assert journal().costs_of(REF) == lines[1:5]
    assert journal().costs_of(OTHER) == [replace(line, calls=100) for line in lines[1:5]]
    assert journal().costs_of(replace(OTHER, key="new")) == []


def test_what_led_to_the_first_entry_is_all_there_is(journal: Open) -> None:
    """No compaction came before it."""
    lines = [LedgerEntry(NOW, end, None) for end in ("failed", "compacted")]
    for line in lines:
        journal().write_ledger(REF, line)
    assert journal().costs_of(REF) == lines


def test_failures_in_a_row_are_counted(journal: Open) -> None:
    """Until something lands, or somebody lets the session go."""
    until = NOW + timedelta(minutes=5)
    journal().park(REF, NOW, "internal")
    journal().park(REF, until, "bad_summary")
    assert journal().recall()[REF] == SessionMemory(None, None, until, "bad_summary", 2)
    journal().park(REF, None, "")
    assert journal().recall()[REF] == SessionMemory()
    journal().park(REF, until, "bad_summary")
    assert journal().recall()[REF].failures == 1
    journal().note_landed(REF, LANDED)
    assert journal().recall()[REF] == SessionMemory(LANDED)


def test_parking_leaves_the_rest_of_the_memory_alone(journal: Open) -> None:
    """What landed or was undone is still known."""
    journal().note_landed(REF, LANDED)
    journal().park(REF, NOW, "store")
    assert journal().recall()[REF] == SessionMemory(LANDED, None, NOW, "store", 1)
    journal().note_undone(REF, UNDONE)
    assert journal().recall()[REF].undone == UNDONE


def test_a_session_is_forgotten_alone(journal: Open) -> None:
    """Memory and answers go, those of others stay."""
    for ref in (REF, OTHER):
        journal().note_landed(ref, LANDED)
        journal().keep_answer(ref, replace(ANSWER, fingerprint=ref.key))
    journal().forget([REF, replace(REF, key="unknown")])
    assert journal().recall() == {OTHER: SessionMemory(LANDED)}
    assert journal().find_answer(REF.key) is None
    assert journal().find_answer(OTHER.key) is not None
    journal().forget([])
    assert OTHER in journal().recall()


def test_the_same_key_in_two_folders_is_two_sessions(journal: Open) -> None:
    """The place tells them apart."""
    elsewhere = SessionRef("/archive", "archive", REF.key)
    journal().note_landed(REF, LANDED)
    journal().note_undone(elsewhere, UNDONE)
    assert journal().recall() == {
        REF: SessionMemory(LANDED),
        elsewhere: SessionMemory(undone=UNDONE),
    }


HOSTILE = [
    "telegram:[/red]x",
    "x'; DROP TABLE memory; --",
    "a\x00b",
    "line\nline\u2028line",
    "lone \ud800 surrogate",
    "\udcff",
    "👋" * 300,
    "",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_no_key_and_no_text_is_too_odd(journal: Open, text: str) -> None:
    """One hostile session must not stop the pass of all others."""
    ref = SessionRef(f"/sessions/{text}", text, text)
    landed = replace(LANDED, entry=text, stamp={"sources": [text]})
    journal().note_landed(ref, landed)
    journal().keep_answer(ref, replace(ANSWER, text=text))
    journal().write_ledger(ref, LedgerEntry(NOW, "compacted", None))
    assert journal().recall() == {ref: SessionMemory(landed)}
    assert journal().find_answer(ANSWER.fingerprint) == replace(ANSWER, text=text)
    journal().park(ref, NOW, "store")
    journal().forget([ref])
    assert journal().recall() == {}
    assert journal().find_answer(ANSWER.fingerprint) is None
