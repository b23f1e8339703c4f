"""Whether a session in nanobot's memory may take over what its file says: a table of values."""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import Any

import pytest

from session.nanobot_adoption import Ruling, Side, Written, rule_on
from tests.session.live_nanobot import EMPTY, OTHER, OURS, THEN


def test_only_the_projection_in_the_file_may_move() -> None:
    """The session is as it was, nobody talks, and memory said what the file said."""
    assert rule(Side(OURS, THEN)) is Ruling.ADOPT


def test_a_projection_that_was_taken_back_is_adopted_too() -> None:
    """An undo is a move like any other."""
    assert rule(Side(EMPTY, THEN), Side(OURS, THEN), agreed=OURS) is Ruling.ADOPT


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"file": Side(EMPTY, THEN)}, Ruling.SAME),
        ({"memory": Side(OTHER, THEN)}, Ruling.MEMORY_MOVED),
        ({"agreed": None}, Ruling.MEMORY_MOVED),
        ({"agreed": OTHER}, Ruling.MEMORY_MOVED),
        ({"file": Side(OURS, THEN + timedelta(microseconds=1))}, Ruling.SPOKEN),
        ({"file": Side(OURS, THEN.replace(tzinfo=UTC))}, Ruling.SPOKEN),
        ({"file": Side(OURS, None)}, Ruling.SPOKEN),
        ({"is_busy": True}, Ruling.BUSY),
        ({"unasked_seconds": 4.9}, Ruling.JUST_ASKED),
        ({"message_count": 3}, Ruling.BEYOND),
    ],
)
def test_in_every_doubt_memory_stands(changed: dict[str, Any], expected: Ruling) -> None:
    """Whatever else moved, the worker applies its entry again later."""
    assert rule(**changed) is expected


def rule(
    file: Side = Side(OURS, THEN),  # noqa: B008 - a value
    memory: Side = Side(EMPTY, THEN),  # noqa: B008 - a value
    *,
    agreed: Written | None = EMPTY,
    message_count: int = 4,
    is_busy: bool = False,
    unasked_seconds: float = 5.0,
) -> Ruling:
    """Ask, with everything as it should be but for what a test changes."""
    return rule_on(
        file,
        memory,
        agreed=agreed,
        message_count=message_count,
        is_busy=is_busy,
        unasked_seconds=unasked_seconds,
    )
