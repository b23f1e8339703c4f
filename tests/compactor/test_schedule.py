"""When passes are made: what may be configured, and what the scheduler makes of it."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import pytest

from compactor.schedule import Cron, Every, make_trigger, parse_every, say_every
from compactor.scheduler import Lack, PassScheduler

PATIENCE = 20.0
HOUR = timedelta(hours=1)
SUNDAY = datetime(2026, 11, 29, 12, 0, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("written", "every", "said"),
    [
        ("60s", timedelta(seconds=60), "1m"),
        ("1.5h", timedelta(minutes=90), "90m"),
        ("*/5 * * * *", Cron("*/5 * * * *"), "*/5 * * * *"),
        (" 0  3 * *  mon-fri", Cron("0 3 * * mon-fri"), "0 3 * * mon-fri"),
    ],
)
def test_an_interval_or_a_cron_expression(written: str, every: Every, said: str) -> None:
    """Either says how often."""
    assert parse_every(written) == every
    assert say_every(every) == said


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("whenever", "cron expression"),
        ("off", "expected a number"),
        (60, "expected a number"),
        ("400d", "at most 366d"),
        ("61 * * * *", "61"),
        ("* * * *", "expected a number"),
        ("0 3 * * 1-5", "by name"),
        ("0 3 31 2 *", "never comes"),
    ],
)
def test_what_says_nothing_is_refused(written: object, told: str) -> None:
    """The error says what would be right; a date that never comes would end the worker's work."""
    with pytest.raises(ValueError, match=told):
        parse_every(written)


def test_cron_goes_by_utc() -> None:
    """Whatever the zone of the machine, and through its changes to and from summer time."""
    trigger = make_trigger(Cron("30 2 * * mon"))
    following = trigger.get_next_fire_time(None, SUNDAY)
    assert following == datetime(2026, 11, 30, 2, 30, tzinfo=UTC)
    assert trigger.get_next_fire_time(following, following) == following + timedelta(days=7)


class Told:
    """What a scheduler tells."""

    def __init__(self) -> None:
        self.lacks: list[tuple[Lack, BaseException | None]] = []
        self.changed = threading.Condition()

    def note(self, lack: Lack, error: BaseException | None) -> None:
        """Hear of a run that did not come to its end."""
        with self.changed:
            self.lacks.append((lack, error))
            self.changed.notify_all()

    def wait(self, count: int) -> None:
        """Wait until so many were heard of."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.lacks) >= count, PATIENCE)


def test_the_first_pass_is_made_at_once() -> None:
    """And the next one an interval later."""
    begun = threading.Event()
    scheduler = PassScheduler(begun.set, Told().note)
    scheduler.start(HOUR)
    assert begun.wait(PATIENCE)
    next_run = scheduler.next_run
    scheduler.stop()
    assert next_run is not None
    assert timedelta(minutes=59) < next_run - datetime.now(UTC) <= HOUR  # noqa: TID251 - a real one


def test_a_pass_that_fails_is_told_and_the_next_one_is_made() -> None:
    """Whatever it raises."""
    told = Told()

    def fail() -> None:
        raise ZeroDivisionError

    scheduler = PassScheduler(fail, told.note)
    scheduler.start(timedelta(seconds=0.05))
    told.wait(2)
    scheduler.stop()
    assert [type(error) for _, error in told.lacks[:2]] == [ZeroDivisionError] * 2
    assert {lack for lack, _ in told.lacks} == {Lack.FAILED}


def test_a_pass_is_not_overtaken_and_what_is_skipped_is_told() -> None:
    """At most one is under way, however long it takes."""
    told, release = Told(), threading.Event()

    def hang() -> None:
        release.wait(PATIENCE)

    scheduler = PassScheduler(hang, told.note)
    scheduler.start(timedelta(seconds=0.05))
    told.wait(2)
    release.set()
    scheduler.stop()
    assert {lack for lack, _ in told.lacks} == {Lack.SKIPPED}


def test_nothing_is_begun_after_a_pause() -> None:
    """The end of a worker begins so."""
    count = threading.Semaphore(0)
    scheduler = PassScheduler(count.release, Told().note)
    scheduler.start(timedelta(seconds=0.05))
    assert count.acquire(timeout=PATIENCE)
    scheduler.pause()
    while count.acquire(timeout=0.3):
        pass
    scheduler.stop()
    assert not count.acquire(blocking=False)


def test_a_change_begins_with_a_pass() -> None:
    """Where the clock was set back by a day, the next one is not a day ahead."""
    begun = threading.Semaphore(0)
    scheduler = PassScheduler(begun.release, Told().note)
    scheduler.start(timedelta(days=1))
    assert begun.acquire(timeout=PATIENCE)
    scheduler.change(HOUR)
    assert begun.acquire(timeout=PATIENCE)
    next_run = scheduler.next_run
    scheduler.stop()
    assert next_run is not None
    assert next_run - datetime.now(UTC) <= HOUR  # noqa: TID251 - a real one


def test_a_change_to_cron_waits_for_its_time() -> None:
    """Who says when wants it then."""
    begun = threading.Semaphore(0)
    scheduler = PassScheduler(begun.release, Told().note)
    scheduler.start(timedelta(days=1))
    assert begun.acquire(timeout=PATIENCE)
    scheduler.change(Cron("0 0 1 1 *"))
    next_run = scheduler.next_run
    scheduler.stop()
    assert next_run is not None
    assert (next_run.month, next_run.day, next_run.hour) == (1, 1, 0)
    assert not begun.acquire(blocking=False)
