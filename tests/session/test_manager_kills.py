"""An agent that is killed while it saves: the file is as before or as saved, and nothing stays."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from session.keys import file_name
from session.manager import SessionManager

KEY = "telegram:42"
SEED = 20261130
ROOT = Path(__file__).parent.parent.parent
# Appends and saves, tells each number once it is saved, and kills itself at the n-th system call
# that Python's audit hooks report of the last save.
AGENT = """
import os, signal, sys
from session.manager import SessionManager
folder, moment, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
manager = SessionManager(folder)
session = manager.get_or_create("telegram:42")
begin = len(session.messages)
for number in range(begin, begin + count):
    session.add_message("user", f"message {number}", n=number)
    if number == begin + count - 1:
        seen = 0
        def hook(event, args):
            global seen
            if event.split(".")[0] in {"open", "os", "ctypes", "fcntl", "shutil"}:
                seen += 1
                if seen == moment:
                    os.kill(os.getpid(), signal.SIGKILL)
        sys.addaudithook(hook)
    manager.save(session, fsync=bool(number % 2))
    print(number, flush=True)
print(seen, file=sys.stderr)
"""


def run_agent(folder: Path, moment: int, count: int = 3) -> tuple[int, list[int], int]:
    """Run the agent; returns how it ended, what it was told is saved, and how many moments."""
    done = subprocess.run(
        [sys.executable, "-c", AGENT, str(folder), str(moment), str(count)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    seen = int(done.stderr.split()[-1]) if done.returncode == 0 else 0
    return done.returncode, [int(line) for line in done.stdout.split()], seen


@pytest.mark.parametrize(
    "kills", [12, pytest.param(200, marks=pytest.mark.soak)], ids=["bounded", "full"]
)
@pytest.mark.timeout(3000)
def test_a_killed_save_is_whole_or_not_there(tmp_path: Path, kills: int) -> None:
    """Every message that was told to be saved is there, in order, once; nothing is left over."""
    code, _, moments = run_agent(tmp_path, 0)
    assert code == 0
    assert moments > 10
    dice = random.Random(SEED)
    told = 3
    for _ in range(kills):
        code, saved, _ = run_agent(tmp_path, dice.randrange(1, moments))
        assert code == -signal.SIGKILL
        with SessionManager(tmp_path) as manager:
            numbers = [row["n"] for row in manager.get_or_create(KEY).messages]
        told = max(told, *(number + 1 for number in saved))
        assert numbers == list(range(len(numbers)))
        assert told <= len(numbers) <= told + 1
        told = len(numbers)
        lines = (tmp_path / file_name(KEY)).read_bytes().split(b"\n")
        assert lines.pop() == b""
        assert all(json.loads(line) for line in lines)
        left = {path.name for path in (tmp_path / ".compactor").iterdir()}
        assert left == {"commits.lock"}
