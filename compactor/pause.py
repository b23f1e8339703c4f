"""A fault of the endpoint's account, and how long a worker asks nobody because of it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from compactor.backoff import is_waiting, next_try

if TYPE_CHECKING:
    from datetime import datetime

    from compactor.errors import StopError
    from compactor.model import PassReport

_LONGEST = timedelta(hours=1)


class EndpointPause:
    """Remembers a fault from pass to pass: longer each time that it is met again, up to an hour."""

    def __init__(self) -> None:
        self._fault: StopError | None = None
        self._until: datetime | None = None
        self._times = 0

    def fault_at(self, now: datetime) -> StopError | None:
        """Return the fault because of which nobody is asked now, None where asking is due."""
        return self._fault if is_waiting(self._until, now=now, longest=_LONGEST) else None

    def note(self, report: PassReport, now: datetime) -> bool:
        """Take in a pass that asked; returns whether it met a fault."""
        self._fault = report.stopped_by
        if report.stopped_by is None:
            self._times, self._until = 0, None
            return False
        delay = next_try("", self._times, now=now) - now
        self._until = now + min(delay, _LONGEST)
        self._times += 1
        return True
