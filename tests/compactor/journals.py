"""Journals as files, and what several tests do with them."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from compactor.errors import JournalError
from compactor.journal import LedgerEntry
from compactor.journal_file import FILE_NAME
from compactor.model import AuditFigure
from compactor.sqlite_journal import SqliteJournal
from tests.compactor.builders import NOW, REF
from tests.compactor.test_journal import ANSWER, LANDED

if TYPE_CHECKING:
    from pathlib import Path

LINE = LedgerEntry(
    NOW,
    "failed",
    "bad_summary",
    "openai",
    "gpt",
    2,
    900,
    90,
    1.5,
    {"prompt": 800, "cached": 0},
    AuditFigure(17, 14, 3),
)


def fill(state: Path) -> Path:
    """Make a journal with something in it; return its file."""
    journal = SqliteJournal(state)
    journal.keep_answer(REF, ANSWER)
    journal.note_landed(REF, LANDED)
    journal.close()
    return state / FILE_NAME


def problem_of(state: Path, *, read_only: bool = False, code: int = 78) -> str:
    """Return why the journal can't be used."""
    with pytest.raises(JournalError) as caught:
        SqliteJournal(state, read_only=read_only).recall()
    assert caught.value.path == str(state / FILE_NAME)
    assert caught.value.exit_code == code
    return caught.value.problem


WRITER = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from compactor.journal import LedgerEntry, Undone
from compactor.sqlite_journal import SqliteJournal
from session.model import SessionRef

name = sys.argv[2]
print("ready", flush=True)
sys.stdin.readline()
journal = SqliteJournal(Path(sys.argv[1]))
for number in range(20):
    ref = SessionRef("/sessions", "sessions", f"{name}:{number}")
    journal.note_undone(ref, Undone(number, "sha256:c", number))
    journal.park(SessionRef("/sessions", "sessions", "shared"), datetime.now(UTC), name)
    journal.write_ledger(ref, LedgerEntry(datetime.now(UTC), "compacted", None))
"""


def write_at_once(state: Path) -> None:
    """Let two processes open the journal at the same moment, and write to it."""
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(state), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("one", "two")
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    assert [writer.communicate(timeout=60) and writer.returncode for writer in writers] == [0, 0]
