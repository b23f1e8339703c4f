"""The locks by which a folder has one worker, for as long as that runs.

A folder may go and come back meanwhile (a mount, a restore), and then the lock of old is nobody's.
The kernel frees the lock of a dead holder, so a left-over file blocks nobody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from session import kernel
from session.durable import AREA_NAME, prepare_area
from session.errors import StoreBusyError

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

LOCK_NAME = "worker.lock"
# Who looks whether there is a worker holds the lock for an instant, and is none.
_PATIENCE_SECONDS = 0.2
_POLL_SECONDS = 0.01


class WorkerLocks:
    """The folders that this process works on; to be used by one thread at a time."""

    def __init__(self) -> None:
        self._held: dict[Path, tuple[FileLock, tuple[int, int]]] = {}

    def take(self, folder: Path) -> None:
        """Hold a folder, if it is not held already; raises `StoreBusyError` if another does."""
        path = prepare_area(folder) / LOCK_NAME
        if folder in self._held:
            if path.exists() and self._held[folder][1] == _identity(path):
                return
            self._free(folder)
        lock = FileLock(path, mode=0o600, thread_local=False)
        try:
            lock.acquire(timeout=_PATIENCE_SECONDS, poll_interval=_POLL_SECONDS)
        except Timeout:
            raise StoreBusyError(str(folder)) from None
        self._held[folder] = (lock, _identity(path))

    def keep_only(self, folders: Collection[Path]) -> None:
        """Let go of all others."""
        for folder in set(self._held) - set(folders):
            self._free(folder)

    def _free(self, folder: Path) -> None:
        lock, _ = self._held.pop(folder)
        lock.release(force=True)


def has_worker(folder: Path) -> bool:
    """Whether a worker holds a folder at present; raises `OSError` where that can't be seen."""
    path = folder / AREA_NAME / LOCK_NAME
    if not path.exists():
        return False
    with kernel.flocked(path, shared=True, wait=False, create=False) as free:
        return not free


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino
