"""A halt: nothing new is begun, what is under way may go on for a while, and then nothing does."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest

from compactor.halt import OVER, Halt

NEVER, AT_ONCE = timedelta(hours=1), timedelta(0)
PATIENCE = 20.0


def test_without_a_reason_work_goes_on() -> None:
    """A pass that ends by itself is never given up."""
    halt, given_up = Halt(), threading.Event()

    with halt.watching(NEVER, AT_ONCE, given_up.set):
        assert not halt.reason

    assert not halt.reason
    assert not given_up.is_set()


def test_a_deadline_that_is_over_is_a_reason_and_ends_what_is_under_way() -> None:
    """First nothing new is begun, then calls are given up."""
    halt, given_up = Halt(), threading.Event()

    with halt.watching(AT_ONCE, AT_ONCE, given_up.set):
        assert given_up.wait(PATIENCE)

    assert halt.reason == OVER


def test_what_is_under_way_has_its_grace_period() -> None:
    """A pass that ends within it is not given up."""
    halt, given_up = Halt(), threading.Event()

    with halt.watching(NEVER, NEVER, given_up.set):
        halt.request("the worker is stopping")

    assert not given_up.is_set()


def test_the_first_reason_is_told() -> None:
    """Who stops the worker while a pass is over its deadline hears of the deadline."""
    halt = Halt()
    halt.request("first")
    halt.request("second")

    assert halt.reason == "first"


def test_an_error_ends_the_watch() -> None:
    """No thread is left behind, whatever becomes of the pass."""
    before = threading.active_count()

    with pytest.raises(ZeroDivisionError), Halt().watching(NEVER, NEVER, lambda: None):
        raise ZeroDivisionError

    assert threading.active_count() == before
