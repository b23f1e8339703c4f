"""Whether a worker is getting on: what the watchdog is told, from values and moments alone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from compactor.model import Leap

if TYPE_CHECKING:
    from datetime import datetime

    from compactor.model import PassPolicy

# How late the scheduler may be, or the end of a pass after everything in it was given up.
MARGIN = timedelta(seconds=60)
_JUMP = timedelta(seconds=5)


def is_fresh(
    policy: PassPolicy,
    *,
    running_for: timedelta | None,
    next_run: datetime | None,
    now: datetime,
) -> bool:
    """Whether passes progress: the one under way is in its time, or the next one is not overdue.

    `running_for` is how long a pass has been under way, None where none is.
    """
    if running_for is not None:
        return running_for < policy.deadline + policy.grace + MARGIN
    return next_run is not None and now < next_run + MARGIN


@dataclass(frozen=True, slots=True)
class Clocks:
    """A look at the clock on the wall and at one that nobody sets, in seconds, at one moment."""

    wall: datetime
    steady: float

    def has_jumped(self, since: Clocks) -> timedelta | None:
        """Return by how much the clock was set since another look, None where it was not."""
        passed = timedelta(seconds=self.steady - since.steady)
        jump = self.wall - since.wall - passed
        return jump if abs(jump) >= _JUMP else None

    def find_leap(self, since: Clocks, known: Leap | None) -> Leap | None:
        """Return by how much the clock is ahead of where it was heading, None where it is not.

        `known` is what was found by the look before.
        """
        jump = self.has_jumped(since)
        if jump is None:
            return known
        by = jump if known is None else known.by + jump
        return Leap(by, self.wall) if by > timedelta() else None
