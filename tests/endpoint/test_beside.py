"""A worker beside everything else that works on the same sessions, in processes of their own."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from session.manager import SessionManager
from tests.end_to_end.support import Invoke, message_lines
from tests.endpoint.running import PATIENCE, Worker
from tests.endpoint.server import Server
from tests.endpoint.support import OTHERS, SHORT, Place
from tests.endpoint.test_run import configure

STEMS = (SHORT, *OTHERS)
FREE = "per_session_per_day = 100000\ncalls_per_hour = 100000"
FAST = 'scan_every = "0.05s"'


def talk(manager: SessionManager, key: str, number: int) -> None:
    """Have a whole turn in a session, long ago, and save it."""
    at = (datetime(2026, 6, 1) + timedelta(minutes=number)).isoformat()  # noqa: DTZ001 - as agents do
    session = manager.get_or_create(key)
    session.add_message("user", f"question {number} " * 20, timestamp=at)
    session.add_message("assistant", f"answer {number} " * 20, timestamp=at)
    manager.save(session)


def said_in(path: Path) -> list[str]:
    """What an agent of ours said in a session, in order."""
    rows = [json.loads(line) for line in message_lines(path.read_bytes()) if line]
    return [f"{row['role']} {row['content'].split()[1]}" for row in rows if is_ours(row)]


def is_ours(row: dict[str, object]) -> bool:
    """Whether `talk` said it."""
    return str(row.get("timestamp")).startswith("2026-06")


@contextmanager
def at_work(place: Place) -> Iterator[Worker]:
    """Run a worker that looks all the time, and wait at the end until it has nothing to do."""
    configure(place, idle=FAST, limits=FREE)
    with Worker(place.folder) as worker:
        worker.wait_for("pass_finished")
        yield worker
        worker.wait_for_passes(3)
        assert worker.stop() == 0


def check_peace(place: Place, server: Server, *, turns: int) -> None:
    """Nothing is lost or doubled, nothing was paid for twice, and nothing is left to do."""
    wanted = [f"{role} {n}" for n in range(turns) for role in ("user", "assistant")]
    for stem in STEMS:
        assert said_in(place.path(stem)) == wanted
    calls = place.journal("SELECT coalesce(sum(calls), 0) FROM ledger")[0][0]
    assert calls == len(server.requests)
    outcome, counts = place.journal("SELECT outcome, counts FROM pass ORDER BY id DESC LIMIT 1")[0]
    assert outcome == "done"
    assert json.loads(counts)["due"] == 0
    assert not list((place.sessions / ".compactor").glob("*.tmp"))


def play(place: Place, server: Server, spawn: Invoke, *, turns: int, commands: int) -> None:
    """Let an agent talk in all sessions while a worker, `once` and `undo` are at them."""
    place.add(*STEMS)
    faults: list[BaseException] = []

    def be_agent() -> None:
        try:
            with SessionManager(place.sessions) as manager:
                for number in range(turns):
                    for stem in STEMS:
                        talk(manager, keys[stem], number)
        except BaseException as error:  # noqa: BLE001 - told to the test
            faults.append(error)

    keys = {stem: place.key(stem) for stem in STEMS}
    with at_work(place) as worker:
        agent = threading.Thread(target=be_agent)
        agent.start()
        for at in range(commands):
            once = spawn("once", cwd=place.folder)
            undo = spawn("undo", keys[STEMS[at % len(STEMS)]], cwd=place.folder)
            assert once.code == 75, once.err
            # A conflict (3) leaves what stands, and whoever typed it is told.
            assert undo.code in {0, 2, 3}, undo.err
        agent.join(PATIENCE)
        assert not agent.is_alive()
        assert not faults, faults
        assert not worker.count("pass_failed")
    check_peace(place, server, turns=turns)


def test_an_agent_an_undo_and_a_second_worker_beside_a_worker(
    bare: Place, server: Server, spawn: Invoke
) -> None:
    """Nobody loses a word, nobody pays twice, and in the end all is quiet."""
    play(bare, server, spawn, turns=10, commands=1)


@pytest.mark.soak
def test_for_long(bare: Place, server: Server, spawn: Invoke) -> None:
    """The same with hundreds of turns and dozens of commands."""
    play(bare, server, spawn, turns=400, commands=40)
    done = bare.journal("SELECT outcome, count(*) FROM ledger GROUP BY outcome")
    print(dict(done), len(server.requests), "requests")  # noqa: T201 - quoted


def test_of_two_workers_one_works(place: Place, server: Server) -> None:
    """Both start at the same moment on the same folder, under two names; one is told to wait."""
    configure(place)
    (place.folder / "link").symlink_to(place.sessions)
    with Worker(place.folder) as one, Worker(place.folder, "--store", "jsonl:link") as other:
        deadline = threading.Event()
        while one.process.poll() is None and other.process.poll() is None:
            assert not deadline.wait(0.05)
        loser, winner = (one, other) if one.process.poll() is not None else (other, one)
        assert loser.wait() == 75
        winner.wait_for("session_compacted")
        assert winner.stop() == 0
    assert len(server.requests) == 1
