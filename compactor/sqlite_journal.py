"""The journal in a small SQLite file: what is asked of it, and what is told to it.

The ledger only ever grows; what it says is enough to replay the decisions of the past with another
configuration.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING

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
from compactor.journal_file import JournalFile
from compactor.journal_rows import (
    LEDGER_COLUMNS,
    MEMORY_COLUMNS,
    TOTALS_QUERY,
    drop_answers,
    ledger_values,
    name_of,
    pass_values,
    read_ledger,
    read_memory,
    read_pass,
    read_totals,
    set_memory,
    set_parking,
    to_bytes,
    to_text,
)
from compactor.journal_schema import AUDIT_SINCE, KEPT_PASSES, PASSES_SINCE

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from compactor.pass_log import PassRecord, Totals
    from session.model import SessionRef


_ROOM = 1 << 17  # bytes; far more than the answers that are under way at once


class SqliteJournal(Journal):
    """A journal in `folder`, which is made if need be. With `read_only` it must be there."""

    def __init__(self, folder: Path, *, read_only: bool = False) -> None:
        self._file = JournalFile(folder, read_only=read_only)

    def recall(self) -> Mapping[SessionRef, SessionMemory]:
        """Return the memory of every session that has one."""
        with self._file.reading() as db:
            rows = db.execute(f"SELECT {MEMORY_COLUMNS} FROM memory").fetchall()  # noqa: S608
            return dict(map(read_memory, rows))

    def find_answer(self, fingerprint: str) -> Answer | None:
        """Return the answer to that question, unless it has landed or was undone since."""
        with self._file.reading() as db:
            row = db.execute(
                "SELECT text, engine, model, prompt, written_at FROM answer WHERE fingerprint = ?",
                (fingerprint,),
            ).fetchone()
            if row is None:
                return None
            text, engine, model, prompt, written_at = row
            at = datetime.fromisoformat(written_at)
            return Answer(fingerprint, to_text(text), engine, model, prompt, at)

    def make_room(self) -> None:
        """See to it that answers can be kept: what is given back stays in the file, for them."""
        with self._file.changing() as db:
            db.execute(
                "INSERT OR REPLACE INTO answer "
                "(fingerprint, place, key, text, engine, prompt, written_at) "
                "VALUES ('', x'', x'', zeroblob(?), '', '', '')",
                (_ROOM,),
            )
        self.drop_answer("")

    def keep_answer(self, ref: SessionRef, answer: Answer) -> None:
        """Remember an answer."""
        values = (to_bytes(answer.text), answer.engine, answer.model, answer.prompt)
        with self._file.changing() as db:
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
        with self._file.changing() as db:
            db.execute("DELETE FROM answer WHERE fingerprint = ?", (fingerprint,))

    def count_calls(
        self, since: datetime, ref: SessionRef | None = None, *, until: datetime
    ) -> int:
        """Return how many calls the ledger has from then to then; see `Journal`."""
        query = "SELECT coalesce(sum(calls), 0) FROM ledger WHERE at BETWEEN ? AND ?"
        values: tuple[object, ...] = ()
        if ref is not None:
            query += " AND place = ? AND key = ? AND coalesce(reason, '') NOT IN (?, ?)"
            query += " AND outcome <> ?"
            values = (*name_of(ref), *UNANSWERED, FOLDED)
        with self._file.reading() as db:
            row = db.execute(query, (since.isoformat(), until.isoformat(), *values)).fetchone()
        return int(row[0])

    def count_outcomes(self, outcome: str, since: datetime) -> int:
        """Return how many lines of the ledger say so since then; see `Journal`."""
        query = "SELECT count(*) FROM ledger WHERE at >= ? AND outcome = ?"
        with self._file.reading() as db:
            row = db.execute(query, (since.isoformat(), outcome)).fetchone()
        return int(row[0])

    def costs_of(self, ref: SessionRef) -> list[LedgerEntry]:
        """Return the lines of what led to the entry that landed last; see `Journal`."""
        columns = LEDGER_COLUMNS
        if self._file.version_read < AUDIT_SINCE:
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
        with self._file.reading() as db:
            values = {"place": place, "key": key, "done": COMPACTED}
            return list(map(read_ledger, db.execute(query, values).fetchall()))

    def note_pass(self, record: PassRecord) -> None:
        """Add a pass, and let go of the oldest; see `PassLog`."""
        with self._file.changing() as db:
            db.execute(
                "INSERT INTO pass (began_at, seconds, command, outcome, problem, counts) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                pass_values(record),
            )
            db.execute(
                "DELETE FROM pass WHERE id <= (SELECT max(id) FROM pass) - ?", (KEPT_PASSES,)
            )

    def last_passes(self, limit: int) -> list[PassRecord]:
        """Return the newest passes, the newest first; see `PassLog`."""
        if self._file.version_read < PASSES_SINCE:
            return []
        query = (
            "SELECT began_at, seconds, command, outcome, problem, counts FROM pass "
            "ORDER BY id DESC LIMIT ?"
        )
        with self._file.reading() as db:
            return list(map(read_pass, db.execute(query, (limit,)).fetchall()))

    def sum_up(self, since: datetime | None) -> Totals:
        """Return the sums of the ledger since then; see `PassLog`."""
        with self._file.reading() as db:
            rows = db.execute(TOTALS_QUERY, ("" if since is None else since.isoformat(),))
            return read_totals(rows.fetchall())

    def note_landed(self, ref: SessionRef, landed: Landed) -> None:
        """Remember what was committed; older answers of the session have served their time."""
        with self._file.changing() as db:
            set_memory(db, ref, "landed", json.dumps(asdict(landed)))
            set_memory(db, ref, "undone", None)
            set_parking(db, ref, None, "")
            drop_answers(db, ref)

    def note_undone(self, ref: SessionRef, undone: Undone) -> None:
        """Remember what an operator took back."""
        with self._file.changing() as db:
            set_memory(db, ref, "landed", None)
            set_memory(db, ref, "undone", json.dumps(asdict(undone)))
            drop_answers(db, ref)

    def park(self, ref: SessionRef, until: datetime | None, reason: str) -> None:
        """Leave a session alone until then; None lets it go again."""
        with self._file.changing() as db:
            set_parking(db, ref, until, reason)

    def write_ledger(self, ref: SessionRef, entry: LedgerEntry) -> None:
        """Add a line to the ledger."""
        place, key = name_of(ref)
        names = [name.strip() for name in LEDGER_COLUMNS.split(",")]
        with self._file.changing() as db:
            db.execute(
                f"INSERT INTO ledger (place, key, {LEDGER_COLUMNS}) "  # noqa: S608 - our own words
                f"VALUES (:place, :key, {', '.join(f':{name}' for name in names)})",
                ledger_values(entry) | {"place": place, "key": key},
            )

    def forget(self, refs: Collection[SessionRef]) -> None:
        """Forget all texts of these sessions."""
        with self._file.changing() as db:
            for ref in refs:
                db.execute("DELETE FROM memory WHERE place = ? AND key = ?", name_of(ref))
                drop_answers(db, ref)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
