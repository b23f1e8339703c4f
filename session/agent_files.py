"""A folder of session files as an agent uses it: the same files, read with patience, written whole.

Whatever is wrong with a file, what can be read of it is read. Before such a file is written over,
the original is put aside. Files of older layouts are moved to the name of today.
"""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import secrets
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from session import kernel
from session.adopter import SIGN_PREFIX, Adopter
from session.agent_store import AgentStore, Listed, Record
from session.document import Document
from session.durable import AREA_NAME, DAMAGED_NAME, committing, prepare_area, recover, swap_file
from session.errors import SessionPermissionError, SessionWriteError, UnreadableSessionError
from session.file_lock import AgentLock, Timeout
from session.keys import SUFFIX, file_name
from session.layouts import find_old_files, move_file
from session.listing import list_folder, tell_reason
from session.model import FileIdentity
from session.swap import LINK_SUFFIX, RECORD_SUFFIX, TEMP_SUFFIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from session.agent_store import Presence

_log = logging.getLogger("session")
_BEGINNING = 1 << 16  # bytes of a file that a list looks at
_UNFINISHED = (TEMP_SUFFIX, RECORD_SUFFIX, LINK_SUFFIX, kernel.NEW_SUFFIX)
_LOCKED = "another agent holds the folder's lock"
_GONE = "its folder is gone"
_CHECKPOINT_SUFFIX = ".checkpoint.json"


