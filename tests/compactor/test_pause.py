"""How long nobody is asked after a fault of the endpoint's account."""

from __future__ import annotations

from datetime import timedelta

from compactor.errors import AuthError
from compactor.model import PassReport
from compactor.pause import EndpointPause
from tests.compactor.builders import NOW

FAULT = AuthError("the key is refused")
BAD, GOOD = PassReport((), 1.0, FAULT), PassReport((), 1.0)


def test_before_any_fault_everybody_is_asked() -> None:
    """There is nothing to wait for."""
    assert EndpointPause().fault_at(NOW) is None


def test_the_pause_grows_up_to_an_hour_and_always_ends() -> None:
    """Ten faults in a row make no storm, and nobody is forgotten."""
    pause, now, lengths = EndpointPause(), NOW, []
    for _ in range(10):
        assert pause.fault_at(now) is None
        pause.note(BAD, now)
        begin = now
        while pause.fault_at(now) is FAULT:
            now += timedelta(seconds=30)
        lengths.append(now - begin)

    assert timedelta(minutes=3) < lengths[0] <= timedelta(minutes=5.5)
    assert lengths == sorted(lengths)
    assert timedelta(minutes=59) < lengths[-1] <= timedelta(hours=1, minutes=1)


def test_a_pass_without_the_fault_ends_the_pause() -> None:
    """The next fault is a first one again."""
    pause = EndpointPause()
    for _ in range(5):
        pause.note(BAD, NOW)
    assert not pause.note(GOOD, NOW)
    assert pause.fault_at(NOW) is None
    assert pause.note(BAD, NOW)
    assert pause.fault_at(NOW + timedelta(minutes=6)) is None
