"""How the journal's values stand in the rows of its file, and the statements that share them.

What comes from outside is stored as bytes: text in SQLite can't hold a lone surrogate.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

from compactor.journal import Landed, LedgerEntry, SessionMemory, Undone
from compactor.model import AuditFigure
from compactor.pass_log import PassOutcome, PassRecord, Totals
from session.model import SessionRef

if TYPE_CHECKING:
    import sqlite3

MEMORY_COLUMNS = "place, folder, key, landed, undone, parked_until, parked_for, failures"
LEDGER_COLUMNS = (
    "at, outcome, reason, engine, model, calls, tokens_before, tokens_after, seconds, usage, audit"
)
# What the ledger has since a time, by how attempts ended.
TOTALS_QUERY = """
    SELECT outcome, count(*), sum(calls), sum(tokens_before), sum(tokens_after),
        sum(json_extract(usage, '$.prompt')), sum(json_extract(usage, '$.completion'))
    FROM ledger WHERE at >= ? GROUP BY outcome
"""


def read_memory(row: tuple[Any, ...]) -> tuple[SessionRef, SessionMemory]:
    """Return a session and its memory, of a row of `MEMORY_COLUMNS`."""
    place, folder, key, landed, undone, until, reason, failures = row
    return SessionRef(to_text(place), to_text(folder), to_text(key)), SessionMemory(
        None if landed is None else Landed(**json.loads(landed)),
        None if undone is None else _read_undone(undone),
        None if until is None else datetime.fromisoformat(until),
        reason,
        failures,
    )


def _read_undone(text: str) -> Undone:
    undone = Undone(**json.loads(text))
    if not (isinstance(undone.covers, int) and isinstance(undone.messages, int)):
        raise TypeError(text)
    return undone


def read_ledger(row: tuple[Any, ...]) -> LedgerEntry:
    """Return the entry of a row of `LEDGER_COLUMNS`."""
    at, outcome, reason, engine, model, calls, before, after, seconds, usage, audit = row
    return LedgerEntry(
        datetime.fromisoformat(at),
        outcome,
        reason,
        engine,
        model,
        calls,
        before,
        after,
        seconds,
        dict(json.loads(usage)),
        None if audit is None else AuditFigure(**json.loads(audit)),
    )


def ledger_values(entry: LedgerEntry) -> dict[str, Any]:
    """Return the values of an entry by their columns."""
    return asdict(entry) | {
        "at": entry.at.isoformat(),
        "usage": json.dumps(dict(entry.usage)),
        "audit": None if entry.audit is None else json.dumps(asdict(entry.audit)),
    }


def read_pass(row: tuple[Any, ...]) -> PassRecord:
    """Return the record of a row of a pass."""
    began_at, seconds, command, outcome, problem, counts = row
    at = datetime.fromisoformat(began_at)
    return PassRecord(at, seconds, command, PassOutcome(outcome), problem, json.loads(counts))


def pass_values(record: PassRecord) -> tuple[Any, ...]:
    """Return the values of a pass in the order of its columns."""
    return (
        record.began_at.isoformat(),
        record.seconds,
        record.command,
        record.outcome,
        record.problem,
        json.dumps(dict(record.counts)),
    )


def read_totals(rows: list[tuple[Any, ...]]) -> Totals:
    """Return the sums of rows of `TOTALS_QUERY`."""
    totals = Totals()
    for outcome, count, calls, before, after, prompt, completion in rows:
        tokens = (before or 0, after or 0, prompt or 0, completion or 0)
        totals = totals.plus(outcome, (count, calls, *tokens))
    return totals


def to_bytes(text: str) -> bytes:
    """Return what comes from outside as it is stored."""
    return text.encode("utf-8", "surrogatepass")


def to_text(data: bytes) -> str:
    """Return what was stored as it came."""
    return data.decode("utf-8", "surrogatepass")


def name_of(ref: SessionRef) -> tuple[bytes, bytes]:
    """Return the place and the key of a session."""
    return to_bytes(ref.place), to_bytes(ref.key)


def set_memory(db: sqlite3.Connection, ref: SessionRef, column: str, value: str | None) -> None:
    """Set one column of a session's memory; `column` is one of our own words."""
    db.execute(
        f"INSERT INTO memory (place, key, folder, {column}) VALUES (?, ?, ?, ?) "  # noqa: S608
        f"ON CONFLICT (place, key) DO UPDATE SET {column} = excluded.{column}",
        (*name_of(ref), to_bytes(ref.folder), value),
    )


def set_parking(
    db: sqlite3.Connection, ref: SessionRef, until: datetime | None, reason: str
) -> None:
    """Set or end the delay of a session, and count its failures."""
    set_memory(db, ref, "parked_until", None if until is None else until.isoformat())
    set_memory(db, ref, "parked_for", reason)
    grow = "0" if until is None else "failures + 1"
    db.execute(
        f"UPDATE memory SET failures = {grow} WHERE place = ? AND key = ?",  # noqa: S608
        name_of(ref),
    )


def drop_answers(db: sqlite3.Connection, ref: SessionRef) -> None:
    """Forget the answers of a session."""
    db.execute("DELETE FROM answer WHERE place = ? AND key = ?", name_of(ref))
