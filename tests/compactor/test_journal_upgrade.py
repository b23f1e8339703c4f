"""Journals of older releases: brought up to date in one step, or read as they are."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import asdict, replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from compactor import journal_file
from compactor.errors import JournalError
from compactor.journal import SessionMemory
from compactor.journal_file import FILE_NAME, JournalFile
from compactor.journal_schema import SCHEMA_VERSION, upgrade_from
from compactor.model import AuditFigure
from compactor.sqlite_journal import SqliteJournal
from tests.compactor.builders import NOW, REF
from tests.compactor.journals import LINE, fill, problem_of, write_at_once
from tests.compactor.test_journal import UNDONE

if TYPE_CHECKING:
    from pathlib import Path

VERSION_1 = (
    """CREATE TABLE answer (
        fingerprint TEXT PRIMARY KEY, place BLOB NOT NULL, key BLOB NOT NULL, text BLOB NOT NULL,
        engine TEXT NOT NULL, model TEXT, prompt TEXT NOT NULL, written_at TEXT NOT NULL
    ) STRICT""",
    "CREATE INDEX answer_session ON answer (place, key)",
    """CREATE TABLE memory (
        place BLOB NOT NULL, key BLOB NOT NULL, folder BLOB NOT NULL,
        landed TEXT, undone TEXT, parked_until TEXT, parked_for TEXT NOT NULL DEFAULT '',
        failures INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (place, key)
    ) STRICT""",
    """CREATE TABLE ledger (
        id INTEGER PRIMARY KEY, at TEXT NOT NULL, place BLOB NOT NULL, key BLOB NOT NULL,
        outcome TEXT NOT NULL, reason TEXT, engine TEXT, model TEXT, calls INTEGER NOT NULL,
        tokens_before INTEGER, tokens_after INTEGER, seconds REAL, usage TEXT NOT NULL
    ) STRICT""",
    "CREATE INDEX ledger_session ON ledger (place, key, at)",
    "CREATE INDEX ledger_at ON ledger (at, calls)",
    "PRAGMA user_version = 1",
)
DONE = replace(LINE, outcome="compacted", reason=None, audit=None)


def fill_version_1(state: Path) -> Path:
    """Make a journal as the first release made it, with something in it; return its file."""
    state.mkdir(parents=True, mode=0o700)
    db = sqlite3.connect(state / FILE_NAME, isolation_level=None)
    for statement in VERSION_1:
        db.execute(statement)
    name = (REF.place.encode(), REF.key.encode())
    db.execute(
        "INSERT INTO memory (place, key, folder, undone) VALUES (?, ?, ?, ?)",
        (*name, REF.folder.encode(), json.dumps(asdict(UNDONE))),
    )
    db.execute(
        "INSERT INTO ledger (at, place, key, outcome, engine, model, calls, tokens_before, "
        "tokens_after, seconds, usage) VALUES (?, ?, ?, 'compacted', 'openai', 'gpt', 2, 900, 90, "
        "1.5, ?)",
        (NOW.isoformat(), *name, json.dumps(LINE.usage)),
    )
    db.close()
    return state / FILE_NAME


def shape_of(path: Path) -> tuple[int, list[str]]:
    """Return the version of a file, the columns of its ledger, and its table of passes."""
    db = sqlite3.connect(path)
    version = db.execute("PRAGMA user_version").fetchone()[0]
    columns = [row[1] for row in db.execute("PRAGMA table_info(ledger)")]
    tables = [row[0] for row in db.execute("SELECT sql FROM sqlite_schema WHERE name = 'pass'")]
    db.close()
    return version, columns + tables


def test_the_journal_of_the_first_release_is_brought_up_to_date(
    state: Path, tmp_path: Path
) -> None:
    """What is in it stays, and it is then like a new one."""
    path = fill_version_1(state)
    journal = SqliteJournal(state)
    assert journal.recall() == {REF: SessionMemory(undone=UNDONE)}
    assert journal.costs_of(REF) == [DONE]
    audited = replace(DONE, audit=AuditFigure(3, 2, 1))
    journal.write_ledger(REF, audited)
    assert journal.costs_of(REF) == [audited]
    journal.close()
    assert shape_of(path) == shape_of(fill(tmp_path / "new"))
    SqliteJournal(state).close()


def test_who_only_reads_the_journal_of_the_first_release_changes_nothing(state: Path) -> None:
    """It is read as it is; there are no figures of audits in it."""
    path = fill_version_1(state)
    before = path.read_bytes()
    journal = SqliteJournal(state, read_only=True)
    assert journal.recall() == {REF: SessionMemory(undone=UNDONE)}
    assert journal.costs_of(REF) == [DONE]
    assert journal.last_passes(9) == []
    assert journal.sum_up(None).calls == 2
    assert journal.count_calls(NOW, REF, until=NOW) == 2
    SqliteJournal(state).close()  # another process brings it up to date meanwhile
    assert journal.costs_of(REF) == [DONE]
    journal.close()
    assert path.read_bytes() != before
    assert shape_of(path)[0] == SCHEMA_VERSION


def test_bringing_it_up_to_date_is_all_or_nothing(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What fails in the middle leaves the file as it was."""
    path = fill_version_1(state)
    before = shape_of(path)

    def break_off(version: int) -> tuple[str, ...]:
        return (*upgrade_from(version), "no statement at all")

    monkeypatch.setattr(journal_file, "upgrade_from", break_off)
    assert problem_of(state)
    assert shape_of(path) == before
    monkeypatch.undo()
    SqliteJournal(state).close()
    assert shape_of(path)[0] == SCHEMA_VERSION


class SlowFile(JournalFile):
    """A journal that looked at the file right before another release changed it."""

    seen: int | None = None

    def _version(self) -> int:
        if self.seen is None:
            self.seen = super()._version()
            return 1
        return super()._version()


@pytest.mark.parametrize("version", [SCHEMA_VERSION, SCHEMA_VERSION + 1])
def test_a_journal_that_was_just_brought_up_to_date_is_not_changed_again(
    state: Path, version: int
) -> None:
    """Nor is one back-dated that a newer release was at."""
    with sqlite3.connect(fill(state)) as db:
        db.execute(f"PRAGMA user_version = {version}")
    db.close()
    before = (state / FILE_NAME).read_bytes()
    if version == SCHEMA_VERSION:
        SlowFile(state).close()
    else:
        with pytest.raises(JournalError, match=f"version {version}"):
            SlowFile(state)
    assert (state / FILE_NAME).read_bytes() == before


def test_two_processes_bring_it_up_to_date_at_once(state: Path) -> None:
    """One does it, the other finds it done; every line of both is there in the end."""
    fill_version_1(state)
    write_at_once(state)
    assert shape_of(state / FILE_NAME)[0] == SCHEMA_VERSION
    journal = SqliteJournal(state)
    assert journal.count_outcomes("compacted", NOW - timedelta(days=9000)) == 41
    journal.close()
