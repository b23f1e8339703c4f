"""When passes are made: at an interval, or as a cron expression says."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from compactor.durations import parse_duration, say_span

if TYPE_CHECKING:
    from apscheduler.triggers.base import BaseTrigger

_FIELDS = 5
_LONGEST = timedelta(days=366)
_LONG_PAST = datetime(2000, 1, 1, tzinfo=UTC)  # every date that ever comes has come since


@dataclass(frozen=True, slots=True)
class Cron:
    """A cron expression of five fields, in UTC."""

    expression: str


Every = timedelta | Cron


def parse_every(value: object) -> Every:
    """Return what `60s` or `*/5 6-22 * * mon-fri` says; raises `ValueError` for anything else."""
    if isinstance(value, str) and len(value.split()) == _FIELDS:
        cron = Cron(" ".join(value.split()))
        trigger = make_trigger(cron)
        if trigger.get_next_fire_time(None, _LONG_PAST) is None:
            message = "this is a date that never comes"
            raise ValueError(message)
        return cron
    try:
        span = parse_duration(value)
    except ValueError as error:
        message = f'{error}, or the five fields of a cron expression, for example "*/5 * * * *"'
        raise ValueError(message) from None
    if span > _LONGEST:
        message = f"expected at most {_LONGEST.days}d"
        raise ValueError(message)
    return span


def say_every(every: Every) -> str:
    """Return for a person how often that is."""
    return every.expression if isinstance(every, Cron) else say_span(every)


def make_trigger(every: Every) -> BaseTrigger:
    """Return what the scheduler goes by; raises `ValueError` for an expression that says nothing.

    Times are UTC: a local zone may be misconfigured, and its days may have 23 hours.
    """
    if isinstance(every, timedelta):
        from apscheduler.triggers.interval import IntervalTrigger  # noqa: PLC0415 - only to run

        return IntervalTrigger(seconds=every.total_seconds(), timezone=UTC)
    from apscheduler.triggers.cron import CronTrigger  # noqa: PLC0415 - only where it is written

    if any(character.isdigit() for character in every.expression.split()[-1]):
        # APScheduler begins its week with Monday, cron with Sunday.
        message = "write the days of the week by name, such as mon-fri"
        raise ValueError(message)
    return CronTrigger.from_crontab(every.expression, timezone=UTC)
