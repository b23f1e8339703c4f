"""Durations as people write and read them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from compactor.durations import parse_duration, parse_duration_or_off, say_span, spell_span


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("30s", timedelta(seconds=30)),
        ("10m", timedelta(minutes=10)),
        (" 1.5h ", timedelta(minutes=90)),
        ("2 d", timedelta(days=2)),
    ],
)
def test_a_number_and_a_unit_are_a_duration(text: str, span: timedelta) -> None:
    """Seconds, minutes, hours and days are known."""
    assert parse_duration(text) == span


@pytest.mark.parametrize(
    "value",
    ["", "10", "m", "10 minutes", "-5m", "1e3s", "10M", "٣m", "1h30m", "off", 600, None, True],
)
def test_anything_else_is_refused_with_an_example(value: object) -> None:
    """What can't be read is not guessed at."""
    with pytest.raises(ValueError, match='for example "10m"'):
        parse_duration(value)


@pytest.mark.parametrize("text", ["0s", "0d", "0.00000001s"])
def test_nothing_is_no_duration(text: str) -> None:
    """A session would be idle the moment somebody spoke."""
    with pytest.raises(ValueError, match="more than nothing"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["99999999999d", "9" * 400 + "s"])
def test_a_duration_beyond_all_calendars_is_refused(text: str) -> None:
    """An overflow is a fault of the configuration and no crash."""
    with pytest.raises(ValueError, match="longer than can be reckoned"):
        parse_duration(text)


def test_off_is_no_duration_where_it_is_allowed() -> None:
    """A TTL can be switched off."""
    assert parse_duration_or_off("off") is None
    assert parse_duration_or_off("2h") == timedelta(hours=2)
    with pytest.raises(ValueError, match='for example "10m", or "off"'):
        parse_duration_or_off("never")


@pytest.mark.parametrize(
    ("span", "said"),
    [
        (timedelta(0), "0s"),
        (timedelta(seconds=0.9), "0s"),
        (timedelta(seconds=42), "42s"),
        (timedelta(seconds=60), "1m"),
        (timedelta(seconds=90), "90s"),
        (timedelta(seconds=599), "9m"),
        (timedelta(hours=1), "1h"),
        (timedelta(minutes=90), "90m"),
        (timedelta(hours=25), "25h"),
        (timedelta(days=5, hours=3), "5d"),
    ],
)
def test_a_span_is_said_in_one_unit(span: timedelta, said: str) -> None:
    """The largest that still says enough, rounded down."""
    assert say_span(span) == said


@pytest.mark.parametrize("text", ["90s", "10m", "36h", "2d", "1.5s", "0.000001s", "61m", "86401s"])
def test_a_span_is_spelled_as_it_is_read(text: str) -> None:
    """Nothing is rounded, and the largest unit that fits is taken."""
    assert spell_span(parse_duration(text)) == text
