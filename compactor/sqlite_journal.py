"""The journal in a small SQLite file, readable by its owner alone.

Every change is one transaction, synced before it returns. The ledger only ever grows; what it says
is enough to replay the decisions of the past with another configuration.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING

from compactor.errors import JournalError
from compactor.journal import (
    COMPACTED,
    FOLDED,
    UNANSWERED,
    Answer,
    Journal,
    Landed,
    LedgerEntry,
    SessionMemory,
    Undone,
)
from compactor.journal_rows import (
    LEDGER_COLUMNS,
    MEMORY_COLUMNS,
    drop_answers,
    ledger_values,
    name_of,
    read_ledger,
    read_memory,
    set_memory,
    set_parking,
    to_bytes,
    to_text,
)
from compactor.journal_schema import AUDIT_SINCE, SCHEMA_VERSION, upgrade_from

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from session.model import SessionRef

FILE_NAME = "journal.sqlite3"
_PATIENCE = 10.0  # seconds to wait for another process
_BEGIN_ANEW = "move it aside and a new one is begun"
_ALLOW = "the worker must be able to write to it and to its folder; see [state] dir"
_REMEDIES = {
    sqlite3.SQLITE_BUSY: "another process holds it; try again when that is done",
    sqlite3.SQLITE_READONLY: _ALLOW,
    sqlite3.SQLITE_CANTOPEN: _ALLOW,
    sqlite3.SQLITE_PERM: _ALLOW,
    sqlite3.SQLITE_FULL: "make room on its disk",
    sqlite3.SQLITE_IOERR: "see to its disk",
}


class SqliteJournal(Journal):
    """A journal in `folder`, which is made if need be. With `read_only` it must be there."""

    def __init__(self, folder: Path, *, read_only: bool = False) -> None:
        self._path = folder / FILE_NAME
        self._mutex = threading.Lock()
        try:
            if not read_only:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._path.touch(mode=0o600)
                if self._path.stat().st_mode & 0o077:  # it was copied here, perhaps
                    self._path.chmod(0o600)
        except (OSError, ValueError) as error:
            problem = (getattr(error, "strerror", None) or str(error)).lower()
            raise JournalError(str(self._path), f"{problem}; see [state] dir") from error
        with self._faults():
            self._db = self._connect(f"{self._path.absolute().as_uri()}?mode=rw")
        try:
            self._prepare(read_only=read_only)
        except BaseException:
            self._db.close()
            raise

    def _connect(self, uri: str) -> sqlite3.Connection:
        return sqlite3.connect(
            uri, uri=True, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
        )

    def _prepare(self, *, read_only: bool) -> None:
        with self._faults():
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.execute("PRAGMA secure_delete = ON")  # what is forgotten leaves no trace
            version = self._known_version()
            if version == 0 and read_only:  # nobody has written to it yet
                self._db.close()
                self._db = self._connect("file::memory:")
        if upgrade_from(version) and (version == 0 or not read_only):
            with self._changing() as db:
                # Read again: another process may have been faster.
                for statement in upgrade_from(self._version()):
                    db.execute(statement)
        with self._faults():
            self._version_read = self._known_version()  # an older one, where we only read
            if read_only:  # a change that a killed process left half made is still rolled back
                self._db.execute("PRAGMA query_only = ON")

    def _known_version(self) -> int:
        version = self._version()
        if version > SCHEMA_VERSION:
            raise JournalError(
                str(self._path),
                f"it has version {version} and this release knows {SCHEMA_VERSION}: "
                f"install the release that made it, or {_BEGIN_ANEW}",
            )
        return version

    def _version(self) -> int:
        return int(self._db.execute("PRAGMA user_version").fetchone()[0])

    def recall(self) -> Mapping[SessionRef, SessionMemory]:
        """Return the memory of every session that has one."""
        with self._reading():
            rows = self._db.execute(f"SELECT {MEMORY_COLUMNS} FROM memory").fetchall()  # noqa: S608
            return dict(map(read_memory, rows))

    def find_answer(self, fingerprint: str) -> Answer | None:
        """Return the answer to that question, unless it has landed or was undone since."""
        with self._reading():
            row = self._db.execute(
                "SELECT text, engine, model, prompt, written_at FROM answer WHERE fingerprint = ?",
                (fingerprint,),
            ).fetchone()
            if row is None:
                return None
            text, engine, model, prompt, written_at = row
            at = datetime.fromisoformat(written_at)
            return Answer(fingerprint, to_text(text), engine, model, prompt, at)

    def keep_answer(self, ref: SessionRef, answer: Answer) -> None:
        """Remember an answer."""
        values = (to_bytes(answer.text), answer.engine, answer.model, answer.prompt)
        with self._changing() as db:
            db.execute(
                "INSERT OR REPLACE INTO answer "
                "(fingerprint, place, key, text, engine, model, prompt, written_at) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (answer.fingerprint, *name_of(ref), *values, answer.written_at.isoformat()),
            )
            db.execute(  # so that it is recalled, and forgotten when the session is deleted
                "INSERT OR IGNORE INTO memory (place, key, folder) VALUES (?, ?, ?)",
                (*name_of(ref), to_bytes(ref.folder)),
            )

    def drop_answer(self, fingerprint: str) -> None:
        """Forget an answer."""
        with self._changing() as db:
            db.execute("DELETE FROM answer WHERE fingerprint = ?", (fingerprint,))

    def count_calls(self, since: datetime, ref: SessionRef | None = None) -> int:
        """Return how many calls the ledger has since then; see `Journal`."""
        query = "SELECT coalesce(sum(calls), 0) FROM ledger WHERE at >= ?"
        values: tuple[object, ...] = ()
        if ref is not None:
            query += " AND place = ? AND key = ? AND coalesce(reason, '') NOT IN (?, ?)"
            query += " AND outcome <> ?"
            values = (*name_of(ref), *UNANSWERED, FOLDED)
        with self._mutex, self._faults():
            row = self._db.execute(query, (since.isoformat(), *values)).fetchone()
        return int(row[0])

    def count_outcomes(self, outcome: str, since: datetime) -> int:
        """Return how many lines of the ledger say so since then; see `Journal`."""
        query = "SELECT count(*) FROM ledger WHERE at >= ? AND outcome = ?"
        with self._mutex, self._faults():
            row = self._db.execute(query, (since.isoformat(), outcome)).fetchone()
        return int(row[0])

    def costs_of(self, ref: SessionRef) -> list[LedgerEntry]:
        """Return the lines of what led to the entry that landed last; see `Journal`."""
        columns = LEDGER_COLUMNS
        if self._version_read < AUDIT_SINCE:
            columns = columns.replace("audit", "NULL")
        ours = "FROM ledger INDEXED BY ledger_session WHERE place = :place AND key = :key"
        landed = f"SELECT max(id) {ours} AND outcome = :done"
        query = (
            f"WITH newest (id) AS ({landed}), "  # noqa: S608 - words of our own
            f"before (id) AS ({landed} AND id < (SELECT id FROM newest)) "
            f"SELECT {columns} {ours} "
            "AND id > coalesce((SELECT id FROM before), 0) AND id <= (SELECT id FROM newest) "
            "ORDER BY id"
        )
        place, key = name_of(ref)
        with self._reading():
            values = {"place": place, "key": key, "done": COMPACTED}
            return list(map(read_ledger, self._db.execute(query, values).fetchall()))

    def note_landed(self, ref: SessionRef, landed: Landed) -> None:
        """Remember what was committed; older answers of the session have served their time."""
        with self._changing() as db:
            set_memory(db, ref, "landed", json.dumps(asdict(landed)))
            set_memory(db, ref, "undone", None)
            set_parking(db, ref, None, "")
            drop_answers(db, ref)

    def note_undone(self, ref: SessionRef, undone: Undone) -> None:
        """Remember what an operator took back."""
        with self._changing() as db:
            set_memory(db, ref, "landed", None)
            set_memory(db, ref, "undone", json.dumps(asdict(undone)))
            drop_answers(db, ref)

    def park(self, ref: SessionRef, until: datetime | None, reason: str) -> None:
        """Leave a session alone until then; None lets it go again."""
        with self._changing() as db:
            set_parking(db, ref, until, reason)

    def write_ledger(self, ref: SessionRef, entry: LedgerEntry) -> None:
        """Add a line to the ledger."""
        place, key = name_of(ref)
        names = [name.strip() for name in LEDGER_COLUMNS.split(",")]
        with self._changing() as db:
            db.execute(
                f"INSERT INTO ledger (place, key, {LEDGER_COLUMNS}) "  # noqa: S608 - our own words
                f"VALUES (:place, :key, {', '.join(f':{name}' for name in names)})",
                ledger_values(entry) | {"place": place, "key": key},
            )

    def forget(self, refs: Collection[SessionRef]) -> None:
        """Forget all texts of these sessions."""
        with self._changing() as db:
            for ref in refs:
                db.execute("DELETE FROM memory WHERE place = ? AND key = ?", name_of(ref))
                drop_answers(db, ref)

    def close(self) -> None:
        """Close the file."""
        with self._mutex:
            self._db.close()

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            with self._mutex, self._faults():
                yield
        except (ValueError, TypeError, AttributeError) as error:
            problem = f"a row of it can't be read: {_BEGIN_ANEW}"
            raise JournalError(str(self._path), problem) from error

    @contextlib.contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        with self._mutex, self._faults():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            finally:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")

    @contextlib.contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            kind = getattr(error, "sqlite_errorcode", 0) & 0xFF  # above it stand the details
            remedy = _REMEDIES.get(kind, _BEGIN_ANEW)
            raise JournalError(str(self._path), f"{error}: {remedy}") from error
