"""Our code ended at one of its steps, with a writer in between and behind."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
from itertools import combinations_with_replacement
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from session.durable import recover
from tests.session.schedules import DULL, faults, no_lock, numbering, settle
from tests.session.stepping import stopping

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.session.writers import Writer

# Calls that only look: a kill right behind one of them leaves what a kill ahead of it leaves.
LOOKS = frozenset(("stat", "lstat", "fstat", "read", "fcntl", "scandir", "access", "getcwd"))
RECOVERY = 30  # steps of a recovery among which a writer's may fall


def choose_crashes(names: list[str], limit: int | None) -> list[tuple[int, int, int]]:
    """Return triples of steps for `crash`, of an action that makes these calls: all, or `limit`.

    Kills that leave the same behind are tried once.
    """
    kills = [step for step in range(len(names)) if not step or names[step - 1] not in LOOKS]
    triples = [
        (kill, begin, end)
        for kill in kills
        for begin, end in combinations_with_replacement(range(kill + RECOVERY), 2)
    ]
    return triples if limit is None else random.Random(20261130).sample(triples, limit)


def crash(
    live: Path,
    style: type[Writer],
    steps: tuple[int, int, int],
    action: Callable[[Path], None],
) -> list[str]:
    """End the action at one step, with a writer that begins and ends at two; return the faults.

    The steps are counted through, without the dull ones: behind the end come those of the next
    start's recovery. The action never goes on from its step, and what it held open is closed: that
    is what a kill leaves. `run_killed` kills for real, and needs thrice the time.
    """
    answer, tell = os.pipe()
    child = os.fork()
    if not child:
        _end_at(live, style, steps, action, tell)
    os.close(tell)
    with os.fdopen(answer, "rb") as said:
        found: list[str] = json.loads(said.read())
    os.waitpid(child, 0)
    return found


def _end_at(
    live: Path,
    style: type[Writer],
    steps: tuple[int, int, int],
    action: Callable[[Path], None],
    tell: int,
) -> NoReturn:
    last, begin, end = steps
    held = _open_files()
    writer = style(live)

    def at(step: int) -> None:
        if step == begin:
            writer.step()
        if step == end:
            writer.finish()

    def go_on(passed: int) -> NoReturn:
        file = getattr(writer, "file", None)
        theirs = {file.fileno()} if file is not None and not file.closed else set()
        for descriptor in _open_files() - held - theirs:
            os.close(descriptor)
        with stopping(numbering(lambda step, _: at(passed + step), DULL)):
            recover(live.parent, no_lock)
        settle(live, writer)
        os.write(tell, json.dumps(faults(live)).encode())
        os._exit(0)

    def until(step: int, _: str) -> None:
        at(step)
        if step == last:
            go_on(step + 1)

    try:
        with stopping(numbering(until, DULL)):
            action(live)
        go_on(last + 1)
    finally:
        os._exit(1)


def _open_files() -> set[int]:
    found = set()
    for path in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # the one that the list itself was read through
            os.fstat(int(path.name))
            found.add(int(path.name))
    return found


def run_killed(
    step: int, action: Callable[[], None], at: Callable[[int], None] = lambda _: None
) -> int:
    """Run the action in a process of its own and kill that right before its system call `step`.

    `at` runs here, with the process standing still, before each of its steps up to that one.
    Returns how many there were: fewer if the action ended by itself.
    """
    ready, go = os.pipe(), os.pipe()
    child = os.fork()
    if not child:
        _obey(action, tell=ready[1], hear=go[0])
    os.close(ready[1])
    os.close(go[0])
    passed = 0
    while passed <= step and os.read(ready[0], 1):
        at(passed)
        passed += 1
        if passed <= step:
            os.write(go[1], b".")
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(ready[0])
    os.close(go[1])
    return passed


def _obey(action: Callable[[], None], *, tell: int, hear: int) -> NoReturn:
    def wait(_: int, __: str) -> None:
        os.write(tell, b".")
        os.read(hear, 1)

    try:
        with stopping(wait):
            action()
    finally:
        os._exit(0)
