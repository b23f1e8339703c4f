"""When a session is idle, and the first reason why it is not."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from freezegun import freeze_time

from compactor.idle import Look, select_idle, spoken_upto
from compactor.journal import SessionMemory
from compactor.model import IdlePolicy, Reason
from session.model import SessionRef
from session.store import SessionTail
from tests.compactor.builders import (
    NOW,
    REF,
    Row,
    agent,
    ago,
    automation,
    calls,
    command,
    delivery,
    hidden,
    idle_policy,
    messages_of,
    result,
    tail_of,
    user,
)

TTL = timedelta(minutes=10)
SECOND = timedelta(seconds=1)
DAY = timedelta(days=1)
BERLIN = ZoneInfo("Europe/Berlin")
NEW_YORK = ZoneInfo("America/New_York")


def exchange(span: timedelta = TTL) -> list[Row]:
    """Return a question and its answer, the latter that long ago."""
    return [user(timestamp=ago(span + SECOND)), agent(timestamp=ago(span))]


def reason_of(
    tail: SessionTail,
    policy: IdlePolicy | None = None,
    memory: SessionMemory | None = None,
    **options: Any,
) -> Reason:
    """Return the verdict's word."""
    known = memory or SessionMemory()
    now = options.pop("now", NOW)
    return select_idle(tail, known, policy or idle_policy(), now=now, **options).reason


def test_exactly_the_ttl_is_due() -> None:
    """One second less is active."""
    assert reason_of(tail_of(*exchange(TTL))) is Reason.DUE
    assert reason_of(tail_of(*exchange(TTL - SECOND))) is Reason.ACTIVE


def test_the_verdict_is_of_the_moment_that_is_given() -> None:
    """No clock is read: under a frozen one, `now` decides alone."""
    tail = tail_of(*exchange(TTL))
    with freeze_time("2001-01-01"):
        assert reason_of(tail) is Reason.DUE
        assert reason_of(tail, now=NOW - SECOND) is Reason.ACTIVE


def test_an_active_session_says_how_idle_it_is() -> None:
    """An operator reads the figures."""
    verdict = select_idle(tail_of(*exchange(TTL - SECOND)), SessionMemory(), idle_policy(), now=NOW)
    assert verdict.detail == "idle for 9m, the TTL is 10m"


@pytest.mark.parametrize(
    ("written", "zone"),
    [
        ("2026-11-30T11:50:00Z", NEW_YORK),
        ("2026-11-30T06:50:00-05:00", BERLIN),
        ("2026-11-30T12:50:00", BERLIN),
        ("2026-11-30 06:50:00.000", NEW_YORK),
    ],
)
def test_every_form_of_a_time_counts_in_its_zone(written: str, zone: ZoneInfo) -> None:
    """Naive times are of the zone in the configuration, others of their own."""
    tail = tail_of(user(timestamp=written), agent(timestamp=written))
    assert reason_of(tail, idle_policy(zone=zone)) is Reason.DUE
    assert reason_of(tail, idle_policy(zone=zone), now=NOW - SECOND) is Reason.ACTIVE


def test_of_an_hour_that_happens_twice_the_later_counts() -> None:
    """When the clock is set back, nobody is cut off an hour early."""
    tail = tail_of(user(timestamp="2026-10-25T02:30:00"), agent(timestamp="2026-10-25T02:30:00"))
    policy = idle_policy(zone=BERLIN)
    for minute, reason in ((20, Reason.ACTIVE), (40, Reason.DUE)):
        now = datetime(2026, 10, 25, 1, minute, tzinfo=UTC)
        assert reason_of(tail, policy, now=now) is reason


@pytest.mark.parametrize("written", [None, "", "soon", 1_764_504_000, "2026-99-01T00:00:00"])
def test_an_unreadable_time_is_told_and_never_due(written: object) -> None:
    """With force too, and ahead of every other reason."""
    tail = tail_of(user(timestamp=ago(DAY)), agent(timestamp=written))
    assert reason_of(tail) is Reason.UNREADABLE
    assert reason_of(tail, idle_policy(ttl=None), force=True) is Reason.UNREADABLE


def test_a_missing_time_is_unreadable() -> None:
    """Nothing is guessed from the messages around it."""
    assert reason_of(tail_of(user(timestamp=ago(DAY)), agent())) is Reason.UNREADABLE


