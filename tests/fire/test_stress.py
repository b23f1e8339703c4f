"""Commits beside an agent that writes at its fastest in a process of its own, in five styles.

Nothing is lost, nothing doubled, every line is whole; and the worst that the agent noticed is told.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest

from session.errors import SessionError
from session.jsonl_store import JsonlStore
from session.store import CommitStatus
from tests.fire.writing import STYLES
from tests.session.builders import change_for
from tests.session.schedules import allow, fresh
from tests.session.writers import BASE, NEW, AppendByPath, HeldAppendAtOnce, Writer

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux alone exchanges names")
ROOT = Path(__file__).parents[2]
APPENDED, REWRITTEN = 5_000, 400  # lines until the agent goes on with its next session
SESSIONS = 20  # of one agent


@dataclass
class Figures:
    """What came of it."""

    commits: int = 0
    tries: int = 0
    lines: int = 0
    lost: int = 0
    doubled: int = 0
    torn: int = 0
    left: set[str] = field(default_factory=set)
    worst_ms: float = 0.0

    def count_lines(self, live: Path, lines: int) -> None:
        """Look at a session to which so many lines were written."""
        held: Counter[object] = Counter()
        for text in live.read_bytes().split(b"\n"):
            try:
                held[json.loads(text).get("id")] += 1
            except ValueError:
                self.torn += bool(text)
        expected = {*BASE, *range(NEW, NEW + lines)}
        self.lines += lines
        self.lost += sum(not held[number] for number in expected)
        self.doubled += sum(held[number] > 1 for number in expected)
        self.left |= {path.name for path in (live.parent / ".compactor").iterdir()}


def lay_out(folder: Path) -> list[Path]:
    """Make the sessions that an agent goes on with."""
    first = fresh(folder)
    paths = [first.with_name(f"s{number}.jsonl") for number in range(SESSIONS)]
    for path in paths:
        shutil.copyfile(first, path)
    first.unlink()
    return paths


def commit_beside(style: type[Writer], paths: list[Path], figures: Figures) -> None:
    """Let an agent fill its sessions, and commit all the while to the one that it fills."""
    lines = APPENDED if style in {AppendByPath, HeldAppendAtOnce} else REWRITTEN
    command = [sys.executable, "-m", "tests.fire.writing", style.__name__, str(lines)]
    folder = paths[0].parent
    store = JsonlStore([folder])
    with (
        store.exclusive(),
        subprocess.Popen([*command, *paths], cwd=ROOT, stdout=subprocess.PIPE, text=True) as agent,
    ):
        assert agent.stdout
        assert agent.stdout.readline() == "writing\n"
        for number in count():
            ended = agent.poll() is not None
            store.tend()
            if ended:
                break
            figures.tries += 1
            try:
                # A commit is not seen in the time of a file, so the newest is the agent's.
                newest = max(store.list_sessions(), key=lambda entry: time_of(folder / entry.name))
                session = store.load(newest)
                change = change_for(session.messages, 2 + number % 5)
                result = store.commit(session, change, allow)
            except SessionError:  # half a file, for an instant
                continue
            figures.commits += result.status is CommitStatus.COMMITTED
        told = json.loads(agent.stdout.read())
    assert agent.returncode == 0
    figures.worst_ms = max(figures.worst_ms, round(told["worst"] * 1000, 1))
    for path in paths:
        figures.count_lines(path, lines)


def time_of(path: Path) -> int:
    """Return when somebody wrote to the file."""
    return path.stat().st_mtime_ns


@pytest.mark.parametrize(
    "commits",
    [
        pytest.param(5, id="some"),
        pytest.param(1000, id="many", marks=[pytest.mark.soak, pytest.mark.timeout(3000)]),
    ],
)
@pytest.mark.parametrize("style", STYLES, ids=lambda style: style.__name__)
def test_nothing_is_lost_beside_an_agent_at_its_fastest(
    style: type[Writer], commits: int, place: Path, tell: Callable[..., None]
) -> None:
    """So many commits land while it writes."""
    figures = Figures()
    while figures.commits < commits:
        commit_beside(style, lay_out(place), figures)
    tell(**{name: value for name, value in vars(figures).items() if name != "left"})
    assert (figures.lost, figures.doubled, figures.torn) == (0, 0, 0)
    assert figures.left == {"commits.lock", "worker.lock"}
    assert figures.lines > commits
