"""Commands and the worker when the clock is set by an hour or a day, in either direction."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta

import pytest
from freezegun import freeze_time

from compactor.model import PassReport
from compactor.notify import Notifier
from compactor.pulse import Clocks
from compactor.rounds import Rounds, _read_clocks
from compactor.setup import Setup, read_clock
from compactor.station import Station
from compactor.worker import Worker
from tests.end_to_end.support import Invoke, Ran, add_messages
from tests.endpoint.server import Server, answer, error
from tests.endpoint.support import SHORT_KEY, Place
from tests.endpoint.test_run_service import write_over

NOW = datetime(2026, 12, 3, 12, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
by = pytest.mark.parametrize("jump", [HOUR, DAY], ids=["an hour", "a day"])


def once(invoke: Invoke, now: datetime) -> Ran:
    """Make a pass under a clock that shows that."""
    with freeze_time(now, tick=True):
        return invoke("once", "--agent-stopped", "--json", "--all")


def reason(ran: Ran) -> str:
    """What a pass said of the session."""
    row = ran.session(SHORT_KEY)
    return str(row["reason"] or row["outcome"])


def speak(place: Place, at: datetime) -> None:
    """Let somebody say something, and have an answer, under a clock that shows that."""
    told = at.replace(tzinfo=None).isoformat()
    rows = [
        {"role": role, "content": "and so on " * 200, "timestamp": told}
        for role in ("user", "assistant") * 4
    ]
    add_messages(place.path(), *rows)


@by
def test_what_was_said_under_a_clock_that_was_ahead_is_active(
    jump: timedelta, place: Place, server: Server, invoke: Invoke
) -> None:
    """When the clock is right again, nothing is touched and nobody asked, until its time comes."""
    place.configure(ttl="10m")
    speak(place, NOW + jump)
    before = place.files()

    back = once(invoke, NOW)

    assert (back.code, reason(back)) == (0, "active")
    assert "ahead of now" in back.session(SHORT_KEY)["detail"]
    assert place.files() == before
    assert not server.requests
    assert reason(once(invoke, NOW + jump + 9 * MINUTE)) == "active"
    assert reason(once(invoke, NOW + jump + 10 * MINUTE)) == "compacted"


def test_a_session_that_failed_under_a_clock_a_day_ahead_is_tried_at_once(
    place: Place, server: Server, invoke: Invoke
) -> None:
    """It does not wait a day more than its delay."""
    server.play(error(503))
    assert reason(once(invoke, NOW + DAY)) == "unavailable"
    server.play(answer())

    assert reason(once(invoke, NOW)) == "compacted"


def test_a_session_that_failed_before_the_clock_went_ahead_is_tried_then(
    place: Place, server: Server, invoke: Invoke
) -> None:
    """And if it fails again, no later than it would when the clock is right."""
    server.play(error(503))
    assert reason(once(invoke, NOW)) == "unavailable"
    assert reason(once(invoke, NOW + MINUTE)) == "parked"
    assert reason(once(invoke, NOW + DAY)) == "unavailable"
    server.play(answer())

    assert reason(once(invoke, NOW + 2 * MINUTE)) == "compacted"


@by
@pytest.mark.parametrize("limit", ["calls_per_hour = 1", "per_session_per_day = 1"])
def test_calls_of_a_clock_that_was_ahead_use_up_no_limit(
    limit: str, jump: timedelta, place: Place, server: Server, invoke: Invoke
) -> None:
    """Nobody waits until the clock is there again; from then on the limit holds as ever."""
    place.configure(limits=limit)
    assert reason(once(invoke, NOW + jump)) == "compacted"
    speak(place, NOW - DAY)

    assert reason(once(invoke, NOW)) == "compacted"
    speak(place, NOW - DAY)
    assert reason(once(invoke, NOW + MINUTE)) == "limited"
    assert len(server.requests) == 2


def test_a_date_to_retry_after_is_reckoned_by_a_clock_that_is_behind(
    place: Place, server: Server, invoke: Invoke
) -> None:
    """The endpoint's clock is right, ours a year behind: a day is the longest wait all the same."""
    when = (NOW + MINUTE).strftime("%a, %d %b %Y %H:%M:%S GMT")
    speak(place, NOW - 401 * DAY)
    server.play(error(429, RETRY_AFTER=when))
    assert reason(once(invoke, NOW - 400 * DAY)) == "rate_limited"
    server.play(answer())

    assert reason(once(invoke, NOW - 400 * DAY + 2 * HOUR)) == "parked"
    assert reason(once(invoke, NOW - 399 * DAY + MINUTE)) == "compacted"