def test_a_time_ahead_of_now_is_active() -> None:
    """And the operator is told that a clock is wrong."""
    tail = tail_of(*exchange(-timedelta(hours=2)))
    verdict = select_idle(tail, SessionMemory(), idle_policy(), now=NOW)
    assert verdict.reason is Reason.ACTIVE
    assert verdict.detail == "its newest time is ahead of now by 2h"


@pytest.mark.parametrize(
    "rows",
    [
        [automation(), agent("heartbeat ok")],
        [automation(), calls("1"), result("1"), agent("done")],
        [{"role": "user", "content": "tick", "cron_job_id": "daily"}, agent("tock")],
        [delivery()],
        [agent("ping", _channel_delivery=True)],
        [command(), agent("status: fine", _command=True)],
        [hidden()],
        [{"content": "an object without a role"}],
    ],
)
def test_what_nobody_said_is_no_activity(rows: list[Row]) -> None:
    """Timers with their unmarked answers, deliveries, commands and markers leave it idle."""
    fresh = [data | {"timestamp": ago(SECOND)} for data in rows]
    tail = tail_of(*exchange(), *fresh)
    assert reason_of(tail) is Reason.DUE
    assert Look(tail, SessionMemory(), idle_policy(), NOW).since == NOW - TTL
    assert spoken_upto(tail.messages) == 2


def test_a_user_who_speaks_after_a_timer_is_active() -> None:
    """The timer's turn ends where the user's begins."""
    tail = tail_of(automation(timestamp=ago(DAY)), user(timestamp=ago(SECOND)))
    assert reason_of(tail) is Reason.ACTIVE


def test_neither_the_header_nor_the_file_is_activity() -> None:
    """Routing, flushes and restores move them."""
    tail = replace(tail_of(*exchange(), updated_at=ago(SECOND)), modified=NOW)
    assert reason_of(tail) is Reason.DUE


def keyed(key: str, *rows: Row) -> SessionTail:
    """Return a session with another key."""
    return replace(tail_of(*rows), ref=SessionRef("/sessions", "sessions", key))


def test_a_channel_has_a_ttl_of_its_own() -> None:
    """Longer, shorter or off."""
    policy = idle_policy(channels={"telegram": 2 * TTL, "cli": None})
    assert reason_of(keyed("telegram:1", *exchange()), policy) is Reason.ACTIVE
    assert reason_of(keyed("telegram:1", *exchange(2 * TTL)), policy) is Reason.DUE
    assert reason_of(keyed("slack:1", *exchange()), policy) is Reason.DUE
    assert reason_of(keyed("cli:1", *exchange(DAY)), policy) is Reason.OFF


def test_a_ttl_that_is_off_leaves_all_channels_alone_but_those_that_have_one() -> None:
    """`off` is a default like any other."""
    policy = idle_policy(ttl=None, channels={"telegram": TTL})
    assert reason_of(keyed("slack:1", *exchange(DAY)), policy) is Reason.OFF
    assert reason_of(keyed("slack:1", *exchange(DAY)), policy, force=True) is Reason.OFF
    assert reason_of(keyed("telegram:1", *exchange()), policy) is Reason.DUE


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("dream:2026", Reason.EXCLUDED),
        ("heartbeat", Reason.EXCLUDED),
        ("cron:daily:1", Reason.EXCLUDED),
        ("Dream:2026", Reason.DUE),
        ("slack:[a]7", Reason.EXCLUDED),
        ("slack:a7", Reason.DUE),
        ("my:cron:daily", Reason.DUE),
    ],
)
def test_a_key_like_a_pattern_is_excluded(key: str, reason: Reason) -> None:
    """`*` and `?` are special, and nothing else is; with force too."""
    policy = idle_policy(exclude=("dream:*", "heartbeat*", "cron:*", "slack:[a]?"))
    assert reason_of(keyed(key, *exchange()), policy) is reason
    assert reason_of(keyed(key, *exchange(SECOND)), policy, force=True) is reason


# A zone that nobody named, and times that say otherwise.


