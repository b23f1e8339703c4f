"""Killed between an answer and its commit, time and again: no answer is paid twice."""

from __future__ import annotations

import random
import signal
import subprocess
import sys

import pytest

from tests.end_to_end.support import Invoke
from tests.endpoint.server import Server
from tests.endpoint.support import OTHERS, SHORT, Place

_FEW = 5  # kills, among which none need fall between an answer and its commit
SEED = 20261130
SESSIONS = (SHORT, *OTHERS)
# Kills itself at the n-th system-touching event that Python's audit hooks report, so that the
# product's own code runs unchanged; with 0 it says how many there are.
KILLER = """
import os, signal, sys
from compactor import commands, digest, llm_client  # what a pass imports is not its moment
import tiktoken, tiktoken_ext.openai_public
moment, seen = int(sys.argv[1]), 0
def hook(event, args):
    global seen
    if event.split(".")[0] not in {"open", "os", "ctypes", "fcntl", "shutil", "sqlite3", "socket"}:
        return
    seen += 1
    if seen == moment:
        os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(hook)
from compactor.cli import main
try:
    main(["once", "--agent-stopped", "--json"])
finally:
    print(seen, file=sys.stderr)
"""


def run_until(moment: int) -> tuple[int, int]:
    """Run a pass that is killed at that moment; returns how it ended and how many it has."""
    done = subprocess.run(
        [sys.executable, "-c", KILLER, str(moment)],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    last = done.stderr.split()[-1] if done.stderr else "0"
    return done.returncode, int(last) if last.isdigit() else 0


def refill(place: Place) -> None:
    """Begin anew: fresh sessions, and no journal."""
    subprocess.run(["rm", "-rf", str(place.sessions), str(place.folder / "state")], check=True)
    place.sessions.mkdir()
    place.add(*SESSIONS)


@pytest.mark.parametrize(
    "kills", [2, pytest.param(100, marks=pytest.mark.soak)], ids=["bounded", "full"]
)
@pytest.mark.timeout(3000)
def test_a_kill_never_costs_more_than_one_call(
    kills: int, bare: Place, server: Server, invoke: Invoke
) -> None:
    """Calls are at most compactions and kills together; every journaled answer is used."""
    bare.configure(concurrency=1, limits="per_session_per_day = 100\ncalls_per_hour = 100000")
    refill(bare)
    code, last = run_until(0)
    assert code == 0
    begin = first_answer(bare, last)
    moments = random.Random(SEED)
    compacted = killed = used = 0
    server.requests.clear()
    refill(bare)
    while killed < kills:
        code, _ = run_until(moments.randrange(begin, last))
        if code != -signal.SIGKILL:  # it had less to do than a whole pass
            assert code == 0
            compacted += len(SESSIONS)
            refill(bare)
            continue
        killed += 1
        answered = {key.decode() for (key,) in bare.journal("SELECT key FROM answer")}
        before = len(server.requests)
        pending = {bare.key(stem) for stem in SESSIONS if bare.stamp(stem) is None}

        ran = invoke("once", "--agent-stopped", "--json")

        assert ran.code == 0
        assert ran.json["compacted"] == len(pending)
        assert len(server.requests) - before == len(pending - answered)
        left = {key.decode() for (key,) in bare.journal("SELECT key FROM answer")}
        assert left <= answered - pending  # it had landed when we were killed
        used += len(pending & answered)
        compacted += len(SESSIONS)
        refill(bare)
    assert len(server.requests) <= compacted + killed
    if kills > _FEW:
        assert used, "no kill fell between an answer and its commit"


def first_answer(place: Place, last: int) -> int:
    """The moment before which no answer is in the journal, found by halving."""
    low, high = 1, last
    while high - low > 8:
        middle = (low + high) // 2
        refill(place)
        run_until(middle)
        if place.journal("SELECT count(*) FROM answer") == [(0,)] and not any(
            place.stamp(stem) for stem in SESSIONS
        ):
            low = middle
        else:
            high = middle
    return low
