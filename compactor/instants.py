"""Reading the times that agents write: ISO 8601, with an offset or naive and local."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import tzinfo


def read_instant(value: object, zone: tzinfo) -> datetime | None:
    """Return the instant in UTC, or None where `value` is no time that can be read.

    A naive time is taken in `zone`; where the clock was set back and it happened twice, the later
    one counts, since an active session must not look idle.
    """
    moment = _parse(value)
    if moment is None:
        return None
    try:
        if moment.tzinfo is not None:
            return moment.astimezone(UTC)
        return max(moment.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    except (ValueError, OverflowError):  # the first and the last day that can be written
        return None


def is_naive(value: object) -> bool:
    """Whether `value` is a time without an offset."""
    moment = _parse(value)
    return moment is not None and moment.tzinfo is None


def _parse(value: object) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return None