def flushed(age: timedelta, gap: timedelta, **fields: Any) -> SessionTail:
    """Return a session whose file is `age` old, its newest time being `gap` older."""
    return replace(tail_of(*exchange(age + gap), **fields), modified=NOW - age)


GUESSED = idle_policy(zone_is_local=True)


@pytest.mark.parametrize(
    ("gap", "reason"),
    [
        (timedelta(hours=2), Reason.ACTIVE),
        (timedelta(hours=5, minutes=45), Reason.ACTIVE),
        (timedelta(hours=5, minutes=30, seconds=119), Reason.ACTIVE),
        (timedelta(hours=5, minutes=28, seconds=1), Reason.ACTIVE),
        (timedelta(hours=5, minutes=32), Reason.ACTIVE),
        (timedelta(hours=14), Reason.ACTIVE),
        (timedelta(hours=14, minutes=2), Reason.ACTIVE),
        (timedelta(minutes=15), Reason.ACTIVE),
        (timedelta(hours=5, minutes=32, seconds=1), Reason.DUE),
        (timedelta(hours=5, minutes=27, seconds=59), Reason.DUE),
        (timedelta(hours=14, minutes=15), Reason.DUE),
        (timedelta(minutes=12), Reason.DUE),
    ],
)
def test_a_fresh_file_with_times_of_another_zone_is_active(gap: timedelta, reason: Reason) -> None:
    """Whole quarters of an hour, two minutes more or less, are what zones differ by."""
    assert reason_of(flushed(SECOND, gap), GUESSED) is reason


def test_the_veto_of_the_file_ends_with_the_ttl() -> None:
    """Nanobot's flush at shutdown delays a session by one TTL and no more."""
    gap = timedelta(hours=3)
    assert reason_of(flushed(TTL - SECOND, gap), GUESSED) is Reason.ACTIVE
    assert reason_of(flushed(TTL, gap), GUESSED) is Reason.DUE
    assert reason_of(flushed(-timedelta(hours=1), gap), GUESSED) is Reason.DUE


def test_a_fresh_file_with_fresh_times_is_no_wrong_zone() -> None:
    """The usual case: the file was written when its newest message came."""
    assert reason_of(flushed(TTL - 2 * SECOND, 2 * SECOND), GUESSED) is Reason.DUE


def test_a_zone_in_the_configuration_is_believed() -> None:
    """Then the file's own time is never read."""
    assert reason_of(flushed(SECOND, timedelta(hours=2))) is Reason.DUE


def test_times_with_an_offset_are_in_no_wrong_zone() -> None:
    """They do not depend on the configuration."""
    gap = timedelta(hours=2)
    rows = [row | {"timestamp": f"{row['timestamp']}Z"} for row in exchange(gap)]
    tail = replace(tail_of(*rows, updated_at=ago(gap)), modified=NOW)
    assert reason_of(tail, GUESSED) is Reason.DUE


def test_the_newest_naive_time_is_compared_whoever_wrote_it() -> None:
    """A save that moved `updated_at` too shows that the zone is right."""
    gap = timedelta(hours=2)
    assert reason_of(flushed(SECOND, gap, updated_at=ago(SECOND)), GUESSED) is Reason.DUE
    assert reason_of(flushed(SECOND, gap, updated_at=ago(gap)), GUESSED) is Reason.ACTIVE


def test_force_overrules_the_ttl_and_the_veto() -> None:
    """The operator knows better."""
    assert reason_of(tail_of(*exchange(SECOND)), force=True) is Reason.DUE
    assert reason_of(flushed(SECOND, timedelta(hours=2)), GUESSED, force=True) is Reason.DUE


def test_the_messages_of_a_scan_are_those_of_a_load() -> None:
    """Where only the end is known, nobody has counted, and `covered` is not asked."""
    tail = replace(tail_of(*exchange(), last_archived=2), first=None)
    assert reason_of(tail) is Reason.DUE
    assert reason_of(replace(tail, first=0)) is Reason.COVERED


def test_nobody_spoke_in_a_session_without_messages() -> None:
    """There is no activity, and nothing to do."""
    assert reason_of(tail_of()) is Reason.COVERED
    assert Look(tail_of(), SessionMemory(), idle_policy(), NOW).since is None
    assert spoken_upto(messages_of(hidden(), delivery())) == 0
    assert tail_of().ref == REF
