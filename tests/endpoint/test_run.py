"""The worker beside an agent: sessions grow idle and are compacted, whatever comes and goes."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.support import Invoke, add_messages
from tests.endpoint.running import Worker
from tests.endpoint.server import Server, Step, answer, error
from tests.endpoint.support import OTHERS, SHORT, SHORT_KEY, Place

OFTEN = 'scan_every = "0.2s"'
JSON_LOG = 'format = "json"'


def configure(place: Place, **changed: Any) -> None:
    """Let it look often, and tell what it does in JSON."""
    place.configure(**{"idle": OFTEN, "log": JSON_LOG} | changed)


@contextmanager
def running(place: Place, *arguments: str, **changed: Any) -> Iterator[Worker]:
    """Run the worker in a folder."""
    configure(place, **changed)
    with Worker(place.folder, *arguments) as worker:
        worker.wait_for("worker_started")
        yield worker


def passes(place: Place) -> list[tuple[str, dict[str, int]]]:
    """What the journal says of each pass, the oldest first."""
    rows = place.journal("SELECT outcome, counts FROM pass ORDER BY id")
    return [(outcome, json.loads(counts)) for outcome, counts in rows]


def speak(path: Path) -> None:
    """Let somebody say something just now, and have an answer."""
    at = datetime.now(UTC).replace(tzinfo=None).isoformat()  # noqa: TID251 - as an agent would
    rows = [{"role": role, "content": "hm", "timestamp": at} for role in ("user", "assistant")]
    add_messages(path, *rows)


def test_a_session_that_grows_idle_is_compacted_at_the_next_look(
    place: Place, server: Server
) -> None:
    """It is `active` in every pass until the first one in which it is due; that one compacts it."""
    hidden = place.folder / "hidden"
    place.path().rename(hidden)
    with running(place, ttl="3s") as worker:
        worker.wait_for_passes(1)
        speak(hidden)
        hidden.rename(place.path())
        before = place.lines()
        worker.wait_for("session_compacted", key=SHORT_KEY)
        worker.wait_for_passes(1)
        assert worker.stop() == 0

    counts = [told for _, told in passes(place) if told["scanned"]]
    done = next(at for at, told in enumerate(counts) if told["compacted"])
    assert done >= 1
    assert all(told["active"] == 1 for told in counts[:done])
    assert all(told["due"] == 0 for told in counts[done + 1 :])
    assert place.lines() == before
    assert len(server.requests) == 1


def test_sessions_that_come_later_are_found(place: Place) -> None:
    """A new conversation needs no restart."""
    with running(place) as worker:
        worker.wait_for("session_compacted", key=SHORT_KEY)
        place.add(OTHERS[0])
        worker.wait_for("session_compacted", key=place.key(OTHERS[0]))


def test_files_that_vanish_and_come_back_disturb_no_pass(bare: Place) -> None:
    """An agent deletes and writes sessions while they are looked at; no pass fails."""
    bare.add(SHORT, *OTHERS)
    with running(bare, ttl="1h", idle='scan_every = "0.05s"') as worker:
        while worker.count("pass_finished") < 40:
            for stem in OTHERS:
                bare.path(stem).unlink()
            bare.add(*OTHERS)
        assert worker.stop() == 0
        assert not worker.count("pass_failed")
    assert {outcome for outcome, _ in passes(bare)} == {"done"}


def test_a_folder_that_goes_away_and_comes_back(place: Place) -> None:
    """While it is gone each pass says so; when it is back, all goes on."""
    elsewhere = place.folder / "elsewhere"
    with running(place) as worker:
        worker.wait_for("session_compacted")
        place.sessions.rename(elsewhere)
        failed = worker.wait_for("pass_failed", 2)
        assert "there is no such folder" in failed["detail"]
        elsewhere.rename(place.sessions)
        place.add(OTHERS[0])
        worker.wait_for("session_compacted", key=place.key(OTHERS[0]))
        assert worker.stop() == 0
    assert "failed" in {outcome for outcome, _ in passes(place)}


def test_a_second_worker_is_told_to_wait_and_readers_are_not(place: Place, invoke: Invoke) -> None:
    """`once` and `run` exit 75 between passes too; what only reads works, and so does `undo`."""
    with running(place, idle='scan_every = "1h"') as worker:
        worker.wait_for("pass_finished")
        assert invoke("once").code == 75
        assert invoke("run").code == 75
        assert invoke("scan", "--json").json["skipped"] == {"covered": 1}
        assert invoke("show", SHORT_KEY).code == 0
        assert invoke("undo", SHORT_KEY).code == 0
        assert invoke("status", "--json").json["running"] is True
        assert worker.stop() == 0
    assert invoke("status", "--json").json["running"] is False
    assert invoke("once").code == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_gives_up_calls_that_hang(bare: Place, server: Server, number: int) -> None:
    """Within the grace period it is gone; every file is whole, and nothing is half recorded."""
    bare.add(SHORT, *OTHERS)
    before = bare.files()
    server.play((Step.HANG,))
    with running(bare, timeout="1h", limits='grace = "0.3s"') as worker:
        server.wait_for(4)
        assert worker.stop(number) == 0
        assert worker.count("pass_halted", detail="the worker is stopping") == 1
        assert worker.count("worker_stopped") == 1
        assert not worker.said
    assert bare.files() == before
    assert bare.journal("SELECT count(*) FROM ledger UNION SELECT count(*) FROM answer") == [(0,)]
    assert passes(bare)[0][0] == "halted"
    assert passes(bare)[0][1]["stopped"] == 4


def test_a_stop_lets_calls_end_that_are_nearly_done(place: Place, server: Server) -> None:
    """What was paid for is used."""
    with server.holding(), running(place, limits='grace = "1m"') as worker:
        server.wait_for(1)
        worker.send(signal.SIGTERM)
        worker.wait_for("worker_stopping")
        server.release()
        assert worker.wait() == 0
    assert place.stamp() is not None


def test_a_second_signal_ends_it_at_once(place: Place, server: Server) -> None:
    """For an operator who is in a hurry: even the grace period is not waited for."""
    before = place.files()
    server.play((Step.HANG,))
    with running(place, timeout="1h", limits='grace = "1h"') as worker:
        server.wait_for(1)
        worker.send(signal.SIGTERM)
        while worker.process.poll() is None:
            worker.send(signal.SIGTERM)
        assert worker.wait() == -signal.SIGTERM
    assert place.files() == before


def test_a_killed_worker_blocks_nobody(bare: Place, server: Server) -> None:
    """The next one starts at once, and pays for nothing twice."""
    bare.add(SHORT, *OTHERS)
    with server.holding(), running(bare) as worker:
        server.wait_for(4)
        assert worker.stop(signal.SIGKILL) == -signal.SIGKILL
    server.play(answer())
    with running(bare) as worker:
        worker.wait_for("session_compacted", 4)
        assert worker.stop() == 0
    assert len(server.requests) == 8


def test_a_fault_of_the_account_is_not_met_again_each_second(place: Place, server: Server) -> None:
    """The worker goes on, says what is wrong, and asks later; a reload lets it ask at once."""
    server.play(error(401))
    with running(place) as worker:
        stopped = worker.wait_for("pass_stopped")
        assert "api_key_env" in stopped["detail"]
        worker.wait_for_passes(5)
        assert worker.count("pass_stopped") == 1
        assert len(server.requests) == 1
        server.play(answer())
        worker.send(signal.SIGHUP)
        worker.wait_for("session_compacted")
        assert worker.stop() == 0
    assert passes(place)[0][0] == "stopped"


def test_each_pass_is_a_line_of_json(place: Place) -> None:
    """For who pipes it: the document of `once`, one line a pass."""
    with running(place, "--json") as worker:
        worker.wait_for_passes(2)
        worker.send(signal.SIGTERM)
        out, _ = worker.process.communicate(timeout=60)
    documents = [json.loads(line) for line in out.splitlines()]
    assert documents[0]["compacted"] == 1
    assert documents[1]["skipped"] == {"covered": 1}


def test_a_session_that_is_deleted_is_forgotten(place: Place) -> None:
    """Its entry and its answers leave the journal with the next pass."""
    with running(place) as worker:
        worker.wait_for("session_compacted")
        place.path().unlink()
        worker.wait_for_passes(2)
        assert worker.stop() == 0
    assert place.journal("SELECT * FROM memory") == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_it_does_not_begin_with_the_files_of_another_user(place: Place, invoke: Invoke) -> None:
    """Also where it has worked before: no restart mends that, so it exits 78."""
    assert invoke("once").code == 0
    os.chown(place.path(), 65534, 65534)
    with Worker(place.folder) as worker:
        assert worker.wait() == 78
        assert "belongs to" in "".join(worker.said)


def test_a_stop_in_the_first_moment_is_a_stop(place: Place) -> None:
    """Before it has even read its configuration."""
    configure(place)
    with Worker(place.folder) as worker:
        while worker.process.poll() is None and not _hears(worker):
            pass
        worker.send(signal.SIGTERM)
        assert worker.wait() == 0
        assert not worker.said


def _hears(worker: Worker) -> bool:
    """Whether a process has a handler of its own for SIGTERM."""
    status = Path(f"/proc/{worker.process.pid}/status")
    if not status.exists():
        pytest.skip("this system has no /proc")
    caught = next(line for line in status.read_text().splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) & 1 << (signal.SIGTERM - 1))
