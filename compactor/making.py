"""How the entry that stands was made: what its audit found and what it cost, by the journal."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from compactor.errors import JournalError
from compactor.journal import FOLDED, Journal, LedgerEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from compactor.model import AuditFigure
    from session.store import StoredSession


@dataclass(frozen=True, slots=True)
class EntryCost:
    """What an entry took, with all that failed on the way.

    `parts` are those of the `calls` that were for a part of a long session. `usage` holds tokens as
    the endpoint counted them (see `LedgerEntry`), `seconds` are those of the attempts.
    """

    calls: int
    parts: int
    seconds: float
    usage: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Making:
    """What is known of how an entry was made; None for what isn't.

    `problem` says why the journal could not be asked.
    """

    audit: AuditFigure | None = None
    cost: EntryCost | None = None
    problem: str | None = None


def read_making(session: StoredSession, open_journal: Callable[[], Journal]) -> Making:
    """Return how the entry that stands was made.

    A journal that can't be used is no reason to show nothing, so this raises no `JournalError`.
    """
    if session.projection.stamp is None:
        return Making()
    try:
        journal = open_journal()
        try:
            lines = journal.costs_of(session.ref)
        finally:
            journal.close()
    except JournalError as error:
        return Making(problem=str(error))
    if not lines or not _is_about(lines[-1], session):
        return Making()
    return Making(lines[-1].audit, _sum_cost(lines))


def _is_about(line: LedgerEntry, session: StoredSession) -> bool:
    """Whether a compaction is the one that stands, and not one that was undone."""
    stamp = session.projection.stamp
    return stamp is not None and all(
        stamp.get(name) == getattr(line, name)
        for name in ("engine", "model", "tokens_before", "tokens_after")
    )


def _sum_cost(lines: Sequence[LedgerEntry]) -> EntryCost | None:
    calls = sum(line.calls for line in lines)
    if not calls and lines[-1].model is not None:  # a pass was killed before it wrote what it took
        return None
    usage: Counter[str] = Counter()
    for line in lines:
        usage.update(line.usage)
    return EntryCost(
        calls,
        sum(line.calls for line in lines if line.outcome == FOLDED),
        sum(line.seconds or 0.0 for line in lines if line.outcome != FOLDED),
        dict(usage),
    )
