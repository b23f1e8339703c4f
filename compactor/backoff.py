"""How long a session that failed is left alone: longer each time, and never for ever."""

from __future__ import annotations

from datetime import datetime, timedelta
from hashlib import sha256

FIRST = timedelta(minutes=5)
LONGEST = timedelta(hours=24)
_JITTER = 0.2  # share by which the delays of sessions that failed together are spread


def next_try(key: str, failures: int, *, now: datetime) -> datetime:
    """Return when to try again after `failures` earlier failures in a row."""
    delay = min(FIRST * float(2 ** min(failures, 16)), LONGEST)
    spread = sha256(f"{key}\n{failures}".encode("utf-8", "surrogatepass")).digest()[0] / 255
    return now + delay * (1 - _JITTER * spread)


def is_waiting(until: datetime | None, *, now: datetime, longest: timedelta = LONGEST) -> bool:
    """Whether the time to try again is still to come.

    One that is farther away than the longest delay was reckoned by a clock that was ahead, and set
    back since: it says nothing.
    """
    return until is not None and now < until <= now + longest