class AgentFiles(AgentStore):
    """The sessions of one folder, which is made when the first of them is written.

    `older` are folders in which an earlier release kept them (`~/.nanobot/sessions`, then
    `<workspace>/sessions`); a session that is still there is moved when it is first read.
    """

    def __init__(self, folder: Path, *, older: Sequence[Path] = ()) -> None:
        self.folder = folder
        self._older = tuple(older)
        self._lock = AgentLock(folder, pace=0.0)

    def read(self, key: str) -> Record:
        """Read a session; see `AgentStore`."""
        path = self.folder / file_name(key)
        self._catch_up()
        try:
            path = self._locate(key)
            with path.open("rb") as file:
                identity = FileIdentity.of(os.fstat(file.fileno()))
                data = file.read()
        except FileNotFoundError:
            return Record(key, str(path), None, Document())
        except OSError as error:
            raise _reading(path, error) from error
        return Record(key, str(path), identity, Document.parse(data))

    def version_of(self, record: Record) -> object | None:
        """Return the identity of the file; see `AgentStore`."""
        self._catch_up()
        try:
            return FileIdentity.of(self._path_of(record).stat(follow_symlinks=False))
        except FileNotFoundError:
            if not self.folder.exists():  # unmounted, most likely: no session was deleted
                raise UnreadableSessionError(record.name, _GONE) from None
            return None
        except OSError as error:
            raise _reading(self._path_of(record), error) from error

    def write(self, record: Record, document: Document, *, durable: bool) -> Record | None:
        """Store a session in the place of what was read; see `AgentStore`."""
        path = self._path_of(record)
        content = document.encode()
        try:
            identity = self._replace(path, record, document, content, durable=durable)
        except Timeout as error:
            raise SessionWriteError(path.name, _LOCKED) from error
        except FileNotFoundError:
            return None  # deleted a moment ago
        except OSError as error:
            raise SessionWriteError(path.name, _tell_write(path, error)) from error
        if identity is None or identity.size != len(content):
            return None  # it has changed, or somebody's line was grafted onto it
        if _is_cleared(record.document, document):
            self._forget(path)
        return Record(record.key, record.name, identity, document)

    def sync(self, record: Record) -> None:
        """Make a file durable; see `AgentStore`."""
        path = self._path_of(record)
        try:
            kernel.fsync_file(path)
            kernel.fsync_folder(path.parent)
        except OSError as error:
            raise SessionWriteError(path.name, tell_reason(error)) from error

    def delete(self, key: str) -> bool:
        """Delete a session under all its names; see `AgentStore`."""
        path = self.folder / file_name(key)
        found = [path, *find_old_files(self.folder, self._older, key)]
        existed = any(name.exists() for name in found)
        checkpoint = path.with_name(path.name.removesuffix(SUFFIX) + _CHECKPOINT_SUFFIX)
        try:
            with self._lock.held():
                for name in (*found, checkpoint):
                    name.unlink(missing_ok=True)
        except Timeout as error:
            raise SessionWriteError(path.name, _LOCKED) from error
        except OSError as error:
            raise SessionWriteError(path.name, tell_reason(error)) from error
        recover(self.folder, self._lock.held)  # what was kept of it goes as well
        return existed

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Hold the folder's lock; see `AgentStore`."""
        with ExitStack() as held:
            try:
                held.enter_context(self._lock.held())
            except Timeout as error:
                raise SessionWriteError(str(self.folder), _LOCKED) from error
            yield

    def list_records(self) -> list[Listed]:
        """Return every session of the folder; see `AgentStore`."""
        if not self.folder.exists():
            return []
        listed = []
        for entry in list_folder(self.folder, any_owner=True):
            path = self.folder / entry.name
            try:
                with path.open("rb") as file:
                    data = file.read(_BEGINNING)
            except OSError:
                data = b""
            beginning = Document.parse(data)
            listed.append(Listed(entry.ref.key, str(path), beginning.header, beginning.messages))
        return listed

    def announce(self) -> Presence:
        """Leave a sign in the folder, and take the lock that its writers share from now on."""
        self._prepare()
        return Adopter(self.folder, "library")

    def _catch_up(self) -> None:
        """See to what was written to a file that has lost its place, or left by a killed agent.

        Where nothing of that kind lies in the hidden folder it costs a look at its names.
        """
        try:
            with os.scandir(self.folder / AREA_NAME) as found:
                unfinished = any(
                    file.name.endswith(_UNFINISHED) and not file.name.startswith(SIGN_PREFIX)
                    for file in found
                )
            if unfinished:
                recover(self.folder, self._lock.held)
        except FileNotFoundError:
            return
        except OSError as error:
            _log.warning("folder_not_recovered folder=%s reason=%r", self.folder, str(error))

    def _prepare(self) -> Path:
        """Make the folder, its hidden part and the shared lock; returns the hidden part."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self._lock.is_shared and self.folder.stat().st_uid == kernel.current_user():
            self._lock.share()
        return prepare_area(self.folder)

    def _path_of(self, record: Record) -> Path:
        return self.folder / record.name

    def _replace(
        self, path: Path, record: Record, document: Document, content: bytes, *, durable: bool
    ) -> FileIdentity | None:
        if record.version is not None and not self.folder.exists():
            raise SessionWriteError(path.name, _GONE)
        area = self._prepare()
        if record.version is None:
            return self._create(area, path, content, durable=durable)
        try:
            with path.open("rb") as file:
                identity = FileIdentity.of(os.fstat(file.fileno()))
                original = file.read()
        except FileNotFoundError:
            return None
        if identity != record.version:
            return None
        if record.document.damage and not _is_cleared(record.document, document):
            self._put_aside(area, path, original, record.document)
        try:
            return swap_file(
                path,
                content,
                original=original,
                expected=identity,
                lock=self._lock.held,
                may_replace=False,
                by_agent=True,
                durable=durable,
            )
        except kernel.ExchangeMissingError:
            return self._replace_plainly(area, path, content, identity, durable=durable)

    def _replace_plainly(
        self, area: Path, path: Path, content: bytes, expected: FileIdentity, *, durable: bool
    ) -> FileIdentity | None:
        """Replace a file where two can't be exchanged: its writers share the lock."""
        temp = area / _new_name()
        with committing(area):
            kernel.write_new(temp, content, like=path, keep_times=False, durable=durable)
            try:
                with self._lock.held():
                    if FileIdentity.of(path.stat(follow_symlinks=False)) != expected:
                        return None
                    temp.replace(path)
                    identity = FileIdentity.of(path.stat())
            finally:
                temp.unlink(missing_ok=True)
        if durable:
            kernel.fsync_folder(path.parent)
        return identity

    def _create(
        self, area: Path, path: Path, content: bytes, *, durable: bool
    ) -> FileIdentity | None:
        """Make a file, if nobody else has made it meanwhile."""
        temp = area / _new_name()
        with committing(area):
            kernel.write_new(temp, content, durable=durable)
            try:
                with self._lock.held():
                    kernel.move_new(temp, path)
                    identity = FileIdentity.of(path.stat())
            except FileExistsError:
                return None
            finally:
                temp.unlink(missing_ok=True)
        if durable:
            kernel.fsync_folder(path.parent)
        return identity

    def _put_aside(self, area: Path, path: Path, original: bytes, document: Document) -> None:
        """Keep a damaged original, once for each damage; what can't be read stays in the file."""
        strays = b"\n".join(stray.raw for stray in document.strays)
        name = hashlib.sha256(original if document.is_irregular else strays).hexdigest()[:12]
        aside = area / DAMAGED_NAME / name
        if (aside / path.name).exists():
            return
        aside.mkdir(mode=0o700, parents=True, exist_ok=True)
        kernel.write_new(aside / path.name, original)
        _log.warning(
            "session_damaged file=%s damage=%r original=%s",
            path,
            document.damage,
            aside / path.name,
        )

    def _forget(self, path: Path) -> None:
        """Remove what was kept of a session that was cleared."""
        for aside in (self.folder / AREA_NAME / DAMAGED_NAME).glob(f"*/{path.name}"):
            aside.unlink(missing_ok=True)

    def _locate(self, key: str) -> Path:
        """Return where a session is or will be; one of an older layout is moved there first."""
        path = self.folder / file_name(key)
        if path.is_symlink():
            raise UnreadableSessionError(path.name, "a symbolic link, which is not followed")
        if path.exists():
            if not path.is_file():
                raise UnreadableSessionError(path.name, "not a regular file")
            return path
        for old in find_old_files(self.folder, self._older, key):
            return self._migrate(old, path)
        return path

    def _migrate(self, old: Path, new: Path) -> Path:
        """Move a file to its place of today; returns where the session is then."""
        try:
            area = self._prepare()
            with committing(area), self._lock.held():
                move_file(old, new, spare=area / _new_name())
        except FileExistsError:
            return new  # somebody was faster
        except (OSError, Timeout) as error:
            if new.exists():
                return new
            _log.warning("session_not_moved file=%s to=%s reason=%r", old, new, str(error))
            return old
        _log.info("session_moved file=%s to=%s", old, new)
        return new


def _new_name() -> str:
    return secrets.token_hex(6) + TEMP_SUFFIX


def _is_cleared(before: Document, after: Document) -> bool:
    return bool(before.messages) and not after.messages


def _tell_write(path: Path, error: OSError) -> str:
    user = kernel.current_user()
    if error.errno == errno.EPERM and user is not None and path.stat().st_uid != user:
        owner = kernel.user_name(path.stat().st_uid)
        return f"it belongs to {owner}: run the agent as {owner}, or give the file to its user"
    return tell_reason(error)


def _reading(path: Path, error: OSError) -> SessionPermissionError | UnreadableSessionError:
    if isinstance(error, PermissionError):
        return SessionPermissionError(path.name, tell_reason(error))
    return UnreadableSessionError(path.name, tell_reason(error))
