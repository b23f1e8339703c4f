"""Every exit code of the documentation comes from a real command."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.end_to_end.support import ROOT
from tests.endpoint.running import PATIENCE, Worker
from tests.endpoint.server import Server, Step, error
from tests.endpoint.support import SHORT, Place

COMMAND = (sys.executable, "-m", "compactor")


def run(place: Place, *arguments: str, stdout: str = "/dev/null") -> int:
    """Run a command in its folder; return what it exits with."""
    with Path(stdout).open("w") as out:
        done = subprocess.run(
            [*COMMAND, *arguments],
            cwd=place.folder,
            stdout=out,
            stderr=subprocess.DEVNULL,
            check=False,
            timeout=PATIENCE,
        )
    return done.returncode


def succeed(place: Place, _server: Server) -> int:
    """Compact a session."""
    return run(place, "once")


def meet_the_unexpected(place: Place, _server: Server) -> int:
    """Print to a disk that is full."""
    return run(place, "scan", "--json", stdout="/dev/full")


def misspell(place: Place, _server: Server) -> int:
    """Name a session that is not there."""
    return run(place, "show", "telegram:nobody")


def fail(place: Place, server: Server) -> int:
    """Get no usable answer for a session."""
    server.play(error(500))
    place.configure(llm="retries = 0")
    return run(place, "once")


def reach_nothing(place: Place, _server: Server) -> int:
    """Look for sessions where there are none."""
    place.sessions.rename(place.folder / "elsewhere")
    return run(place, "once")


def come_second(place: Place, _server: Server) -> int:
    """Run beside a worker."""
    place.configure(log='format = "json"')
    with Worker(place.folder) as worker:
        worker.wait_for("pass_finished")
        return run(place, "once")


def misconfigure(place: Place, _server: Server) -> int:
    """Write a key that does not exist."""
    place.configure(idle="tll = 3")
    return run(place, "once")


def interrupt(place: Place, server: Server) -> int:
    """Press Ctrl-C while the model is asked."""
    server.play((Step.HANG,))
    process = subprocess.Popen(
        [*COMMAND, "once"],
        cwd=place.folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    server.wait_for(1)
    process.send_signal(signal.SIGINT)
    return process.wait(PATIENCE)


CODES: dict[int, Callable[[Place, Server], int]] = {
    0: succeed,
    1: meet_the_unexpected,
    2: misspell,
    3: fail,
    69: reach_nothing,
    75: come_second,
    78: misconfigure,
    130: interrupt,
}


@pytest.mark.parametrize("code", CODES)
def test_a_command_exits_with(code: int, place: Place, server: Server) -> None:
    """What the table says is what a script sees."""
    if code == 1 and not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    before = place.path(SHORT).read_bytes() if code else b""

    assert CODES[code](place, server) == code

    if code in {1, 2, 3, 78, 130}:
        assert place.path(SHORT).read_bytes() == before


def test_these_are_all_that_are_documented() -> None:
    """No code in the table without a command here, and none here that nobody is told of."""
    table = (ROOT / "docs" / "commands.md").read_text()
    documented = re.findall(r"^\| (\d+) \|", table, re.MULTILINE)
    assert {int(code) for code in documented} == set(CODES)
