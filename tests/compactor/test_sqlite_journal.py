"""The journal as a file: who may read it, what damages it, and who else writes to it."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from compactor import journal_file
from compactor.errors import JournalError
from compactor.journal import LedgerEntry, SessionMemory, Undone
from compactor.journal_file import FILE_NAME, JournalFile
from compactor.journal_schema import SCHEMA_VERSION
from compactor.sqlite_journal import SqliteJournal
from tests.compactor.builders import NOW, REF
from tests.compactor.journals import LINE, fill, problem_of, write_at_once
from tests.compactor.test_journal import ANSWER, LANDED, UNDONE

if TYPE_CHECKING:
    from pathlib import Path


def test_only_its_owner_can_read_it(state: Path) -> None:
    """The folder too, and a file that was copied here with open doors."""
    path = fill(state)
    assert path.stat().st_mode & 0o777 == 0o600
    assert state.stat().st_mode & 0o777 == 0o700
    path.chmod(0o664)
    SqliteJournal(state).close()
    assert path.stat().st_mode & 0o777 == 0o600


def test_what_is_forgotten_leaves_no_trace_in_the_file(state: Path) -> None:
    """The texts of a deleted session go with it."""
    path = fill(state)
    secret = "a text that nobody else says " * 50
    journal = SqliteJournal(state)
    journal.keep_answer(REF, replace(ANSWER, text=secret))
    assert secret[:29].encode() in path.read_bytes()
    journal.forget([REF])
    journal.close()
    assert secret[:29].encode() not in path.read_bytes()
    assert {file.name for file in state.iterdir()} == {FILE_NAME}


def test_the_ledger_only_grows(state: Path) -> None:
    """Forgetting a session leaves its lines, which hold no text of it."""
    journal = SqliteJournal(state)
    journal.write_ledger(REF, LINE)
    journal.write_ledger(REF, LedgerEntry(NOW, "compacted", None))
    journal.forget([REF])
    journal.close()
    with sqlite3.connect(state / FILE_NAME) as db:
        rows = db.execute("SELECT * FROM ledger ORDER BY id").fetchall()
    db.close()
    place, key = REF.place.encode(), REF.key.encode()
    told = (
        "failed",
        "bad_summary",
        "openai",
        "gpt",
        2,
        900,
        90,
        1.5,
        '{"prompt": 800, "cached": 0}',
        '{"wanted": 17, "found": 14, "appended": 3}',
    )
    assert rows[0] == (1, NOW.isoformat(), place, key, *told)
    assert rows[1][4:] == ("compacted", None, None, None, 0, None, None, None, "{}", None)


def test_a_change_that_fails_changes_nothing(state: Path) -> None:
    """Neither half of it, nor the ones after it."""
    journal = SqliteJournal(state)
    journal.note_undone(REF, UNDONE)
    with pytest.raises(TypeError):
        journal.note_landed(REF, replace(LANDED, stamp={"no": object()}))
    assert journal.recall() == {REF: SessionMemory(undone=UNDONE)}
    journal.note_landed(REF, LANDED)
    assert journal.recall() == {REF: SessionMemory(LANDED)}
    journal.close()


# Faults, each with the file and the way out.


@pytest.mark.parametrize("read_only", [False, True])
def test_a_file_that_is_no_database_is_moved_aside(state: Path, read_only: bool) -> None:
    """By the operator, who is told so; it is not touched."""
    state.mkdir(parents=True)
    (state / FILE_NAME).write_bytes(b"not a database" * 100)
    assert "move it aside" in problem_of(state, read_only=read_only)
    assert (state / FILE_NAME).read_bytes() == b"not a database" * 100


def test_a_damaged_page_is_told(state: Path) -> None:
    """Also where the header is whole."""
    path = fill(state)
    data = path.read_bytes()
    path.write_bytes(data[:100] + b"\xff" * (len(data) - 100))
    assert "move it aside" in problem_of(state)


def test_tables_whose_names_are_no_text_are_told(state: Path) -> None:
    """SQLite names them in its message, which can't be read then."""
    path = fill(state)
    path.write_bytes(
        path.read_bytes().replace(b"CREATE TABLE answer", b"CREATE T\xff\xfeLE answer")
    )
    assert problem_of(state) == "it is damaged: move it aside and a new one is begun"


def test_room_that_was_made_stays_for_answers(state: Path) -> None:
    """The file does not grow when one is kept."""
    path = fill(state)
    journal = SqliteJournal(state)
    journal.make_room()
    size = path.stat().st_size
    journal.keep_answer(REF, replace(ANSWER, text="word " * 10_000))
    journal.close()
    assert path.stat().st_size == size > 100_000


