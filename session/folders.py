"""The folders of a store: which there are, which can be used, and which this process works on.

Where there are several, one that can't be used (closed to us, another user's, another worker's)
stops none of the others: it is left out, and said to be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from session.durable import AREA_NAME, check_folder, recover
from session.errors import StoreError
from session.file_lock import PAUSE_SECONDS, AgentLock
from session.keys import SUFFIX
from session.listing import check_owner, list_folder, naming
from session.worker_lock import WorkerLocks, has_worker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from session.store import SessionEntry


class Folders:
    """Some folders; `find` looks again where they are, None where they stay what they are."""

    def __init__(
        self,
        paths: Sequence[Path],
        *,
        find: Callable[[], Sequence[Path]] | None,
        agent_stopped: bool,
    ) -> None:
        self._find = find
        self._pace = 0.0 if agent_stopped else PAUSE_SECONDS
        self._locks: dict[Path, AgentLock] = {}
        self._held = WorkerLocks()
        self._left_out: dict[Path, StoreError] = {}  # since the last look
        self._unlisted: dict[Path, StoreError] = {}  # at the last listing
        self._set(paths)

    def _set(self, paths: Sequence[Path]) -> None:
        self.by_name = {str(path): path for path in paths}
        for path in paths:
            if path not in self._locks:
                self._locks[path] = AgentLock(path, pace=self._pace)

    @property
    def paths(self) -> tuple[Path, ...]:
        """The folders, those that are left out included."""
        return tuple(self.by_name.values())

    @property
    def faults(self) -> Mapping[str, StoreError]:
        """What is wrong with those that are left out."""
        return {str(path): error for path, error in (self._left_out | self._unlisted).items()}

    def lock_of(self, path: Path) -> AgentLock:
        """Return the lock that is shared with the agent of a folder."""
        return self._locks[path]

    def list_sessions(self) -> list[SessionEntry]:
        """Return the sessions of all that can be used; raises `StoreError` where none can."""
        found: list[SessionEntry] = []
        self._unlisted = _do_for_each(
            (path for path in self.paths if path not in self._left_out),
            lambda path: found.extend(list_folder(path)),
            alone=not self._left_out,
        )
        return found

    def tend(self) -> None:
        """Look again where they are, hold and mend them; raises `StoreError` where none can be."""
        if self._find is not None:
            self._set(self._find())
        paths = self._of_sessions()
        self._held.keep_only(paths)
        self._left_out = _do_for_each(paths, self._tend_one)
        self._held.keep_only([path for path in paths if path not in self._left_out])

    def _tend_one(self, path: Path) -> None:
        check_owner(path, path.stat())
        check_folder(path)
        if not (path / AREA_NAME).exists():
            list(list_folder(path))  # make nothing where a file is another's
        self._held.take(path)
        recover(path, self._locks[path].held)

    def finish(self) -> None:
        """Have a last look at what was watched."""
        for path in self._of_sessions():
            if path not in self._left_out:
                with naming(path):
                    recover(path, self._locks[path].held)

    def let_go(self) -> None:
        """Hold them no more."""
        self._held.keep_only(())
        self._left_out = {}

    def check_writable(self) -> None:
        """Raise `StoreError` where one of them could not be written to."""
        for path in self._of_sessions():
            with naming(path):
                check_folder(path)

    def have_worker(self) -> bool:
        """Whether a worker holds one of them."""
        for path in self.paths:
            with naming(path):
                if has_worker(path):
                    return True
        return False

    def _of_sessions(self) -> list[Path]:
        """Return the folders to hold: of a glob, not those that only happen to match it."""
        if len(self.paths) == 1:
            return list(self.paths)
        return [path for path in self.paths if _may_hold_sessions(path)]


def _may_hold_sessions(path: Path) -> bool:
    try:
        return (path / AREA_NAME).exists() or any(path.glob(f"*{SUFFIX}"))
    except OSError:
        return True  # nobody knows; whoever looks closer will say so


def _do_for_each(
    paths: Iterable[Path], work: Callable[[Path], None], *, alone: bool = True
) -> dict[Path, StoreError]:
    """Do something for each folder; return what went wrong with some of them.

    Raises that where it went wrong with all, unless others are left out already (not `alone`).
    """
    paths = tuple(paths)
    faults: dict[Path, StoreError] = {}
    for path in paths:
        try:
            with naming(path):
                work(path)
        except StoreError as error:
            faults[path] = error
    if alone and faults and len(faults) == len(paths):
        raise next(iter(faults.values()))
    return faults
