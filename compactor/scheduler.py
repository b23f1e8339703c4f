"""APScheduler, set up so that one pass follows the other and none is lost or doubled.

Its defaults would drop a run that begins a second late, and tell of it in a log of its own.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from apscheduler.events import EVENT_JOB_ERROR, EVENT_JOB_MAX_INSTANCES, EVENT_JOB_MISSED
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler

from compactor.schedule import Cron, Every, make_trigger

if TYPE_CHECKING:
    from collections.abc import Callable

    from apscheduler.events import JobEvent

_JOB = "pass"


class Lack(StrEnum):
    """Why a pass was not made, or not to its end."""

    FAILED = "failed"  # it raised an error
    SKIPPED = "skipped"  # the one before was still under way
    MISSED = "missed"  # it could not be begun


_LACKS = {
    EVENT_JOB_MISSED: Lack.MISSED,
    EVENT_JOB_MAX_INSTANCES: Lack.SKIPPED,
    EVENT_JOB_ERROR: Lack.FAILED,
}


class PassScheduler:
    """Calls `work` from a thread of its own: at once, and then as often as it is told.

    `tell` hears of every run that did not come to its end, and of its error if there was one.
    """

    def __init__(
        self,
        work: Callable[[], None],
        tell: Callable[[Lack, BaseException | None], None],
    ) -> None:
        for name in ("apscheduler", "tzlocal"):
            logging.getLogger(name).addHandler(logging.NullHandler())
            logging.getLogger(name).propagate = False  # its tracebacks may quote a message
        self._work = work
        self._tell = tell
        self._scheduler = BackgroundScheduler(
            timezone=UTC,
            executors={"default": ThreadPoolExecutor(1)},
            job_defaults={"max_instances": 1, "coalesce": True, "misfire_grace_time": None},
        )
        events = EVENT_JOB_ERROR | EVENT_JOB_MAX_INSTANCES | EVENT_JOB_MISSED
        self._scheduler.add_listener(self._note, events)

    def start(self, every: Every) -> None:
        """Make the first pass at once."""
        self._scheduler.add_job(
            self._work, make_trigger(every), id=_JOB, next_run_time=_read_clock()
        )
        self._scheduler.start()

    def change(self, every: Every) -> None:
        """Reckon anew when the next pass is: the times have changed, or the clock was set.

        An interval begins with a pass at once, so that a clock that is set again and again can't
        put all of them off.
        """
        self._scheduler.reschedule_job(_JOB, trigger=make_trigger(every))
        if not isinstance(every, Cron):
            self._scheduler.modify_job(_JOB, next_run_time=_read_clock())

    @property
    def next_run(self) -> datetime | None:
        """When the next pass is due, in UTC; None where none is."""
        job = self._scheduler.get_job(_JOB)
        return None if job is None else job.next_run_time

    def pause(self) -> None:
        """Begin no more passes."""
        self._scheduler.pause()

    def stop(self) -> None:
        """End; a pass that is under way is not waited for."""
        self._scheduler.shutdown(wait=False)

    def _note(self, event: JobEvent) -> None:
        self._tell(_LACKS[event.code], getattr(event, "exception", None))


def _read_clock() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 - the scheduler goes by the clock of the machine
