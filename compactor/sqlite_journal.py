"""The journal in a small SQLite file, readable by its owner alone.

Every change is one transaction, synced before it returns. The ledger only ever grows; what it says
is enough to replay the decisions of the past with another configuration. What comes from outside
(keys, folders, answers) is stored as bytes: text in SQLite can't hold a lone surrogate.
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
    UNANSWERED,
    Answer,
    Journal,
    Landed,
    LedgerEntry,
    SessionMemory,
    Undone,
)
from session.model import SessionRef

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

FILE_NAME = "journal.sqlite3"
_SCHEMA_VERSION = 1
_SCHEMA = (
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
    f"PRAGMA user_version = {_SCHEMA_VERSION}",
)
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
            version = self._version()
            if version == 0 and read_only:  # nobody has written to it yet
                self._db.close()
                self._db = self._connect("file::memory:")
        if version == 0:
            with self._changing() as db:
                if self._version() == 0:  # another process may have been faster
                    for statement in _SCHEMA:
                        db.execute(statement)
        elif version != _SCHEMA_VERSION:
            raise JournalError(
                str(self._path),
                f"it has version {version} and this release knows {_SCHEMA_VERSION}: "
                f"install the release that made it, or {_BEGIN_ANEW}",
            )
        if read_only:  # a change that a killed process left half made is still rolled back
            self._db.execute("PRAGMA query_only = ON")

    def _version(self) -> int:
        return int(self._db.execute("PRAGMA user_version").fetchone()[0])

    def recall(self) -> Mapping[SessionRef, SessionMemory]:
        """Return the memory of every session that has one."""
        with self._reading():
            rows = self._db.execute(
                "SELECT place, folder, key, landed, undone, parked_until, parked_for, failures "
                "FROM memory"
            ).fetchall()
            return {
                SessionRef(*map(_text, (place, folder, key))): SessionMemory(
                    None if landed is None else Landed(**json.loads(landed)),
                    None if undone is None else _undone(undone),
                    None if until is None else datetime.fromisoformat(until),
                    reason,
                    failures,
                )
                for place, folder, key, landed, undone, until, reason, failures in rows
            }

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
            return Answer(fingerprint, _text(text), engine, model, prompt, at)

    def keep_answer(self, ref: SessionRef, answer: Answer) -> None:
        """Remember an answer."""
        values = (_bytes(answer.text), answer.engine, answer.model, answer.prompt)
        with self._changing() as db:
            db.execute(
                "INSERT OR REPLACE INTO answer "
                "(fingerprint, place, key, text, engine, model, prompt, written_at) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (answer.fingerprint, *_name(ref), *values, answer.written_at.isoformat()),
            )
            db.execute(  # so that it is recalled, and forgotten when the session is deleted
                "INSERT OR IGNORE INTO memory (place, key, folder) VALUES (?, ?, ?)",
                (*_name(ref), _bytes(ref.folder)),
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
            values = (*_name(ref), *UNANSWERED)
        with self._mutex, self._faults():
            row = self._db.execute(query, (since.isoformat(), *values)).fetchone()
        return int(row[0])

    def count_outcomes(self, outcome: str, since: datetime) -> int:
        """Return how many lines of the ledger say so since then; see `Journal`."""
        query = "SELECT count(*) FROM ledger WHERE at >= ? AND outcome = ?"
        with self._mutex, self._faults():
            row = self._db.execute(query, (since.isoformat(), outcome)).fetchone()
        return int(row[0])

    def note_landed(self, ref: SessionRef, landed: Landed) -> None:
        """Remember what was committed; older answers of the session have served their time."""
        with self._changing() as db:
            _set(db, ref, "landed", json.dumps(asdict(landed)))
            _set(db, ref, "undone", None)
            _set_parking(db, ref, None, "")
            _drop_answers(db, ref)

    def note_undone(self, ref: SessionRef, undone: Undone) -> None:
        """Remember what an operator took back."""
        with self._changing() as db:
            _set(db, ref, "landed", None)
            _set(db, ref, "undone", json.dumps(asdict(undone)))
            _drop_answers(db, ref)

    def park(self, ref: SessionRef, until: datetime | None, reason: str) -> None:
        """Leave a session alone until then; None lets it go again."""
        with self._changing() as db:
            _set_parking(db, ref, until, reason)

    def write_ledger(self, ref: SessionRef, entry: LedgerEntry) -> None:
        """Add a line to the ledger."""
        place, key = _name(ref)
        fields = asdict(entry) | {
            "at": entry.at.isoformat(),
            "usage": json.dumps(dict(entry.usage)),
            "place": place,
            "key": key,
        }
        with self._changing() as db:
            db.execute(
                "INSERT INTO ledger (at, place, key, outcome, reason, engine, model, calls, "
                "tokens_before, tokens_after, seconds, usage) "
                "VALUES (:at, :place, :key, :outcome, :reason, :engine, :model, :calls, "
                ":tokens_before, :tokens_after, :seconds, :usage)",
                fields,
            )

    def forget(self, refs: Collection[SessionRef]) -> None:
        """Forget all texts of these sessions."""
        with self._changing() as db:
            for ref in refs:
                db.execute("DELETE FROM memory WHERE place = ? AND key = ?", _name(ref))
                _drop_answers(db, ref)

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


def _undone(row: str) -> Undone:
    undone = Undone(**json.loads(row))
    if not (isinstance(undone.covers, int) and isinstance(undone.messages, int)):
        raise TypeError(row)
    return undone


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _name(ref: SessionRef) -> tuple[bytes, bytes]:
    return _bytes(ref.place), _bytes(ref.key)


def _set(db: sqlite3.Connection, ref: SessionRef, column: str, value: str | None) -> None:
    """Set one column of a session's memory; `column` is one of our own words."""
    db.execute(
        f"INSERT INTO memory (place, key, folder, {column}) VALUES (?, ?, ?, ?) "  # noqa: S608
        f"ON CONFLICT (place, key) DO UPDATE SET {column} = excluded.{column}",
        (*_name(ref), _bytes(ref.folder), value),
    )


def _set_parking(
    db: sqlite3.Connection, ref: SessionRef, until: datetime | None, reason: str
) -> None:
    _set(db, ref, "parked_until", None if until is None else until.isoformat())
    _set(db, ref, "parked_for", reason)
    grow = "0" if until is None else "failures + 1"
    db.execute(
        f"UPDATE memory SET failures = {grow} WHERE place = ? AND key = ?",  # noqa: S608
        _name(ref),
    )


def _drop_answers(db: sqlite3.Connection, ref: SessionRef) -> None:
    db.execute("DELETE FROM answer WHERE place = ? AND key = ?", _name(ref))
