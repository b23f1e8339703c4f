"""What a service manager and its operator see of the worker: signals, signs of life, the log."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from compactor.hidden_keys import SECRET_NAME
from session.errors import StoreBusyError
from tests.end_to_end.support import Invoke
from tests.endpoint.running import PATIENCE, Worker
from tests.endpoint.server import Server, Step, answer
from tests.endpoint.support import KEY, OTHERS, SHORT, SHORT_KEY, Place
from tests.endpoint.test_run import JSON_LOG, OFTEN, configure, passes, running
from tests.session.test_worker_lock import hold


class Manager:
    """A service manager that listens on a real datagram socket."""

    def __init__(self, address: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(address)
        self._socket.settimeout(PATIENCE)
        self.heard: list[dict[str, str]] = []

    def wait_for(self, *words: str) -> dict[str, str]:
        """Listen until a message has all these words; return its fields."""
        while True:
            text = self._socket.recv(8192).decode()
            fields = dict(line.split("=", 1) for line in text.split("\n"))
            self.heard.append(fields)
            if all(word in text for word in words):
                return fields

    def close(self) -> None:
        """Listen no more."""
        self._socket.close()


@pytest.fixture
def address() -> Iterator[str]:
    """Where a manager listens; the path must be short."""
    with tempfile.TemporaryDirectory(prefix="notify-") as folder:
        yield f"{folder}/socket"


@contextmanager
def managed(place: Place, address: str, **changed: str) -> Iterator[tuple[Worker, Manager]]:
    """Run the worker under a service manager that wants a sign of life every 300 ms."""
    configure(place, **changed)
    manager = Manager(address)
    with Worker(place.folder, NOTIFY_SOCKET=address, WATCHDOG_USEC="300000") as worker:
        yield worker, manager
    manager.close()


def test_it_is_ready_when_everything_was_found_good(place: Place, address: str) -> None:
    """The status tells the last pass; a stop and a reload are announced."""
    with managed(place, address) as (worker, manager):
        manager.wait_for("READY=1")
        manager.wait_for("STATUS=last pass", "1 compacted")
        worker.send(signal.SIGHUP)
        assert int(manager.wait_for("RELOADING=1")["MONOTONIC_USEC"]) > 0
        manager.wait_for("READY=1")
        worker.send(signal.SIGTERM)
        manager.wait_for("STOPPING=1")
        assert worker.wait() == 0


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"key": "NOBODY_SET_THIS"}, 78),
        ({"idle": 'scan_every = "whenever"'}, 78),
    ],
)
def test_it_is_never_ready_when_it_can_not_work(
    place: Place, address: str, changed: dict[str, str], code: int
) -> None:
    """It ends with the code of what is wrong, and systemd has not heard a word."""
    with managed(place, address, **changed) as (worker, manager):
        assert worker.wait() == code
        manager._socket.settimeout(0)
        with pytest.raises(BlockingIOError):
            manager.wait_for("READY=1")


def test_signs_of_life_go_on_while_an_endpoint_hangs(
    bare: Place, server: Server, address: str
) -> None:
    """So does the schedule: a pass over its deadline ends, is counted, and the next one begins."""
    bare.add(SHORT, *OTHERS)
    server.play((Step.HANG,))
    limits = 'pass_deadline = "0.5s"\ngrace = "0.3s"'
    with managed(bare, address, timeout="1h", limits=limits) as (worker, manager):
        server.wait_for(1)
        for _ in range(3):
            manager.wait_for("WATCHDOG=1")
        told = worker.wait_for("pass_halted", 2)
        assert told["detail"] == "the pass is over its deadline"
        server.play(answer())
        worker.wait_for("session_compacted", 4)
        worker.wait_for_passes(1)
        assert worker.stop() == 0
    outcomes = [outcome for outcome, _ in passes(bare)]
    assert outcomes.count("halted") >= 2
    assert outcomes[-1] == "done"
    skipped = sum(counts.get("runs_skipped", 0) for _, counts in passes(bare))
    assert (
        1 <= skipped <= worker.count("pass_skipped")
    )  # those since the last pass stand nowhere yet


def test_a_reload_takes_all_of_a_good_configuration(bare: Place) -> None:
    """Another store, other limits, another log level: from the next pass on."""
    bare.add(SHORT)
    with running(bare, idle='scan_every = "1h"') as worker:
        worker.wait_for("session_compacted")
        other = bare.folder / "others"
        bare.add(OTHERS[0])
        bare.sessions.rename(other)
        bare.sessions.mkdir()
        configure(bare)
        config = bare.folder / "config.toml"
        config.write_text(config.read_text().replace("jsonl:sessions", "jsonl:others"))
        worker.send(signal.SIGHUP)
        assert worker.wait_for("config_reloaded")["every"] == "0s"
        worker.wait_for("session_compacted", 2)
        assert worker.stop() == 0


BAD_FILES = {
    "[idle": "is no TOML",
    '[store]\nurl = "jsonl:sessions"\n[idle]\nttl = "soon"\nclan = 1': "idle.clan",
    '[store]\nurl = "jsonl:nowhere"\n[llm]\napi_key_env = ""': "there is no such folder",
    '[llm]\napi_key_env = "NOBODY_SET_THIS"': "NOBODY_SET_THIS",
    '[state]\ndir = "config.toml"\n[llm]\napi_key_env = ""': "journal",
}


def test_a_reload_takes_nothing_of_a_bad_one(bare: Place) -> None:
    """The reason is told, the worker goes on as before, and holds what it held."""
    with running(bare) as worker:
        for count, (wrong, told) in enumerate(BAD_FILES.items(), 1):
            (bare.folder / "config.toml").write_text(f'{wrong}\n[log]\nlevel = "ERROR"\n')
            worker.send(signal.SIGHUP)
            assert told in worker.wait_for("config_refused", count)["detail"]
            with pytest.raises(StoreBusyError):
                hold(bare.sessions)
        bare.add(SHORT)
        worker.wait_for("session_compacted", key=SHORT_KEY)
        assert worker.stop() == 0


def test_a_reload_waits_for_the_pass_that_is_under_way(place: Place, server: Server) -> None:
    """A pass is made with one configuration from its beginning to its end."""
    with server.holding(), running(place) as worker:
        server.wait_for(1)
        worker.send(signal.SIGHUP)
        server.release()
        worker.wait_for("config_reloaded")
        names = [told["event"] for told in worker.events]
        assert names.index("pass_finished") < names.index("config_reloaded")
        assert worker.stop() == 0


def test_the_log_tells_no_key_if_asked_not_to(place: Place) -> None:
    """The same session has the same hash everywhere, and after a restart; the secret is ours."""
    seen: set[str] = set()
    for _ in range(2):
        with running(place, log=f'{JSON_LOG}\nkeys = "hash"') as worker:
            done = "session_compacted" if not seen else "session_reapplied"
            seen.add(worker.wait_for(done)["key"])
            assert worker.stop() == 0
            told = json.dumps(worker.events)
            assert SHORT_KEY not in told
            assert SHORT not in told
        write_over(place)
    assert len(seen) == 1
    assert re.fullmatch("#[0-9a-f]{12}", seen.pop())
    secret = place.folder / "state" / SECRET_NAME
    assert secret.stat().st_mode & 0o777 == 0o600


def write_over(place: Place) -> None:
    """Write the session as an agent would that has not seen the compaction."""
    lines = place.path().read_bytes().split(b"\n")
    header = json.loads(lines[0])
    header |= {"metadata": {}, "last_archived": 0, "last_consolidated": 0}
    place.path().write_bytes(b"\n".join([json.dumps(header).encode(), *lines[1:]]))


def test_lines_in_the_journal_of_systemd_have_priorities(place: Place) -> None:
    """And text has no time of its own there."""
    place.configure(idle=OFTEN)
    with (place.folder / "journal").open("w") as journal:
        status = os.fstat(journal.fileno())
        stream = f"{status.st_dev}:{status.st_ino}"
        done = subprocess.run(
            [sys.executable, "-m", "compactor", "once", "--json"],
            env=dict(os.environ) | {"JOURNAL_STREAM": stream},  # noqa: TID251 - a child needs one
            cwd=place.folder,
            stdout=subprocess.DEVNULL,
            stderr=journal,
            check=False,
        )
    assert done.returncode == 0
    lines = (place.folder / "journal").read_text().splitlines()
    assert any(line.startswith("<6>session_compacted key=") for line in lines)
    assert all(re.match("<[3-7]>[a-z_]+ ?", line) for line in lines)


def test_nothing_secret_is_told(place: Place, invoke: Invoke) -> None:
    """The key of the endpoint is in no event."""
    with running(place) as worker:
        worker.wait_for("session_compacted")
        assert worker.stop() == 0
        assert KEY not in json.dumps(worker.events)
    assert KEY not in invoke("status", "--json").out


def test_when_nobody_reads_its_output_it_ends(place: Place) -> None:
    """As any program in a pipe; a pass that went well is not told as one that failed."""
    configure(place)
    with Worker(place.folder, "--json") as worker:
        worker.wait_for("pass_finished")
        assert worker.process.stdout is not None
        worker.process.stdout.close()
        worker.wait_for("worker_stopped")
        assert worker.process.wait(PATIENCE) == 0
        assert not worker.said
        assert not worker.count("pass_failed")
        worker.process.stdout = None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_an_error_tells_no_key_either(place: Place, invoke: Invoke) -> None:
    """The name of a session's file is its key, and an error that names it goes to the journal."""
    os.chown(place.path(), 65534, 65534)
    place.configure(log='keys = "hash"')
    ran = invoke("once")
    assert ran.code == 78
    assert SHORT not in ran.err
    assert re.search(r"#[0-9a-f]{12}\.jsonl", ran.err)


def test_after_a_failure_the_next_good_pass_is_told(place: Place) -> None:
    """An alarm that the log raised is cleared by the log, at its usual level."""
    with running(place, log=f'{JSON_LOG}\nlevel = "INFO"') as worker:
        worker.wait_for("session_compacted")
        place.sessions.rename(place.folder / "away")
        failed = worker.wait_for("pass_failed")
        assert failed["reason"] == "store_unavailable"
        seen = worker.count("pass_finished", level="INFO")
        (place.folder / "away").rename(place.sessions)
        worker.wait_for("pass_finished", seen + 1, level="INFO")
        assert worker.stop() == 0
