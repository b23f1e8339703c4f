"""Killed at any moment: every file is entirely old or entirely new, and the next run just works."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.end_to_end.support import (
    SAMPLES,
    Invoke,
    copy_sessions,
    message_lines,
    read_header,
)

KILLS = 200
SEED = 20261130
# Kills itself at the n-th system-touching event that Python's audit hooks report, so that the
# moment is exact and the product's own code runs unchanged.
KILLER = """
import os, signal, sys
left = int(sys.argv[1])
def hook(event, args):
    global left
    if event.split(".")[0] in {"open", "os", "ctypes", "fcntl", "shutil", "sqlite3"}:
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
from compactor import commands, digest  # what a pass imports is not its moment
import tiktoken, tiktoken_ext.openai_public
sys.addaudithook(hook)
from compactor.cli import main
main(["once", "--agent-stopped", "--json"])
"""


def run_until(moment: int, folder: Path) -> int:
    """Run a pass that is killed at that moment; returns how it ended."""
    return subprocess.run(
        [sys.executable, "-c", KILLER, str(moment)],
        cwd=folder,
        capture_output=True,
        check=False,
        timeout=100,
    ).returncode


def last_moment(folder: Path) -> int:
    """How many moments a whole pass has (found by doubling and halving)."""
    low, high = 0, 64
    while run_until(high, folder) == -signal.SIGKILL:
        low, high = high, high * 2
        refill(folder)
    while high - low > 8:
        middle = (low + high) // 2
        refill(folder)
        if run_until(middle, folder) == -signal.SIGKILL:
            low = middle
        else:
            high = middle
    return low


def refill(place: Path) -> dict[str, bytes]:
    """Put fresh copies of three sessions in place; returns their bytes."""
    folder = place / "sessions"
    subprocess.run(["rm", "-rf", str(folder), str(place / "state")], check=True)
    folder.mkdir()
    copy_sessions(SAMPLES, folder)
    kept = ("dGVsZWdyYW06YWlybGluZS0z", "dGVsZWdyYW06YWlybGluZS03", "dGVsZWdyYW06YWlybGluZS05")
    for path in folder.glob("*.jsonl"):
        if path.stem not in kept:
            path.unlink()
    return {path.name: path.read_bytes() for path in folder.glob("*.jsonl")}


@pytest.mark.soak  # tests/fire kills at every call of one commit, in each run
@pytest.mark.timeout(3000)
def test_a_kill_leaves_every_file_whole(place: Path, invoke: Invoke) -> None:
    """At seeded moments of a pass; the next pass finishes and leaves only what it watches."""
    refill(place)
    last = last_moment(place)
    moments = random.Random(SEED).sample(range(1, last), k=min(KILLS, last - 1))
    states: set[str] = set()
    for moment in moments:
        before = refill(place)
        assert run_until(moment, place) == -signal.SIGKILL, moment
        for name, data in before.items():
            now = (place / "sessions" / name).read_bytes()
            if now == data:
                states.add("old")
                continue
            states.add("new")
            assert message_lines(now) == message_lines(data), (moment, name)
            assert read_header(place / "sessions" / name)["metadata"]["_compaction"], moment

        ran = invoke("once", "--agent-stopped", "--json", "--all")

        assert ran.code == 0, (moment, ran.err)
        assert ran.json["compacted"] + ran.json["skipped"].get("covered", 0) == 3, moment
        assert invoke("once", "--agent-stopped", "--json").json["due"] == 0
        left = {path.name for path in (place / "sessions" / ".compactor").iterdir()}
        assert left <= {"worker.lock", "commits.lock"}, (moment, left)
    assert states == {"old", "new"}
