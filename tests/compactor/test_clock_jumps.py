"""The clock is set by an hour or a day, twice a year by law: nobody is cut off, nobody waits on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from compactor.backoff import LONGEST, is_waiting, next_try
from compactor.errors import AuthError
from compactor.idle import select_idle
from compactor.journal import SessionMemory
from compactor.model import Leap, PassReport, Reason
from compactor.pause import EndpointPause
from compactor.pulse import Clocks
from session.store import SessionTail
from tests.compactor.builders import NOW, Row, agent, calls, idle_policy, tail_of, user

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
TTL = timedelta(minutes=10)
BERLIN = ZoneInfo("Europe/Berlin")
by = pytest.mark.parametrize("jump", [HOUR, DAY], ids=["an hour", "a day"])


def at(moment: datetime, row: Callable[..., Row] = agent, zone: ZoneInfo | None = None) -> Row:
    """A row of that moment, as an agent in a zone writes it."""
    return row(timestamp=moment.astimezone(zone or UTC).replace(tzinfo=None).isoformat())


def exchange(moment: datetime) -> SessionTail:
    """A session in which a question was answered just then."""
    return tail_of(at(moment, user), at(moment))


def after(jump: timedelta) -> Leap:
    """The clock showed NOW, and was set forward."""
    return Leap(jump, NOW + jump)


def reason_of(
    tail: SessionTail, now: datetime, leap: Leap | None, memory: SessionMemory | None = None
) -> Reason:
    """The verdict of a worker that saw the clock leap."""
    policy = idle_policy(leap=leap)
    return select_idle(tail, memory or SessionMemory(), policy, now=now).reason


# Set forward.


@by
def test_a_clock_that_is_set_forward_makes_nobody_idle(jump: timedelta) -> None:
    """Who spoke a minute before is due when the TTL has really passed, and not a second earlier."""
    tail, leap = exchange(NOW - MINUTE), after(jump)
    due = leap.at + TTL - MINUTE

    assert reason_of(tail, leap.at, leap) is Reason.ACTIVE
    assert reason_of(tail, due - SECOND, leap) is Reason.ACTIVE
    assert reason_of(tail, due, leap) is Reason.DUE
    assert reason_of(tail, leap.at, None) is Reason.DUE  # what a worker that missed it would do


@by
def test_who_was_idle_before_is_so_at_once(jump: timedelta) -> None:
    """A leap delays nobody who is long gone, and nobody who speaks after it."""
    leap = after(jump)
    assert reason_of(exchange(NOW - TTL), leap.at, leap) is Reason.DUE
    later = leap.at + HOUR
    assert reason_of(exchange(later - TTL), later, leap) is Reason.DUE
    assert reason_of(exchange(later - TTL + SECOND), later, leap) is Reason.ACTIVE


@by
def test_the_doubt_after_a_leap_ends_with_the_ttl(jump: timedelta) -> None:
    """Also where the agent's clock was right all along, and only ours was behind."""
    tail, leap = exchange(NOW + jump - MINUTE), after(jump)
    assert reason_of(tail, leap.at + TTL - SECOND, leap) is Reason.ACTIVE
    assert reason_of(tail, leap.at + TTL, leap) is Reason.DUE


@pytest.mark.parametrize(
    "rows",
    [[at(NOW - MINUTE, user)], [at(NOW - MINUTE, user), calls("1") | at(NOW - MINUTE)]],
    ids=["an answer", "a result"],
)
def test_work_is_not_dead_because_of_a_leap(rows: list[Row]) -> None:
    """What is owed is owed for a day of real time."""
    tail, leap = tail_of(*rows), after(DAY)
    assert reason_of(tail, leap.at + HOUR, leap) is Reason.BUSY
    assert reason_of(tail, leap.at + DAY, leap) is Reason.DUE


def test_leaps_are_found_and_add_up() -> None:
    """Until the clock is back where it was heading; slow drift and leap seconds are none."""
    clocks, known = Clocks(NOW, 0.0), None
    told = []
    for jump in (SECOND, HOUR, -SECOND, HOUR, -2 * HOUR, -DAY, DAY):
        later = Clocks(clocks.wall + MINUTE + jump, clocks.steady + 60)
        known = later.find_leap(clocks, known)
        told.append(None if known is None else (known.by, known.at == later.wall))
        clocks = later
    one, two, day = (HOUR, True), (2 * HOUR, True), (DAY, True)
    assert told == [None, one, (HOUR, False), two, None, None, day]


# Set back.