@pytest.mark.parametrize(
    "row",
    [("landed", "{"), ("landed", "[]"), ("landed", '{"covers": 1}'), ("parked_until", "soon")],
)
def test_a_row_that_makes_no_sense_is_told(state: Path, row: tuple[str, str]) -> None:
    """It is no crash of the pass."""
    with sqlite3.connect(fill(state)) as db:
        db.execute(f"UPDATE memory SET {row[0]} = ?", row[1:])  # noqa: S608 - from above
    db.close()
    assert "move it aside" in problem_of(state)


def test_the_journal_of_a_newer_release_is_left_alone(state: Path) -> None:
    """It is not begun anew, and not written to."""
    with sqlite3.connect(fill(state)) as db:
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    db.close()
    before = (state / FILE_NAME).read_bytes()
    told = (
        f"version {SCHEMA_VERSION + 1} and this release knows {SCHEMA_VERSION}: install the release"
    )
    assert told in problem_of(state)
    assert (state / FILE_NAME).read_bytes() == before


def test_a_journal_that_is_held_is_told(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is told to move aside what somebody is just writing."""
    monkeypatch.setattr(journal_file, "_PATIENCE", 0.01)
    holder = sqlite3.connect(fill(state), isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    assert "another process holds it" in problem_of(state, code=69)
    holder.close()


def test_a_folder_that_can_not_be_made_is_told(state: Path) -> None:
    """With the key that names it."""
    state.parent.write_text("a file in its place")
    assert "see [state] dir" in problem_of(state)


def test_a_journal_that_is_no_file_is_told(state: Path) -> None:
    """Whoever put a folder there."""
    (state / FILE_NAME).mkdir(parents=True, mode=0o700)
    assert "[state] dir" in problem_of(state)


# Those who only read.


def test_who_only_reads_changes_nothing(state: Path) -> None:
    """What was written is seen, and nothing can be written."""
    path = fill(state)
    before = path.read_bytes()
    journal = SqliteJournal(state, read_only=True)
    assert journal.recall() == {REF: SessionMemory(LANDED)}
    with pytest.raises(JournalError, match="readonly"):
        journal.note_undone(REF, UNDONE)
    journal.close()
    assert path.read_bytes() == before


def test_who_only_reads_needs_a_journal(state: Path) -> None:
    """None is made for it."""
    assert problem_of(state, read_only=True)
    assert not state.exists()


def test_a_journal_that_nobody_wrote_to_reads_as_empty(state: Path) -> None:
    """A worker was killed when it had just made the file."""
    state.mkdir(parents=True)
    (state / FILE_NAME).touch(mode=0o600)
    journal = SqliteJournal(state, read_only=True)
    assert journal.recall() == {}
    journal.close()
    assert (state / FILE_NAME).read_bytes() == b""
    fill(state)


KILLED = """
import os, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA cache_size = 1")
db.execute("BEGIN IMMEDIATE")
db.execute("DELETE FROM memory")
db.executemany("INSERT INTO ledger (at, place, key, outcome, calls, usage) "
               "VALUES ('', x'', x'', ?, 0, '')", [("x" * 4000,)] * 200)
os._exit(9)
"""


@pytest.mark.parametrize("read_only", [False, True])
def test_a_change_that_was_killed_never_happened(state: Path, read_only: bool) -> None:
    """Half of it is in the file already; whoever opens it next rolls it back."""
    path = fill(state)
    size = path.stat().st_size
    subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert path.stat().st_size > size
    journal = SqliteJournal(state, read_only=read_only)
    assert journal.recall() == {REF: SessionMemory(LANDED)}
    journal.close()


# Several who write.


class LateFile(JournalFile):
    """A journal that looked at the file right before another process made it."""

    looked = False

    def _version(self) -> int:
        if self.looked:
            return super()._version()
        self.looked = True
        return 0


def test_a_journal_that_somebody_else_just_made_is_not_made_twice(state: Path) -> None:
    """Two workers may begin at the same moment."""
    fill(state)
    LateFile(state).close()
    journal = SqliteJournal(state)
    assert journal.recall() == {REF: SessionMemory(LANDED)}
    journal.close()


def test_two_processes_write_at_once(state: Path) -> None:
    """Both begin with no file; every change of both is there in the end."""
    write_at_once(state)
    journal = SqliteJournal(state)
    memories = journal.recall()
    journal.close()
    undone = {ref.key: memory.undone for ref, memory in memories.items() if memory.undone}
    assert undone == {
        f"{name}:{number}": Undone(number, "sha256:c", number)
        for name in ("one", "two")
        for number in range(20)
    }
    assert memories[replace(REF, key="shared")].failures == 40


def test_several_threads_write_at_once(state: Path) -> None:
    """A pass that asks in parallel has one journal."""
    journal = SqliteJournal(state)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: journal.park(REF, NOW, "store"), range(40)))
    assert journal.recall()[REF].failures == 40
    journal.close()
