"""What is remembered of passes: the same of every kind of journal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from compactor.journal import Journal, LedgerEntry, MemoryJournal
from compactor.journal_schema import KEPT_PASSES
from compactor.pass_log import PassOutcome, PassRecord, Totals
from compactor.sqlite_journal import SqliteJournal
from tests.compactor.builders import NOW, REF

PASS = PassRecord(NOW, 1.5, "run", PassOutcome.HALTED, "over", {"scanned": 9, "active": 7})


@pytest.fixture(params=["memory", "sqlite"])
def journal(request: pytest.FixtureRequest, state: Path) -> Iterator[Journal]:
    """A journal of each kind."""
    made: Journal = MemoryJournal() if request.param == "memory" else SqliteJournal(state)
    yield made
    made.close()


def test_passes_come_back_as_they_were_noted(journal: Journal) -> None:
    """The newest one first, and no more than was asked for."""
    passes = [replace(PASS, seconds=float(number)) for number in range(5)]
    for one in passes:
        journal.note_pass(one)

    assert journal.last_passes(3) == passes[:1:-1]
    assert journal.last_passes(100) == passes[::-1]


def test_the_ledger_is_summed_up(journal: Journal) -> None:
    """Attempts by how they ended, calls, tokens that went, and tokens that were paid for."""
    lines = (
        LedgerEntry(NOW, "compacted", None, calls=2, tokens_before=900, tokens_after=90),
        LedgerEntry(NOW, "folded", None, calls=3, usage={"prompt": 800, "completion": 30}),
        LedgerEntry(NOW, "failed", "timeout", calls=1, tokens_before=500, tokens_after=50),
        LedgerEntry(NOW - timedelta(days=2), "compacted", None, tokens_before=100, tokens_after=1),
    )
    for line in lines:
        journal.write_ledger(REF, line)

    day = journal.sum_up(NOW - timedelta(days=1))
    assert day == Totals({"compacted": 1, "folded": 1, "failed": 1}, 6, 900, 90, 800, 30)
    assert journal.sum_up(None).outcomes["compacted"] == 2
    assert journal.sum_up(NOW + timedelta(days=1)) == Totals()


def test_of_very_many_passes_the_newest_stay(state: Path) -> None:
    """A worker that looks every minute for years fills no disk."""
    journal = SqliteJournal(state)
    with journal._file.changing() as db:
        row = (NOW.isoformat(), 1.0, "run", "done", "", "{}")
        db.executemany(
            "INSERT INTO pass (began_at, seconds, command, outcome, problem, counts) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            [row] * (KEPT_PASSES + 5),
        )
    journal.note_pass(PASS)

    passes = journal.last_passes(KEPT_PASSES * 2)
    assert len(passes) == KEPT_PASSES
    assert passes[0] == PASS
    journal.close()