@by
def test_what_was_written_over_is_applied_again_whatever_the_clock_says(
    jump: timedelta, place: Place, server: Server, invoke: Invoke
) -> None:
    """It is paid for once; what landed is recognized by what it covers, and not by its time."""
    assert reason(once(invoke, NOW + jump)) == "compacted"
    write_over(place)

    back = once(invoke, NOW)

    assert back.session(SHORT_KEY)["outcome"] == "reapplied"
    assert reason(once(invoke, NOW + MINUTE)) == "covered"
    assert len(server.requests) == 1


@by
def test_what_was_undone_stays_undone_whatever_the_clock_says(
    jump: timedelta, place: Place, server: Server, invoke: Invoke
) -> None:
    """Until somebody speaks, under whichever clock."""
    once(invoke, NOW)
    with freeze_time(NOW + jump, tick=True):
        assert invoke("undo", SHORT_KEY).code == 0

    for now in (NOW, NOW + jump, NOW + 2 * jump):
        assert reason(once(invoke, now)) == "held"
    speak(place, NOW - MINUTE)
    assert reason(once(invoke, NOW)) == "compacted"
    assert len(server.requests) == 2


# The worker, whose clock can't be set here: what it saw last is what is changed.


def open_station() -> Station:
    """A station of the configuration in the current folder."""
    return Station.open(Setup.load(None, None, as_json=True, verbose=False))


@by
def test_a_worker_that_sees_the_clock_leap_cuts_nobody_off(
    jump: timedelta, place: Place, server: Server
) -> None:
    """A user who spoke a minute before the leap has ten minutes, as ever; others are compacted."""
    place.configure(ttl="10m")
    speak(place, read_clock() - jump - MINUTE)
    reports: list[PassReport] = []
    station = open_station()
    rounds = Rounds(station, reports.append, lambda: None)
    look = _read_clocks()
    rounds._clocks = Clocks(look.wall - jump, look.steady)

    rounds.make_pass()
    rounds.make_pass()

    assert [report.skipped for report in reports] == [{"active": 1}] * 2
    assert not server.requests
    late = Rounds(station, reports.append, lambda: None)
    late.make_pass()  # one that has seen no leap takes the clock at its word
    assert reports[-1].skipped == {}
    station.release()


@pytest.mark.parametrize("jump", [HOUR, -HOUR, DAY, -DAY], ids=str)
def test_the_schedule_goes_on_after_a_jump(
    jump: timedelta, place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    """The next pass is at most one interval ahead, and the jump is told."""
    place.configure(idle='scan_every = "10m"', log='format = "json"')
    station = open_station()
    station.setup.start_log()
    worker = Worker(station, Notifier(None), watchdog=None, tell=lambda _: None)
    worker._scheduler.start(timedelta(days=30))
    capsys.readouterr()

    worker._follow_clock(Clocks(read_clock() - jump, time.monotonic()))

    next_run = worker._scheduler.next_run
    worker._stop()
    assert next_run is not None
    assert next_run - read_clock() <= 10 * MINUTE
    told = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert {"clock_set": round(jump.total_seconds())} in [
        {line["event"]: line.get("by_seconds")} for line in told
    ]
