"""One run of our code with a writer in between, and what must be true afterwards."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
from collections import Counter
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, NoReturn

from session.durable import prepare_area, recover, swap_file
from session.model import FileIdentity
from tests.session.stepping import stopping
from tests.session.writers import BASE, COMPACTED, NEW, ORIGINAL

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.session.writers import Writer

no_lock = contextlib.nullcontext


def fresh(folder: Path) -> Path:
    """Return a session file in a folder that holds nothing else."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    prepare_area(folder)
    live = folder / "s.jsonl"
    live.write_bytes(ORIGINAL)
    return live


def compact(live: Path, *, may_replace: bool = False, by_agent: bool = False) -> None:
    """Read the file and put the compacted one in its place, as a store does.

    An agent's own save does it without syncing, and lets go of the original.
    """
    with live.open("rb") as file:
        identity = FileIdentity.of(os.fstat(file.fileno()))
        original = file.read()
    _, _, messages = original.partition(b"\n")
    content = COMPACTED.partition(b"\n")[0] + b"\n" + messages
    swap_file(
        live,
        content,
        original=original,
        expected=identity,
        lock=no_lock,
        may_replace=may_replace,
        by_agent=by_agent,
        durable=not by_agent,
    )


def pass_begins(live: Path) -> None:
    """Do what the next pass does first."""
    recover(live.parent, no_lock)


def compact_and_recover(live: Path) -> None:
    """Do a whole pass."""
    compact(live)
    pass_begins(live)


def save_and_recover(live: Path) -> None:
    """Save as an agent does, ahead of a pass."""
    compact(live, by_agent=True)
    pass_begins(live)


def compact_twice(live: Path) -> None:
    """Commit again while the original of the first commit is still watched."""
    compact(live)
    compact(live)
    pass_begins(live)


def replace_naively(live: Path) -> None:
    """Read, check, replace: what the protocol is there to be better than."""
    identity = FileIdentity.of(live.stat())
    temp = live.with_suffix(".tmp")
    temp.write_bytes(COMPACTED.partition(b"\n")[0] + b"\n" + live.read_bytes().partition(b"\n")[2])
    if FileIdentity.of(live.stat()) == identity:
        temp.replace(live)


def faults(live: Path) -> list[str]:
    """Say what is wrong with the live file now that everybody has finished."""
    content = live.read_bytes()
    found = [] if content.endswith(b"\n") else ["no newline at the end"]
    records = []
    for text in content.split(b"\n")[:-1]:
        try:
            records.append(json.loads(text))
        except ValueError:
            found.append(f"torn: {text!r}")
    times = Counter(record.get("id") for record in records)
    found += [
        f"{number} is there {times[number]} times" for number in (*BASE, NEW) if times[number] != 1
    ]
    if sum(record.get("_type") == "metadata" for record in records) != 1:
        found.append("headers")
    left = {path.name for path in (live.parent / ".compactor").iterdir()} - {"commits.lock"}
    return [*found, *(f"left behind: {name}" for name in left)]


def count_steps(live: Path, action: Callable[[Path], None]) -> int:
    """Return how many system calls the action makes when nobody interferes."""
    steps = 0

    def count(number: int, _: str) -> None:
        nonlocal steps
        steps = number + 1

    with stopping(count):
        action(live)
    return steps


def choose(steps: int, limit: int | None) -> list[tuple[int, int]]:
    """Return the pairs of steps at which a writer begins and ends: all, or `limit` of them."""
    pairs = list(combinations_with_replacement(range(steps + 1), 2))
    if limit is None or len(pairs) <= limit:
        return pairs
    return random.Random(20261130).sample(pairs, limit)


def interleave(
    live: Path, style: type[Writer], begin: int, end: int, action: Callable[[Path], None]
) -> list[str]:
    """Run the action with a writer that begins and ends at the given steps; return the faults."""
    writer = style(live)

    def at(step: int, _: str) -> None:
        if step == begin:
            writer.step()
        if step == end:
            writer.finish()

    with contextlib.suppress(FileNotFoundError), stopping(at):
        action(live)
    settle(live, writer)
    return faults(live)


def crash(
    live: Path,
    style: type[Writer],
    steps: tuple[int, int, int],
    action: Callable[[Path], None],
) -> list[str]:
    """Kill the action at one step, with a writer that begins and ends at two; return the faults.

    The steps are counted through: behind the kill come those of the next start's recovery.
    """
    kill, begin, end = steps
    writer = style(live)

    def at(step: int, _: str = "") -> None:
        if step == begin:
            writer.step()
        if step == end:
            writer.finish()

    passed = run_killed(kill, lambda: action(live), at)
    with stopping(lambda step, name: at(passed + step, name)):
        recover(live.parent, no_lock)
    settle(live, writer)
    return faults(live)


def settle(live: Path, writer: Writer) -> None:
    """Let the writer finish, and then let the next two passes begin."""
    writer.finish()
    pass_begins(live)
    pass_begins(live)


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
