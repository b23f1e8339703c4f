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
from compactor.journal import Answer, Journal, Landed, LedgerEntry, SessionMemory, Undone
from session.model import SessionRef

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

FILE_NAME = "journal.sqlite3"
_SCHEMA_VERSION = 1
_SCHEMA = """
CREATE TABLE answer (
    fingerprint TEXT PRIMARY KEY, place TEXT NOT NULL, key TEXT NOT NULL, text TEXT NOT NULL,
    engine TEXT NOT NULL, model TEXT, prompt TEXT NOT NULL, written_at TEXT NOT NULL
) STRICT;
CREATE INDEX answer_session ON answer (place, key);
CREATE TABLE memory (
    place TEXT NOT NULL, key TEXT NOT NULL, folder TEXT NOT NULL,
    landed TEXT, undone TEXT, parked_until TEXT, parked_for TEXT NOT NULL DEFAULT '',
    failures INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (place, key)
) STRICT;
CREATE TABLE ledger (
    id INTEGER PRIMARY KEY, at TEXT NOT NULL, place TEXT NOT NULL, key TEXT NOT NULL,
    outcome TEXT NOT NULL, reason TEXT, engine TEXT, model TEXT, calls INTEGER NOT NULL,
    tokens_before INTEGER, tokens_after INTEGER, seconds REAL, usage TEXT NOT NULL
) STRICT;
CREATE INDEX ledger_session ON ledger (place, key, at);
"""


class SqliteJournal(Journal):
    """A journal in `folder`, which is made if need be."""

    def __init__(self, folder: Path, *, read_only: bool = False) -> None:
        self._path = folder / FILE_NAME
        self._mutex = threading.Lock()
        try:
            if not read_only:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._path.touch(mode=0o600)
            self._db = self._open(read_only=read_only)
        except OSError as error:
            problem = (error.strerror or str(error)).lower()
            raise JournalError(str(self._path), f"{problem}; see [state] dir") from error

    def _open(self, *, read_only: bool) -> sqlite3.Connection:
        mode = "ro" if read_only else "rwc"
        with self._faults():
            db = sqlite3.connect(
                f"{self._path.absolute().as_uri()}?mode={mode}",
                uri=True,
                isolation_level=None,
                check_same_thread=False,
            )
            db.execute("PRAGMA synchronous = FULL")
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if version == 0 and not read_only:
                db.executescript(f"BEGIN;{_SCHEMA}PRAGMA user_version = {_SCHEMA_VERSION};COMMIT;")
            elif version != _SCHEMA_VERSION:
                db.close()
                raise JournalError(
                    str(self._path), f"has version {version}, expected {_SCHEMA_VERSION}"
                )
        return db

    def recall(self) -> Mapping[SessionRef, SessionMemory]:
        """Return the memory of every session that has one."""
        with self._faults():
            rows = self._db.execute(
                "SELECT place, folder, key, landed, undone, parked_until, parked_for, failures "
                "FROM memory"
            ).fetchall()
        return {
            SessionRef(place, folder, key): SessionMemory(
                None if landed is None else Landed(**json.loads(landed)),
                None if undone is None else Undone(**json.loads(undone)),
                None if until is None else datetime.fromisoformat(until),
                reason,
                failures,
            )
            for place, folder, key, landed, undone, until, reason, failures in rows
        }

    def find_answer(self, fingerprint: str) -> Answer | None:
        """Return the answer to that question, unless what it led to was undone."""
        with self._faults():
            row = self._db.execute(
                "SELECT text, engine, model, prompt, written_at FROM answer WHERE fingerprint = ?",
                (fingerprint,),
            ).fetchone()
        if row is None:
            return None
        text, engine, model, prompt, written_at = row
        at = datetime.fromisoformat(written_at)
        return Answer(fingerprint, text, engine, model, prompt, at)

    def keep_answer(self, ref: SessionRef, answer: Answer) -> None:
        """Remember an answer."""
        values = (answer.text, answer.engine, answer.model, answer.prompt)
        with self._changing() as db:
            db.execute(
                "INSERT OR REPLACE INTO answer "
                "(fingerprint, place, key, text, engine, model, prompt, written_at) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (answer.fingerprint, ref.place, ref.key, *values, answer.written_at.isoformat()),
            )

    def note_landed(self, ref: SessionRef, landed: Landed) -> None:
        """Remember what was committed; older answers of the session have served their time."""
        with self._changing() as db:
            _set(db, ref, "landed", json.dumps(asdict(landed)))
            _set(db, ref, "undone", None)
            _set(db, ref, "parked_until", None)
            _set(db, ref, "failures", 0)
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
            _set(db, ref, "parked_until", None if until is None else until.isoformat())
            _set(db, ref, "parked_for", reason)
            grow = "0" if until is None else "failures + 1"
            db.execute(
                f"UPDATE memory SET failures = {grow} WHERE place = ? AND key = ?",  # noqa: S608
                (ref.place, ref.key),
            )

    def write_ledger(self, ref: SessionRef, entry: LedgerEntry) -> None:
        """Add a line to the ledger."""
        fields = asdict(entry) | {
            "at": entry.at.isoformat(),
            "usage": json.dumps(dict(entry.usage)),
            "place": ref.place,
            "key": ref.key,
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
                db.execute("DELETE FROM memory WHERE place = ? AND key = ?", (ref.place, ref.key))
                _drop_answers(db, ref)

    def close(self) -> None:
        """Close the file."""
        with self._mutex:
            self._db.close()

    @contextlib.contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        with self._mutex, self._faults():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    @contextlib.contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, ValueError, TypeError) as error:
            raise JournalError(
                str(self._path), f"{error}: move it aside and a new one is begun"
            ) from error


def _set(db: sqlite3.Connection, ref: SessionRef, column: str, value: str | int | None) -> None:
    """Set one column of a session's memory; `column` is one of our own words."""
    db.execute(
        f"INSERT INTO memory (place, key, folder, {column}) VALUES (?, ?, ?, ?) "  # noqa: S608
        f"ON CONFLICT (place, key) DO UPDATE SET {column} = excluded.{column}",
        (ref.place, ref.key, ref.folder, value),
    )


def _drop_answers(db: sqlite3.Connection, ref: SessionRef) -> None:
    db.execute("DELETE FROM answer WHERE place = ? AND key = ?", (ref.place, ref.key))


