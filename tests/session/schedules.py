"""One run of our code with a writer in between, and what must be true afterwards."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
from collections import Counter
from itertools import combinations_with_replacement, count
from pathlib import Path
from typing import TYPE_CHECKING

from session.durable import prepare_area, recover, swap_file
from session.errors import SessionError
from session.jsonl_store import JsonlStore
from session.model import FileIdentity
from tests.session.builders import change_for
from tests.session.stepping import stopping
from tests.session.writers import BASE, COMPACTED, NEW, ORIGINAL

if TYPE_CHECKING:
    from collections.abc import Callable

    from session.store import SessionTail
    from tests.session.writers import Writer

no_lock = contextlib.nullcontext
# Calls that neither see nor change what a writer sees or changes: who comes before one of them
# might as well come after it.
DULL = frozenset(
    ("fileno", "close", "mkdir", "flock", "urandom", "fchown", "utime", "listxattr", "chmod")
) | {"fsync"}


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


def allow(_: SessionTail) -> None:
    """Let every commit through."""


def commit_by_store(live: Path) -> None:
    """Let the worker's store load the session and commit, or leave it for another pass."""
    store = JsonlStore([live.parent], agent_stopped=True)
    with contextlib.suppress(SessionError):
        for entry in store.list_sessions():
            session = store.load(entry)
            store.commit(session, change_for(session.messages, 4), allow)


def commit_and_recover(live: Path) -> None:
    """Do a whole pass of the worker's store."""
    commit_by_store(live)
    pass_begins(live)


def pass_begins(live: Path) -> None:
    """Do what the next pass does first."""
    recover(live.parent, no_lock)


def compact_and_recover(live: Path) -> None:
    """Do a whole pass, below the store."""
    compact(live)
    pass_begins(live)


def save(live: Path) -> None:
    """Save as an agent does."""
    compact(live, by_agent=True)


def save_and_recover(live: Path) -> None:
    """Save as an agent does, ahead of a pass."""
    save(live)
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


def name_calls(
    live: Path, action: Callable[[Path], None], dull: frozenset[str] = frozenset()
) -> list[str]:
    """Return the system calls, without the dull ones, that the action makes when it is alone."""
    names: list[str] = []
    with stopping(numbering(lambda _, name: names.append(name), dull)):
        action(live)
    return names


def count_steps(live: Path, action: Callable[[Path], None]) -> int:
    """Return how many system calls the action makes when nobody interferes."""
    return len(name_calls(live, action))


def numbering(at: Callable[[int, str], None], dull: frozenset[str]) -> Callable[[int, str], None]:
    """Return what calls `at` ahead of all but the dull calls, numbered without them."""
    numbers = count()

    def look(_: int, name: str) -> None:
        if name not in dull:
            at(next(numbers), name)

    return look


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


def settle(live: Path, writer: Writer) -> None:
    """Let the writer finish, and then let the next two passes begin."""
    writer.finish()
    pass_begins(live)
    pass_begins(live)
