"""What an operator asks first: is it running, what did it do lately, and what waits for whom."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from compactor.backoff import is_waiting
from compactor.idle import Look, say_parked
from compactor.model import Outcome
from compactor.scan import skip
from session.errors import SessionError, UnreadableSessionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from compactor.journal import Journal, SessionMemory
    from compactor.model import IdlePolicy, SessionReport
    from compactor.pass_log import PassRecord, Totals
    from session.model import SessionRef
    from session.store import SessionStore

PASSES = 5
SPANS = {"24 hours": timedelta(days=1), "30 days": timedelta(days=30)}
ALL = "all time"


@dataclass(frozen=True, slots=True)
class Status:
    """What a worker did, and what it leaves alone for now.

    `has_worker` and `waiting` are None where the sessions can't be looked at; `problem` says why.
    `waiting` are the sessions that are parked or held. `written_over` counts compactions that an
    agent wrote over in the last 30 days.
    """

    has_worker: bool | None
    passes: list[PassRecord]
    totals: Mapping[str, Totals]
    waiting: list[SessionReport] | None
    written_over: int
    problem: str = ""


def read_status(
    journal: Journal,
    open_store: Callable[[], SessionStore],
    policy: IdlePolicy,
    *,
    passes: int,
    now: datetime,
) -> Status:
    """Return what the journal knows, and what the sessions say of those that wait.

    Raises `JournalError`. Nothing is written, and no lock is waited for.
    """
    totals = {name: journal.sum_up(now - span) for name, span in SPANS.items()}
    totals[ALL] = journal.sum_up(None)
    has_worker, waiting, problem = None, None, ""
    try:
        store = open_store()
        has_worker = store.has_worker()
        waiting = _find_waiting(store, journal.recall(), policy, now)
    except SessionError as error:
        problem = str(error)
    month = totals["30 days"]
    written_over = month.outcomes.get(Outcome.REAPPLIED, 0)
    return Status(has_worker, journal.last_passes(passes), totals, waiting, written_over, problem)


def _find_waiting(
    store: SessionStore,
    memories: Mapping[SessionRef, SessionMemory],
    policy: IdlePolicy,
    now: datetime,
) -> list[SessionReport]:
    """Return the sessions that are parked or held at present; of all others nothing is read."""
    found = []
    for entry in store.list_sessions():
        memory = memories.get(entry.ref)
        if memory is None:
            continue
        if is_waiting(memory.parked_until, now=now):
            found.append(skip(entry, say_parked(memory)))
        elif memory.undone is not None:
            with suppress(UnreadableSessionError):
                tail = store.load(entry).tail
                held = Look(tail, memory, policy, now).check_undone()
                if held is not None:
                    found.append(skip(entry, held))
    return sorted(found, key=lambda report: report.ref)
