"""The same three, below Python: each system call of theirs killed or failed by strace.

SQLite's own calls are among them, and those that Python makes without being asked. What strace says
of the fault is looked at each time, so that none is thought to be there that was not.
"""

from __future__ import annotations

import errno
import random
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.fire.operations import OPERATIONS, Commit, DurableSave, Operation, Refused, Save, Undo
from tests.fire.tracing import KILL, Call, Traced, describe, trace, was_hit, why_not

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
SEED, SAMPLE = 20261130, 25
CODES = (errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EROFS)
FAULTS = (KILL, *map(describe, CODES))
LEAST = {Commit: 55, Undo: 200, Save: 85, DurableSave: 90}  # calls of each; there may be more
# Where a fault changes nothing, by what strace shows of the call, and why that is right.
TOLERATED = {
    # Python asks for more than it needs to know of a file that it has just opened.
    r"ioctl\(.* TCGETS,": "whether it is a terminal",
    r"lseek\(.* SEEK_CUR\)": "where it stands",
    r"newfstatat\(\d+<.* AT_EMPTY_PATH\)": "how large its blocks are",
    r"newfstatat\(.*S_IFDIR.*\)": "a link in a path; a path without links stays what it is",
    r"newfstatat\(.*/\.session-files\.lock\"": "whether the lock is a link (filelock)",
    r"newfstatat\(.*/config\.toml\"": "whether the configuration is there: opening it comes next",
    r"newfstatat\(2<": "where the log goes",
    r"close\(": "the end of what was read or locked; what was written is synced before",
    r"mkdir\(.* EEXIST": "a folder that is there already is not made",
    r"utimensat\(.* NULL, 0\) = -1 ENOENT": "the time of a file that is then made",
    # SQLite does without these, and says so in its documentation.
    r"(newfstatat|fchown)\(.*/journal\.sqlite3": "left-overs that are not there, and owners",
    r"(openat|fdatasync)\(.*/state[\">]": "a folder that can't be synced",
    r"fcntl\(.* F_SETLK, \{l_type=F_UNLCK": "a lock that is given up",
    r"(openat|read)\(.*/dev/urandom": "a number that only has to differ",
}
# An agent's save has landed: its original is let go of at the next look.
LETTING_GO = re.compile(r"(newfstatat|openat|fcntl|unlink)\(.*/sessions/")
BACK_OUT = re.compile(r"close\(|.*/journal\.sqlite3|.*/state[\">]")


@dataclass(frozen=True, slots=True)
class Point:
    """One call of an operation, and what happens to it."""

    kind: type[Operation]
    call: Call
    fault: str
    is_late: bool  # an agent's save has exchanged the files, and looked at them

    def may_tolerate(self) -> bool:
        """Whether the operation may be done in spite of the fault."""
        shown = f"{self.call.name}({self.call.text}"
        if self.is_late and LETTING_GO.match(shown):
            return True
        return any(re.match(pattern, shown) for pattern in TOLERATED)

    def may_come_late(self) -> bool:
        """Whether the fault may be one that is told of when the file is new already."""
        return BACK_OUT.match(f"{self.call.name}({self.call.text}") is not None


def points_of(kind: type[Operation], place: Path) -> list[Point]:
    """Return every point of an operation, found in a run that nothing disturbs."""
    operation = kind(place)
    operation.lay_out()
    operation.prepare()()  # whatever is imported or remembered once is so from now on
    operation.lay_out()
    traced = run_traced(operation, None)
    assert (traced.outcome, operation.state()) == ("done", "new")
    assert len(traced.calls) >= LEAST[kind]
    texts = [call.text for call in traced.calls]
    looks = [at for at, text in enumerate(texts) if '.old"' in text]
    late = looks[0] if issubclass(kind, Save) else len(texts)
    return [
        Point(kind, call, fault, at >= late)
        for at, call in enumerate(traced.calls)
        for fault in FAULTS
    ]


def run_traced(operation: Operation, point: Point | None) -> Traced:
    """Run the operation under strace, with the fault of a point."""
    log = operation.place.with_suffix(".trace")
    inject = None if point is None else (point.call, point.fault)
    return trace(operation.prepare(), log, refusal=Refused, inject=inject)


def disturb(point: Point, place: Path) -> tuple[str, str]:
    """Run the operation with a fault at the point; return how that ended and the file's state."""
    operation = point.kind(place)
    operation.lay_out()
    traced = run_traced(operation, point)
    assert was_hit(traced, point.fault), point
    outcome, state = traced.outcome, operation.state()
    if outcome == "done":
        assert state == "new", point
        assert point.may_tolerate(), point
    elif outcome == "refused":
        assert state == "old" or point.may_come_late(), point
    else:
        assert outcome == "killed", (point, traced.said)
    operation.run_next()
    return outcome, state


def test_a_sample_of_all_system_calls(place: Path) -> None:
    """Of each operation so many, the same ones every time."""
    dice = random.Random(SEED)
    for kind in OPERATIONS:
        ends = Counter(
            disturb(point, place) for point in dice.sample(points_of(kind, place), SAMPLE)
        )
        assert {state for _, state in ends} == {"old", "new"}


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind", OPERATIONS, ids=lambda kind: kind.__name__)
def test_all_system_calls(kind: type[Operation], place: Path, tell: Callable[..., None]) -> None:
    """Each of them, killed and failed in four ways."""
    points = points_of(kind, place)
    ends = Counter(disturb(point, place) for point in points)
    tell(points=len(points), **{" ".join(end): count for end, count in sorted(ends.items())})
    killed = [point for point in points if point.fault == KILL]
    assert ends["killed", "old"] + ends["killed", "new"] == len(killed)
    assert {"killed", "refused", "done"} == {outcome for outcome, _ in ends}
