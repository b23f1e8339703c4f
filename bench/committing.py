"""How long a commit takes: ours, and the least that puts the same bytes durably in their place."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bench.compacting import KEPT_TURNS, Compaction
from bench.corpus import write_session
from bench.timing import Measure, take_time
from compactor.setup import read_clock
from session.file_lock import AGENT_LOCK_NAME, AgentLock
from session.jsonl_store import JsonlStore
from session.store import CommitStatus

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from session.projection import ProjectionChange
    from session.store import StoredSession

_PART = "commit"
_BARE = "bare write"
_MEGABYTE = 1_000_000


class _TimedLock(AgentLock):
    """The shared lock of one folder, which knows for how many seconds it was held last."""

    seconds = 0.0

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock; see `AgentLock`."""
        with super().held():
            begin = time.perf_counter()
            yield
            self.seconds = time.perf_counter() - begin


def measure_commit(place: Path, megabytes: float, rounds: int) -> Iterator[Measure]:
    """Measure commits of one session of about that size.

    The plan, the entry and the reading are not in it; the waits for an agent's sake aren't either.
    """
    folder = place / f"commit-{megabytes:g}"
    folder.mkdir()
    (folder / AGENT_LOCK_NAME).touch()  # an agent is there that takes it
    path = write_session(folder, 0, int(megabytes * _MEGABYTE), read_clock())
    store, lock = JsonlStore([folder]), _TimedLock(folder, pace=0.0)
    store._folders._locks[folder] = lock  # noqa: SLF001 - the one way to see how long it is held
    ours, locked, bare = [], [], []
    entry = store.list_sessions()[0]
    compaction = Compaction.digest(store.load(entry), KEPT_TURNS)
    for _ in range(rounds):
        session = store.load(entry)
        change = compaction.change(session)
        ours.append(take_time(lambda: _commit(store, session, change)))  # noqa: B023 - called here
        locked.append(lock.seconds)
        with store.exclusive():
            pass  # lets go of the original
        data = path.read_bytes()
        bare.append(take_time(lambda: write_bare(path, data)))  # noqa: B023 - called here
    what = f"{megabytes:g} MB"
    yield Measure(_PART, what, _BARE, min(ours), min(bare))
    yield Measure(_PART, f"{what}, lock held", _BARE, min(locked), min(bare))


def _commit(store: JsonlStore, session: StoredSession, change: ProjectionChange) -> None:
    result = store.commit(session, change, lambda _tail: None)
    if result.status is not CommitStatus.COMMITTED:
        raise RuntimeError(result.detail)


def write_bare(path: Path, data: bytes) -> None:
    """Put `data` durably in the place of a file, with no thought for other writers.

    The least that takes: a temporary file, its fsync, the replace, an fsync of the folder.
    """
    temp = path.with_suffix(".tmp")
    with temp.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temp.replace(path)
    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
