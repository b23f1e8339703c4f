"""What the watchdog hears: passes progress, whatever the clock on the wall does."""

from __future__ import annotations

from datetime import timedelta

import pytest

from compactor.model import PassPolicy
from compactor.pulse import MARGIN, Clocks, is_fresh
from tests.compactor.builders import NOW

POLICY = PassPolicy(
    concurrency=4, sessions=10, deadline=timedelta(minutes=30), grace=timedelta(seconds=10)
)
LONGEST = POLICY.deadline + POLICY.grace + MARGIN
A_LITTLE, DAY = timedelta(seconds=1), timedelta(days=1)


@pytest.mark.parametrize(
    ("running_for", "due_in", "fresh"),
    [
        (timedelta(0), -DAY, True),
        (LONGEST - A_LITTLE, -DAY, True),  # a long pass is no stuck one
        (LONGEST, DAY, False),  # all in it was given up, and still it does not end
        (None, A_LITTLE, True),
        (None, -MARGIN + A_LITTLE, True),  # a slow machine
        (None, -MARGIN, False),  # nobody begins it
        (None, None, False),  # nobody will
    ],
)
def test_a_worker_is_alive_while_passes_begin_and_end(
    running_for: timedelta | None, due_in: timedelta | None, fresh: bool
) -> None:
    """The one under way is within its time, or the next one is not overdue."""
    next_run = None if due_in is None else NOW + due_in
    assert is_fresh(POLICY, running_for=running_for, next_run=next_run, now=NOW) is fresh


@pytest.mark.parametrize("jump", [timedelta(hours=1), -timedelta(hours=1), DAY, -DAY])
def test_a_clock_that_was_set_is_noticed(jump: timedelta) -> None:
    """In either direction, and by how much."""
    before = Clocks(NOW, 1000.0)
    assert Clocks(NOW + jump + A_LITTLE, 1001.0).has_jumped(before) == jump


@pytest.mark.parametrize("skew", [timedelta(0), A_LITTLE, -A_LITTLE, timedelta(seconds=4.9)])
def test_a_leap_second_is_no_jump(skew: timedelta) -> None:
    """Nor is a clock that is brought right little by little."""
    before = Clocks(NOW, 1000.0)
    assert Clocks(NOW + timedelta(seconds=60) + skew, 1060.0).has_jumped(before) is None
