"""A session that beats like a clock is told, whichever side of the beat its TTL is on."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from compactor.model import IdlePolicy
from compactor.rhythm import find_period, warn_of_rhythm
from session.model import SessionRef
from session.store import SessionTail
from tests.compactor.builders import NOW, agent, automation, idle_policy, tail_of, user

MINUTE = timedelta(minutes=1)
HALF_HOUR = 30 * MINUTE


def times_of(*gaps: float) -> list[datetime]:
    """Times that lie so many minutes apart."""
    times = [NOW - 7 * timedelta(days=1)]
    for gap in gaps:
        times.append(times[-1] + gap * MINUTE)
    return times


def session(*gaps: float, key: str = "telegram:42") -> SessionTail:
    """A session in which the user spoke at such times, and was answered at once."""
    rows = [
        row
        for moment in times_of(*gaps)
        for row in (user(timestamp=moment.isoformat()), agent(timestamp=moment.isoformat()))
    ]
    return replace(tail_of(*rows), ref=SessionRef("/sessions", "sessions", key))


REGULAR: dict[str, tuple[list[float], float | None]] = {
    "five gaps": ([30] * 5, 30),
    "four gaps": ([30] * 4, None),
    "a beat that shakes": ([30, 31, 28, 30, 33, 29], 30),
    "just within a fifth": ([30, 36, 30, 24, 30], 30),
    "just beyond": ([30, 36.1, 30, 24, 30], None),
    "a pause": ([30, 30, 30, 900, 30, 30], 30),
    "two pauses": ([30, 30, 900, 30, 900, 30, 30], None),
    "a pause among too few": ([30, 30, 900, 30, 30], None),
    "people": ([3, 1, 44, 600, 2, 5, 1, 90], None),
    "irregular long ago": ([1, 700, 3, *[30] * 12], 30),
    "as quick as typing": ([0.6] * 9, None),
    "a minute": ([1] * 9, 1),
    "all at once": ([0] * 9, None),
    "backwards": ([-30] * 9, None),
    "a day": ([1440] * 7, 1440),
    "nobody": ([], None),
}


@pytest.mark.parametrize("name", REGULAR)
def test_what_counts_as_a_rhythm(name: str) -> None:
    """At least five of the newest gaps, near to their middle; one pause is forgiven."""
    gaps, minutes = REGULAR[name]
    assert find_period(times_of(*gaps)) == (None if minutes is None else minutes * MINUTE)


def policy(ttl: timedelta | None, **changed: object) -> IdlePolicy:
    """A TTL, and nothing excluded."""
    return idle_policy(ttl=ttl, exclude=(), **changed)


@pytest.mark.parametrize(
    ("ttl", "words"),
    [
        (HALF_HOUR + MINUTE, "it never becomes idle, so it is never compacted"),
        (HALF_HOUR, "it is compacted again and again, after each beat"),
        (15 * MINUTE, "it is compacted again and again, after each beat"),
    ],
)
def test_either_side_of_the_beat_is_told(ttl: timedelta, words: str) -> None:
    """Exactly the TTL counts as idle, here as in a scan."""
    told = warn_of_rhythm(session(*[30] * 6), policy(ttl))
    assert told is not None
    assert told.startswith("'telegram:42' speaks every 30m and its TTL is ")
    assert words in told
    assert told.endswith(
        'add "telegram:42" to [idle] exclude, or set [idle.channels] telegram = "off"'
    )


def test_the_ttl_of_the_channel_counts() -> None:
    """And one that is off is nothing to warn about."""
    beating = session(*[30] * 6)
    assert "never" in str(
        warn_of_rhythm(beating, policy(MINUTE, channels={"telegram": 60 * MINUTE}))
    )
    assert warn_of_rhythm(beating, policy(MINUTE, channels={"telegram": None})) is None
    assert warn_of_rhythm(beating, policy(None)) is None


@pytest.mark.parametrize("pattern", ["telegram:42", "telegram:*"])
def test_an_excluded_session_is_not_told(pattern: str) -> None:
    """That is the way out."""
    assert (
        warn_of_rhythm(session(*[30] * 6), idle_policy(ttl=HALF_HOUR, exclude=(pattern,))) is None
    )


def test_the_advice_can_be_copied_whatever_the_key() -> None:
    """Keys and channels are quoted as TOML wants it."""
    told = warn_of_rhythm(session(*[30] * 6, key='my chat:"1"'), policy(HALF_HOUR))
    assert told is not None
    assert told.endswith(
        r'add "my chat:\"1\"" to [idle] exclude, or set [idle.channels] "my chat" = "off"'
    )


def test_people_and_timers_that_do_not_speak_are_not_told() -> None:
    """A turn that a timer began is no word of the user; one time that can't be read is left out."""
    beats = [moment.isoformat() for moment in times_of(*[30] * 6)]
    timers = [row for at in beats for row in (automation(timestamp=at), agent(timestamp=at))]
    assert warn_of_rhythm(tail_of(*timers), policy(HALF_HOUR)) is None
    assert warn_of_rhythm(session(3, 1, 44, 600, 2, 5), policy(HALF_HOUR)) is None
    odd = [user(timestamp="soon"), *(user(timestamp=at) for at in beats)]
    assert warn_of_rhythm(tail_of(*odd), policy(HALF_HOUR)) is not None