@by
def test_a_clock_that_is_set_back_only_delays(jump: timedelta) -> None:
    """What was said under the clock that was ahead is active until its own time and the TTL."""
    tail, back = exchange(NOW + jump), NOW
    for now, reason in (
        (back, Reason.ACTIVE),
        (back + jump + TTL - SECOND, Reason.ACTIVE),
        (back + jump + TTL, Reason.DUE),
    ):
        assert reason_of(tail, now, None) is reason


def parked(until: datetime) -> SessionMemory:
    """A session that failed once and waits."""
    return SessionMemory(parked_until=until, parked_for="unavailable", failures=1)


@pytest.mark.parametrize("failures", [0, 3, 40])
@pytest.mark.parametrize("jump", [HOUR, DAY, 400 * DAY], ids=["an hour", "a day", "a year"])
def test_nobody_is_parked_for_longer_than_the_longest_delay(jump: timedelta, failures: int) -> None:
    """A session that failed while the clock was ahead waits a day at most once that is mended."""
    until = next_try("telegram:1", failures, now=NOW + jump)
    free = until if until <= NOW + LONGEST else NOW
    assert reason_of(exchange(NOW - 9 * DAY), free, None, parked(until)) is Reason.DUE
    assert (free == NOW) is (jump >= DAY)


def test_the_longest_delay_itself_is_waited_for() -> None:
    """A Retry-After of a day is no fault of the clock."""
    tail = exchange(NOW - 9 * DAY)
    assert reason_of(tail, NOW, None, parked(NOW + LONGEST)) is Reason.PARKED
    assert reason_of(tail, NOW, None, parked(NOW + LONGEST + SECOND)) is Reason.DUE
    assert reason_of(tail, NOW, None, parked(NOW)) is Reason.DUE
    assert not is_waiting(None, now=NOW)


@by
def test_an_endpoint_is_asked_again_after_the_clock_was_set_back(jump: timedelta) -> None:
    """A fault of the account that was met under a clock that was ahead is soon looked at again."""
    pause = EndpointPause()
    for _ in range(12):
        pause.note(PassReport((), 1.0, AuthError("no")), NOW + jump)
    assert pause.fault_at(NOW + jump) is not None
    assert pause.fault_at(NOW) is None
    pause.note(PassReport((), 1.0, AuthError("no")), NOW)
    assert pause.fault_at(NOW + HOUR - MINUTE) is not None
    assert pause.fault_at(NOW + HOUR) is None


# Twice a year, by law.

NIGHTS = {
    "the hour that comes twice": datetime(2026, 10, 24, 22, tzinfo=UTC),
    "the hour that never comes": datetime(2026, 3, 28, 22, tzinfo=UTC),
}


@pytest.mark.parametrize("evening", NIGHTS.values(), ids=NIGHTS)
def test_through_the_night_in_which_the_clocks_change(evening: datetime) -> None:
    """Minute by minute: an active session never looks idle, and is due an hour late at most."""
    policy = idle_policy(zone=BERLIN)
    late = 0
    for minute in range(6 * 60):
        spoken = evening + minute * MINUTE
        tail = tail_of(at(spoken, user, BERLIN), at(spoken, agent, BERLIN))
        reasons = [
            select_idle(tail, SessionMemory(), policy, now=spoken + span).reason
            for span in (timedelta(), TTL - SECOND, TTL, TTL + HOUR)
        ]
        assert reasons[:2] == [Reason.ACTIVE, Reason.ACTIVE], spoken
        assert reasons[3] is Reason.DUE, spoken
        late += reasons[2] is not Reason.DUE
    assert late == (60 if evening.month == 10 else 0)


@pytest.mark.parametrize("skew", [-SECOND, SECOND, 2 * SECOND])
def test_a_leap_second_is_no_more_than_a_second(skew: timedelta) -> None:
    """Whoever's clock has it first."""
    tail = exchange(NOW + skew)
    assert reason_of(tail, NOW, None) is Reason.ACTIVE
    assert reason_of(tail, NOW + TTL + skew, None) is Reason.DUE


def test_a_dead_turn_is_told_apart_from_a_running_one_whatever_the_law_says() -> None:
    """A user who is owed an answer since the evening is not forgotten in the morning."""
    for evening in NIGHTS.values():
        tail = tail_of(at(evening, user, BERLIN))
        policy = replace(idle_policy(zone=BERLIN), stuck_after=6 * HOUR)
        for hours, reason in ((5, Reason.BUSY), (6, Reason.DUE)):
            now = evening + hours * HOUR
            assert select_idle(tail, SessionMemory(), policy, now=now).reason is reason
