"""Sessions in folders of JSON Lines files, nanobot's own layout.

A compaction rewrites the header line, drops the provider state and copies every other byte. Nothing
is ever renamed, and whatever is ours lies in `.compactor/` inside the folder.
"""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from session.durable import swap_file
from session.errors import SessionWriteError, UnreadableSessionError
from session.file_lock import Timeout
from session.folders import Folders
from session.kernel import ExchangeMissingError
from session.keys import SUFFIX
from session.listing import tell_reason
from session.model import FileIdentity
from session.store import (
    CommitResult,
    CommitStatus,
    SessionEntry,
    SessionStore,
    SessionTail,
    StoredSession,
    find_conflict,
)
from session.tail import read_tail
from session.transcript import Transcript

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from session.errors import StoreError
    from session.projection import ProjectionChange
    from session.record import Header

_ATTEMPTS = 3  # how often a commit starts over because the file has just changed


@dataclass(frozen=True, slots=True)
class _Version:
    """A file as it was read: what a commit compares with."""

    entry: SessionEntry
    identity: FileIdentity
    transcript: Transcript


class JsonlStore(SessionStore):
    """The sessions of one or more folders.

    `find_folders` looks again where they are, for a worker that outlives them; without it they stay
    what they are. `agent_stopped` says that no agent is running: then nobody needs the pauses
    between two takings of the shared lock, and a plain replace is safe where the file system can't
    exchange names.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        *,
        agent_stopped: bool = False,
        find_folders: Callable[[], Sequence[Path]] | None = None,
    ) -> None:
        self._agent_stopped = agent_stopped
        self._folders = Folders(folders, find=find_folders, agent_stopped=agent_stopped)

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders, links resolved."""
        return self._folders.paths

    @property
    def places(self) -> tuple[str, ...]:
        """The paths of the folders; see `SessionStore`."""
        return tuple(self._folders.by_name)

    @property
    def faults(self) -> Mapping[str, StoreError]:
        """What keeps single folders from being used; see `SessionStore`."""
        return self._folders.faults

    def list_sessions(self) -> list[SessionEntry]:
        """Return the sessions of all folders; see `SessionStore`.

        Raises `StoreOwnershipError` if a folder or a session file belongs to another user: what we
        wrote there its agent could not write any more.
        """
        return self._folders.list_sessions()

    def peek(self, entry: SessionEntry) -> SessionTail:
        """Read the header and the newest messages; see `SessionStore`."""
        path = self._readable(entry)
        try:
            with path.open("rb") as file:
                tail = read_tail(file)
                modified = _modified(entry.name, os.fstat(file.fileno()))
            in_flight = _in_flight(path)
        except OSError as error:
            raise UnreadableSessionError(entry.name, tell_reason(error)) from error
        if tail is None:
            return self.load(entry).tail
        header, messages, first = tail
        _check_metadata(entry.name, header)
        return SessionTail(entry.ref, header, messages, first, in_flight, modified)

    def load(self, entry: SessionEntry) -> StoredSession:
        """Read one whole file; see `SessionStore`."""
        path = self._readable(entry)
        try:
            data, status = _read(path)
            in_flight = _in_flight(path)
        except OSError as error:
            raise UnreadableSessionError(entry.name, tell_reason(error)) from error
        transcript = Transcript.parse(data)
        if transcript.header is None:
            problem = "no metadata line" if data else "empty"
            raise UnreadableSessionError(entry.name, problem)
        _check_metadata(entry.name, transcript.header)
        return StoredSession(
            entry.ref,
            transcript.header,
            transcript.messages,
            in_flight,
            _modified(entry.name, status),
            _Version(entry, FileIdentity.of(status), transcript),
        )

    def commit(
        self,
        session: StoredSession,
        change: ProjectionChange,
        gate: Callable[[SessionTail], str | None],
    ) -> CommitResult:
        """Replace the projection of one file; see `SessionStore` and `session.durable`."""
        read = session.version
        if not isinstance(read, _Version):
            message = "the session was not read from this store"
            raise TypeError(message)
        path = self._folders.by_name[session.ref.place] / read.entry.name
        try:
            for _ in range(_ATTEMPTS):
                result = self._attempt(session, read, path, change, gate)
                if result is not None:
                    return result
        except (FileNotFoundError, UnreadableSessionError) as error:
            return CommitResult(CommitStatus.CONFLICT, str(error))
        except Timeout as error:
            raise SessionWriteError(path.name, "the agent holds the folder's lock") from error
        except ExchangeMissingError as error:
            raise SessionWriteError(path.name, _NO_EXCHANGE) from error
        except OSError as error:
            raise SessionWriteError(path.name, tell_reason(error)) from error
        return CommitResult(CommitStatus.CONFLICT, "the file keeps changing")

    def _attempt(
        self,
        session: StoredSession,
        read: _Version,
        path: Path,
        change: ProjectionChange,
        gate: Callable[[SessionTail], str | None],
    ) -> CommitResult | None:
        """Try once; None if the file changed while we were at it."""
        now, version = self._read_again(session, read, path)
        conflict = find_conflict(session, now, change)
        if conflict is not None:
            return CommitResult(CommitStatus.CONFLICT, conflict)
        refusal = gate(now.tail)
        if refusal is not None:
            return CommitResult(CommitStatus.BLOCKED, refusal)
        lock = self._folders.lock_of(path.parent)
        live = swap_file(
            path,
            version.transcript.project(change),
            original=version.transcript.data,
            expected=version.identity,
            lock=lock.held,
            may_replace=self._agent_stopped or lock.is_shared,
        )
        return None if live is None else CommitResult(CommitStatus.COMMITTED)

    def _read_again(
        self, session: StoredSession, read: _Version, path: Path
    ) -> tuple[StoredSession, _Version]:
        data, status = _read(path)
        if data != read.transcript.data:
            now = self.load(read.entry)
            version = now.version
            assert isinstance(version, _Version)  # noqa: S101 - `load` has just made it
            return now, version
        version = replace(read, identity=FileIdentity.of(status))
        now = replace(session, in_flight=_in_flight(path), modified=_modified(path.name, status))
        return now, version

    def check_writable(self) -> None:
        """Look whether the folders can be written to; see `SessionStore`."""
        self._folders.check_writable()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold every folder as its one worker; see `SessionStore`."""
        try:
            self.tend()
            yield
            self._folders.finish()
        finally:
            self._folders.let_go()

    def tend(self) -> None:
        """Look again where the folders are, hold and mend them; see `SessionStore`."""
        self._folders.tend()

    def has_worker(self) -> bool:
        """Whether a worker holds one of the folders; see `SessionStore`."""
        return self._folders.have_worker()

    def _readable(self, entry: SessionEntry) -> Path:
        if entry.problem is not None:
            raise UnreadableSessionError(entry.name, entry.problem)
        return self._folders.by_name[entry.ref.place] / entry.name


def _read(path: Path) -> tuple[bytes, os.stat_result]:
    """Read a file and the identity that it had before the first byte was read."""
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        return file.read(), status


def _modified(name: str, status: os.stat_result) -> datetime:
    try:
        return datetime.fromtimestamp(status.st_mtime, UTC)
    except (OverflowError, ValueError, OSError):
        raise UnreadableSessionError(name, "its time of change is beyond all years") from None


def _in_flight(path: Path) -> bool:
    """Whether the state of a running turn lies beside the file (nanobot's checkpoint).

    Raises `OSError` where that can't be seen: a turn that may be running is none to disturb.
    """
    try:
        path.with_name(path.name.removesuffix(SUFFIX) + ".checkpoint.json").stat()
    except FileNotFoundError:
        return False
    except OSError as error:
        # Where the name of the session is as long as a name can be, there is no such file.
        if error.errno != errno.ENAMETOOLONG:
            raise
        return False
    return True


def _check_metadata(name: str, header: Header) -> None:
    metadata = header.fields.get("metadata")
    if metadata and not isinstance(metadata, dict):
        kind = type(metadata).__name__
        raise UnreadableSessionError(name, f"its metadata is a {kind}, not an object")


_NO_EXCHANGE = (
    "this file system can't exchange two files, and nobody is known to share the folder's lock: "
    "stop the agent and say --agent-stopped"
)
