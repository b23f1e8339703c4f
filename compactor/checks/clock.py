"""The clock and the zone, against the newest session: do its times and ours go together?"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from compactor.checks.finding import Said, fail, ok, warn
from compactor.durations import say_span
from compactor.idle import find_zone_gap
from compactor.instants import read_instant

if TYPE_CHECKING:
    from datetime import datetime

    from compactor.errors import ConfigError
    from compactor.model import IdlePolicy
    from session.store import SessionTail

_SLACK = timedelta(minutes=2)  # clocks of two machines differ by some seconds
_HOUR = timedelta(hours=1)


def tell_no_zone(error: ConfigError) -> Said:
    """Say that the zone of this machine has no meaning."""
    told = "\n".join(error.faults)
    remedy = 'unset TZ or name a zone in it, or set [store] timezone = "UTC" or another zone'
    return fail(told, remedy, exit_code=error.exit_code)


def check_clock(newest: SessionTail | None, policy: IdlePolicy, now: datetime) -> Said:
    """Compare the newest times of the session that was written last with now, and its file's."""
    zone = f"times without an offset are in {policy.zone}"
    newest_time = None if newest is None else _find_newest(newest, policy)
    if newest is None or newest_time is None:
        return ok(f"{zone}; no session tells of its agent's clock")
    key = newest.ref.key
    gap = find_zone_gap(newest, policy.zone)
    ahead = newest_time - now
    if ahead > _SLACK:
        told = f"{key!r} was written at a time that is ahead of now by {say_span(ahead)}"
        if gap is not None and gap < timedelta():
            return warn(f"{told}: its agent runs in another zone", _name_zone(gap, policy, now))
        set_it = "set the agent's clock, or ours, so that both tell the same time; "
        zoned = "or name the agent's zone in [store] timezone"
        return warn(f"{told}: now is {now.isoformat(timespec='seconds')}", set_it + zoned)
    if policy.zone_is_local and gap is not None:
        side = "later" if gap > timedelta() else "earlier"
        told = f"the file of {key!r} was written {say_span(abs(gap))} {side} than it says"
        return warn(f"{told}: its agent runs in another zone", _name_zone(gap, policy, now))
    return ok(f"{zone}; the newest session goes with that")


def _find_newest(tail: SessionTail, policy: IdlePolicy) -> datetime | None:
    """Return the newest time in a session."""
    written = [tail.header.updated_at, *(message.timestamp for message in tail.messages)]
    known = (read_instant(value, policy.zone) for value in written)
    return max((moment for moment in known if moment is not None), default=None)


def _name_zone(gap: timedelta, policy: IdlePolicy, now: datetime) -> str:
    """Say what to set where the file's time is ahead of what the agent wrote by `gap`."""
    ours = now.astimezone(policy.zone).utcoffset() or timedelta()
    offset = ours - gap
    if offset % _HOUR:
        return "name the agent's zone in [store] timezone"
    hours = offset // _HOUR
    # These names count the other way round: Etc/GMT-2 is two hours ahead of UTC.
    name = f"Etc/GMT{-hours:+d}" if hours else "UTC"
    told = f'set [store] timezone = "{name}", or to the name of the agent\'s zone'
    return f'{told}, such as "Europe/Berlin"'
