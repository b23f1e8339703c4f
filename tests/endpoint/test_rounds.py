"""The passes of a worker at its end: whoever waits to begin is let through, and does nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import timedelta

import pytest

from compactor.rounds import Rounds
from compactor.setup import Setup
from compactor.station import Station
from tests.endpoint.running import PATIENCE
from tests.endpoint.server import Server
from tests.endpoint.support import Place

SOON = timedelta(seconds=PATIENCE)


@pytest.fixture
def rounds(place: Place) -> Iterator[Rounds]:
    """Rounds in a folder with a session that is due."""
    station = Station.open(Setup.load(None, None, as_json=False, verbose=False))
    station.hold()
    yield Rounds(station, lambda _: None, lambda: None)
    station.release()
    assert place.sessions.exists()


def test_a_pass_that_waits_to_begin_ends_with_the_worker(rounds: Rounds, server: Server) -> None:
    """It was called while the configuration changed; a thread that hangs would keep the process."""
    with rounds.between() as free:
        assert free
        late = threading.Thread(target=rounds.make_pass, daemon=True)
        late.start()
        ended: list[bool] = []
        end = threading.Thread(target=lambda: ended.append(rounds.end("stopping", SOON)))
        end.start()
    end.join(PATIENCE)
    late.join(PATIENCE)
    assert not late.is_alive()
    assert ended == [True]
    rounds.make_pass()
    assert len(server.requests) <= 1


def test_no_pass_begins_after_the_end(rounds: Rounds, server: Server) -> None:
    """However often the schedule calls."""
    assert rounds.end("stopping", SOON)
    late = threading.Thread(target=rounds.make_pass, daemon=True)
    late.start()
    late.join(PATIENCE)
    assert not late.is_alive()
    assert not server.requests
