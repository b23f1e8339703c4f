"""Reading the times that agents write."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from compactor.instants import is_naive, read_instant

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    "value",
    [
        "2026-11-30T13:00:00",
        "2026-11-30 13:00:00.000",
        "2026-11-30T12:00:00Z",
        "2026-11-30T12:00:00+00:00",
        "2026-11-30T17:30:00+05:30",
    ],
)
def test_every_form_of_a_time_is_the_same_instant(value: str) -> None:
    """Naive times are taken in the zone that is given, others as they say."""
    assert read_instant(value, BERLIN) == datetime(2026, 11, 30, 12, tzinfo=UTC)


def test_an_instant_is_in_utc() -> None:
    """What is handed on has one zone."""
    moment = read_instant("2026-11-30T12:00:00+03:00", BERLIN)
    assert moment is not None
    assert moment.tzinfo is UTC


def test_of_an_hour_that_happened_twice_the_later_counts() -> None:
    """When the clock is set back, an active session must not look idle."""
    moment = read_instant("2026-10-25T02:30:00", BERLIN)
    assert moment == datetime(2026, 10, 25, 1, 30, tzinfo=UTC)


def test_of_an_hour_that_never_happened_the_later_reading_counts() -> None:
    """When the clock is set forward, too."""
    moment = read_instant("2026-03-29T02:30:00", BERLIN)
    assert moment == datetime(2026, 3, 29, 1, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        "yesterday",
        1_764_504_000,
        1_764_504_000.5,
        True,
        ["2026-11-30T12:00:00"],
        "2026-13-30T12:00:00",
        "2026-11-30T12:00:00\ud800",
        "\ud800",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
        "0001-01-01T00:00:00",
    ],
)
def test_what_is_no_time_is_no_instant(value: object) -> None:
    """Nonsense is told apart from a time, and never an error."""
    assert read_instant(value, ZoneInfo("Asia/Tokyo")) is None


@pytest.mark.parametrize(
    ("value", "naive"),
    [
        ("2026-11-30T12:00:00", True),
        ("2026-11-30T12:00:00Z", False),
        ("2026-11-30T12:00:00+01:00", False),
        ("soon", False),
        (None, False),
    ],
)
def test_a_time_without_an_offset_is_naive(value: object, naive: bool) -> None:
    """Only such a time depends on a zone."""
    assert is_naive(value) is naive
