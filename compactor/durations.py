"""Durations as people write them: a number and s, m, h or d."""

from __future__ import annotations

import re
from datetime import timedelta

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_FORM = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd])", re.ASCII)


def parse_duration(value: object) -> timedelta:
    """Return the duration that `10m` or `1.5h` says; raises `ValueError` for anything else.

    No duration is as short as nothing: a session would be idle the moment somebody spoke.
    """
    match = _FORM.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        message = 'expected a number and s, m, h or d, for example "10m"'
        raise ValueError(message)
    number, unit = match.groups()
    try:
        span = timedelta(**{_UNITS[unit]: float(number)})
    except OverflowError:
        message = "this is longer than can be reckoned with"
        raise ValueError(message) from None
    if not span:
        message = "expected more than nothing"
        raise ValueError(message)
    return span


def parse_duration_or_off(value: object) -> timedelta | None:
    """Return the duration, or None for `off`; raises `ValueError` for anything else."""
    if value == "off":
        return None
    try:
        return parse_duration(value)
    except ValueError as error:
        message = f'{error}, or "off"'
        raise ValueError(message) from None


def say_span(span: timedelta) -> str:
    """Return a span for a person, in one unit, rounded down: `42s`, `7m`, `3h`, `5d`."""
    seconds = int(span.total_seconds())
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= 2 * size or (seconds and seconds % size == 0):
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def spell_span(span: timedelta) -> str:
    """Return a span as `parse_duration` reads it, exactly: `90s`, `10m`, `1.5s`."""
    for unit, name in reversed(_UNITS.items()):
        size = timedelta(**{name: 1})
        if not span % size:
            return f"{span // size}{unit}"
    return f"{span.total_seconds():f}".rstrip("0") + "s"
