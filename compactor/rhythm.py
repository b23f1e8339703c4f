"""Does a session speak in a rhythm, as a heartbeat does? Then a TTL can't tell when it is idle.

Seen in the field: a heartbeat every 30 minutes and a TTL of 15, and its session was compacted after
each beat. With a TTL longer than the beat it never becomes idle, and grows for ever.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from compactor.durations import say_span
from compactor.idle import is_like
from compactor.instants import read_instant
from session.message import spoken_flags

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from compactor.model import IdlePolicy
    from session.store import SessionTail

_LEAST_GAPS = 5
_MOST_GAPS = 12  # older ones say nothing of today
_SLACK = 0.2  # of the period
_SHORTEST = timedelta(minutes=1)  # people who type are quicker, and seem as regular
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Rhythm:
    """The beat of a session that does not go with its TTL: what comes of it, and the way out."""

    key: str
    period: timedelta
    newest: datetime
    problem: str
    remedy: str


def find_period(times: Sequence[datetime]) -> timedelta | None:
    """Return the period in which somebody spoke lately at these times, None where there is none.

    The times are in order. One pause is forgiven: a machine was off, somebody was on holiday.
    """
    gaps = [later - earlier for earlier, later in pairwise(times)][-_MOST_GAPS:]
    if len(gaps) > _LEAST_GAPS and max(gaps) > (1 + _SLACK) * _middle(gaps):
        gaps.remove(max(gaps))
    if len(gaps) < _LEAST_GAPS:
        return None
    period = _middle(gaps)
    regular = all(abs(gap - period) <= _SLACK * period for gap in gaps)
    return period if regular and period >= _SHORTEST else None


def _middle(gaps: Sequence[timedelta]) -> timedelta:
    return timedelta(seconds=median(gap.total_seconds() for gap in gaps))


def find_rhythm(tail: SessionTail, policy: IdlePolicy) -> Rhythm | None:
    """Return the rhythm of a session that its TTL does not go with, None for any other.

    `tail` should hold all its messages: a scan reads no further back than to the last user message.
    """
    ref, ttl = tail.ref, policy.ttl_of(tail.ref)
    if ttl is None or any(is_like(ref.key, pattern) for pattern in policy.exclude):
        return None
    messages = tail.messages
    flags = spoken_flags(messages)
    said = [m for m, spoken in zip(messages, flags, strict=True) if spoken and m.role == "user"]
    newest = said[-_MOST_GAPS - 1 :]
    read = (read_instant(message.timestamp, policy.zone) for message in newest)
    times = [moment for moment in read if moment is not None]
    period = find_period(times)
    if period is None:
        return None
    beat = f"{ref.key!r} speaks every {say_span(period)} and its TTL is {say_span(ttl)}"
    outcome = (
        "it never becomes idle, so it is never compacted"
        if period < ttl
        else "it is compacted again and again, after each beat"
    )
    # With any TTL of its own it would be the one or the other.
    channel = ref.channel if _BARE_KEY.fullmatch(ref.channel) else _quote(ref.channel)
    remedy = f'add {_quote(ref.key)} to [idle] exclude, or set [idle.channels] {channel} = "off"'
    return Rhythm(ref.key, period, times[-1], f"{beat}: {outcome}", remedy)


def warn_of_rhythm(tail: SessionTail, policy: IdlePolicy) -> str | None:
    """Return what is wrong with the TTL of a session that speaks in a rhythm, with the way out."""
    rhythm = find_rhythm(tail, policy)
    return None if rhythm is None else f"{rhythm.problem}; {rhythm.remedy}"


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
