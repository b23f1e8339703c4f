"""The TTL: is anything ever due, and are there sessions whose rhythm it does not go with?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compactor.checks.finding import Said, ok, warn
from compactor.durations import spell_span
from compactor.rhythm import find_rhythm

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime, timedelta

    from compactor.model import IdlePolicy
    from session.store import SessionTail

_NAMED = 3  # sessions; the others are counted
_MISSED = 3  # beats after which a rhythm has ended


def check_ttl(ttl: timedelta | None, channels: Mapping[str, timedelta | None]) -> Said:
    """Say which TTL holds; a worker for which all of them are off does nothing."""
    if not any([ttl, *channels.values()]):
        remedy = 'set [idle] ttl = "10m", or the TTL of a channel in [idle.channels]'
        return warn("every TTL is off, so no session is ever compacted", remedy)
    of_channels = [f"{name} {_say(span)}" for name, span in channels.items()]
    return ok(f"the TTL is {', '.join([_say(ttl), *of_channels])}")


def _say(ttl: timedelta | None) -> str:
    return "off" if ttl is None else spell_span(ttl)


def check_rhythm(tails: Iterable[SessionTail], policy: IdlePolicy, now: datetime) -> Said:
    """Look for sessions that beat like a clock, and still do."""
    found = [rhythm for tail in tails if (rhythm := find_rhythm(tail, policy)) is not None]
    beating = [one for one in found if now - one.newest <= _MISSED * one.period]
    if not beating:
        return ok("no session speaks in a rhythm that the TTL does not go with")
    told = [rhythm.problem for rhythm in beating[:_NAMED]]
    remedies = [rhythm.remedy for rhythm in beating[:_NAMED]]
    more = len(beating) - _NAMED
    if more > 0:
        told.append(f"and so do {more} more")
    return warn("\n".join(told), "\n".join(remedies))
