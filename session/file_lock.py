"""The lock that a folder's agent takes too, and the manners of sharing it.

nanobot (since August 2026) takes `.session-files.lock` with the filelock package around every read
and write, and waits for it on its event loop. So it is held for milliseconds, and on a folder that
an agent may be using it is taken at most four times a second.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

AGENT_LOCK_NAME = ".session-files.lock"
PAUSE_SECONDS = 0.25
PATIENCE_SECONDS = 5.0
_POLL_SECONDS = 0.01


class AgentLock:
    """The shared lock of one folder. `pace` is the least time between two takings, in seconds."""

    def __init__(self, folder: Path, *, pace: float = PAUSE_SECONDS) -> None:
        self._path = folder / AGENT_LOCK_NAME
        self._pace = pace
        self._free_at = 0.0
        self._mutex = threading.RLock()
        self._is_held = False  # by the thread that has the mutex
        self._never = threading.Event()

    @property
    def is_shared(self) -> bool:
        """Whether somebody takes this lock: its file is there."""
        return self._path.exists()

    def share(self) -> None:
        """Make the lock's file, as an agent does: from now on whoever writes here takes it."""
        self._path.touch(0o600)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock; raises `filelock.Timeout` if nobody gives it up for five seconds.

        A thread that holds it may take it again.

        It does not make the file: that it is there tells us that an agent takes it, and one made
        by another user would keep the agent out.
        """
        if not self.is_shared:
            yield
            return
        with self._mutex:
            if self._is_held:
                yield
                return
            self._never.wait(max(0.0, self._free_at - time.monotonic()))
            try:
                lock = FileLock(self._path)
                with lock.acquire(timeout=PATIENCE_SECONDS, poll_interval=_POLL_SECONDS):
                    self._is_held = True
                    yield
            finally:
                self._is_held = False
                self._free_at = time.monotonic() + self._pace


__all__ = ["AGENT_LOCK_NAME", "AgentLock", "Timeout"]
