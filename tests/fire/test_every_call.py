"""A commit, an undo and a save: killed at each call of the system that Python makes, and failed.

After each the file is entirely old or entirely new, whoever asked was told of the fault, the next
run succeeds, and nothing of ours stays. `test_every_system_call` does the same below Python.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.fire.operations import OPERATIONS, Commit, DurableSave, Operation, Refused, Save, Undo
from tests.session.stepping import stopping

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux alone exchanges names")
ROOT = Path(__file__).parents[2]
CODES = (errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EROFS)
LEAST = {Commit: 45, Undo: 70, Save: 70, DurableSave: 75}  # calls of each; there may be more
# The first leaves a lock held that the kernel would have freed; the other asks for a number only.
UNFAILING = {"close", "fileno"}
# Where a fault changes nothing, by the function of ours that made the call, and why that is right.
TOLERATED = {
    "main": "whether the configuration is there: opening it comes next",
    "_standard_error_is": "where the log goes",
    "_find_folders": "a link in the path of the folder: a path without links stays what it is",
    "JournalFile.__init__": "the time of a file that is then made",
    "AgentFiles._prepare": "a folder that is there already is not made",
    "settle_data": "the time of a file that is then made",
    "AgentLock.held": "a link in the path of the lock, and a folder that is there already",
    "_recover_one": "a save that has landed: its original is let go of at the next look",
}

operations = pytest.mark.parametrize("kind", OPERATIONS, ids=lambda kind: kind.__name__)


def names_of_calls(operation: Operation) -> list[str]:
    """Return the calls that the operation makes when nothing is wrong."""
    names: list[str] = []
    operation.lay_out()
    operation.prepare()()  # whatever is imported or remembered once is so from now on
    operation.lay_out()
    action = operation.prepare()
    with stopping(lambda _, name: names.append(name)):
        action()
    return names


def tolerating() -> str | None:
    """Return the function within which a fault is tolerated, if the present call is in one."""
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        if frame.f_code.co_qualname in TOLERATED:
            here = Path(frame.f_code.co_filename)
            if here.is_relative_to(ROOT / "session") or here.is_relative_to(ROOT / "compactor"):
                return frame.f_code.co_qualname
    return None


def fail_at(step: int, code: int, action: Callable[[], None]) -> tuple[str, str | None]:
    """Fail one call; return what came of it, and the function that may tolerate it."""
    hits: list[str | None] = []

    def at(now: int, _: str) -> None:
        if now == step:
            hits.append(tolerating())
            raise OSError(code, os.strerror(code))

    outcome = "done"
    try:
        with stopping(at):
            action()
    except Refused:
        outcome = "refused"
    assert len(hits) == 1
    return outcome, hits[0]


def kill_at(step: int, action: Callable[[], None]) -> None:
    """Run the action in a process of its own, which dies right before that call."""

    def at(now: int, _: str) -> None:
        if now == step:
            os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if not child:
        try:
            with stopping(at):
                action()
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


@operations
@pytest.mark.parametrize(
    "codes",
    [
        pytest.param(1, id="one each"),
        pytest.param(len(CODES), id="all", marks=[pytest.mark.soak, pytest.mark.timeout(1800)]),
    ],
)
def test_no_fault_is_swallowed(
    kind: type[Operation], codes: int, place: Path, tell: Callable[..., None]
) -> None:
    """It was refused and the file is old, or it was done and the file is new: each call in turn."""
    operation = kind(place)
    names = names_of_calls(operation)
    assert len(names) >= LEAST[kind]
    points, tolerated = 0, set()
    for step, name in enumerate(names):
        if name in UNFAILING:
            continue
        for code in (CODES[(step + more) % len(CODES)] for more in range(codes)):
            operation.lay_out()
            outcome, function = fail_at(step, code, operation.prepare())
            told = outcome, operation.state()
            assert told in {("refused", "old"), ("done", "new")}, (step, name)
            if outcome == "done":
                assert function is not None, (step, name)
                tolerated.add(function)
            operation.run_next()
            points += 1
    assert points == codes * sum(name not in UNFAILING for name in names)
    tell(points=points, tolerated=sorted(tolerated))


@operations
def test_killed_at_each_call_it_is_old_or_new(kind: type[Operation], place: Path) -> None:
    """And there is one call that makes it new."""
    operation = kind(place)
    names = names_of_calls(operation)
    assert len(names) >= LEAST[kind]
    states = []
    for step in range(len(names)):
        operation.lay_out()
        kill_at(step, operation.prepare())
        states.append(operation.state())
        operation.run_next()
    assert states == sorted(states, reverse=True), states  # old ones, then new ones
    assert {*states} == {"old", "new"}
