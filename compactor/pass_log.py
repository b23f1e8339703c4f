"""What is remembered of whole passes, for whoever looks after the worker."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from compactor.model import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

_SETTLED = (Outcome.COMPACTED, Outcome.REAPPLIED)


class PassOutcome(StrEnum):
    """How a pass ended."""

    DONE = "done"
    STOPPED = "stopped"  # a fault of the endpoint's account
    HALTED = "halted"  # its deadline was over, or the worker was told to stop
    FAILED = "failed"  # the sessions or the journal can't be reached


@dataclass(frozen=True, slots=True)
class PassRecord:
    """One pass. `command` is who made it, `problem` says why it ended before its work was done.

    `counts` are those of a pass's document (`scanned`, `due`, ...), the reasons of `skipped` among
    them, and the runs that were not made since the one before (`runs_skipped`, `runs_missed`).
    """

    began_at: datetime
    seconds: float
    command: str
    outcome: PassOutcome
    problem: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over the ledger: attempts by outcome, calls, and tokens.

    `tokens_before` and `tokens_after` are those of what was compacted or applied again, `prompt`
    and `completion` what the endpoint counted.
    """

    outcomes: Mapping[str, int] = field(default_factory=dict)
    calls: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    prompt: int = 0
    completion: int = 0

    def plus(self, outcome: str, figures: tuple[int, int, int, int, int, int]) -> Totals:
        """Return the sums with more attempts that ended so.

        `figures` are how many, and then what they add to each of the fields.
        """
        count, calls, before, after, prompt, completion = figures
        settled = outcome in _SETTLED
        return Totals(
            dict(self.outcomes) | {outcome: self.outcomes.get(outcome, 0) + count},
            self.calls + calls,
            self.tokens_before + (before if settled else 0),
            self.tokens_after + (after if settled else 0),
            self.prompt + prompt,
            self.completion + completion,
        )


class PassLog(Protocol):
    """The memory of passes. Every method is atomic and durable when it returns."""

    def note_pass(self, record: PassRecord) -> None:
        """Remember a pass; of a thousand and more the oldest are let go of."""

    def last_passes(self, limit: int) -> list[PassRecord]:
        """Return the newest passes, the newest first."""

    def sum_up(self, since: datetime | None) -> Totals:
        """Return the sums of the ledger since then, or of all of it."""
