"""The file of the journal: opening it, bringing it up to this release, and what can go wrong there.

Every change is one transaction, synced before it returns.
"""

from __future__ import annotations

import contextlib
import errno
import sqlite3
import threading
from typing import TYPE_CHECKING

from compactor.errors import JournalError, JournalUnavailableError
from compactor.journal_schema import SCHEMA_VERSION, upgrade_from

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILE_NAME = "journal.sqlite3"
_PATIENCE = 10.0  # seconds to wait for another process
_BEGIN_ANEW = "move it aside and a new one is begun"
_ALLOW = "the worker must be able to write to it and to its folder; see [state] dir"
_REMEDIES = {
    sqlite3.SQLITE_BUSY: "another process holds it; try again when that is done",
    sqlite3.SQLITE_READONLY: _ALLOW,
    sqlite3.SQLITE_CANTOPEN: _ALLOW,
    sqlite3.SQLITE_PERM: _ALLOW,
    sqlite3.SQLITE_FULL: "make room on its disk",
    sqlite3.SQLITE_IOERR: "see to its disk",
}
# What passes by itself, or is mended elsewhere: a service is to be started again after it.
_PASSING = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}
_PASSING_HERE = {errno.ENOSPC, errno.EDQUOT, errno.EIO}


class JournalFile:
    """The file in `folder`, readable by its owner alone; made if need be, unless `read_only`.

    `version_read` is that of its tables, which may be an older one where it is only read. All of
    this raises `JournalError`.
    """

    def __init__(self, folder: Path, *, read_only: bool = False) -> None:
        self._path = folder / FILE_NAME
        self._mutex = threading.Lock()
        try:
            if not read_only:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._path.touch(mode=0o600)
                if self._path.stat().st_mode & 0o077:  # it was copied here, perhaps
                    self._path.chmod(0o600)
        except (OSError, ValueError) as error:
            problem = (getattr(error, "strerror", None) or str(error)).lower()
            passes = getattr(error, "errno", None) in _PASSING_HERE
            raised = JournalUnavailableError if passes else JournalError
            raise raised(str(self._path), f"{problem}; see [state] dir") from error
        with self._faults():
            self._db = self._connect(f"{self._path.absolute().as_uri()}?mode=rw")
        try:
            self._prepare(read_only=read_only)
        except BaseException:
            self._db.close()
            raise

    def _connect(self, uri: str) -> sqlite3.Connection:
        return sqlite3.connect(
            uri, uri=True, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
        )

    def _prepare(self, *, read_only: bool) -> None:
        with self._faults():
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.execute("PRAGMA secure_delete = ON")  # what is forgotten leaves no trace
            version = self._known_version()
            if version == 0 and read_only:  # nobody has written to it yet
                self._db.close()
                self._db = self._connect("file::memory:")
        if upgrade_from(version) and (version == 0 or not read_only):
            with self.changing() as db:
                # Read again: another process may have been faster.
                for statement in upgrade_from(self._version()):
                    db.execute(statement)
        with self._faults():
            self.version_read = self._known_version()  # an older one, where we only read
            if read_only:  # a change that a killed process left half made is still rolled back
                self._db.execute("PRAGMA query_only = ON")

    def _known_version(self) -> int:
        version = self._version()
        if version > SCHEMA_VERSION:
            raise JournalError(
                str(self._path),
                f"it has version {version} and this release knows {SCHEMA_VERSION}: "
                f"install the release that made it, or {_BEGIN_ANEW}",
            )
        return version

    def _version(self) -> int:
        return int(self._db.execute("PRAGMA user_version").fetchone()[0])

    def close(self) -> None:
        """Close the file."""
        with self._mutex:
            self._db.close()

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection to read from; a row that says nothing is a `JournalError` too."""
        try:
            with self._mutex, self._faults():
                yield self._db
        except (ValueError, TypeError, AttributeError) as error:
            problem = f"a row of it can't be read: {_BEGIN_ANEW}"
            raise JournalError(str(self._path), problem) from error

    @contextlib.contextmanager
    def changing(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection within one transaction, synced when it ends."""
        with self._mutex, self._faults():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            finally:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")

    @contextlib.contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            kind = getattr(error, "sqlite_errorcode", 0) & 0xFF  # above it stand the details
            remedy = _REMEDIES.get(kind, _BEGIN_ANEW)
            raised = JournalUnavailableError if kind in _PASSING else JournalError
            raise raised(str(self._path), f"{error}: {remedy}") from error
        except UnicodeDecodeError as error:  # what SQLite tells of damaged tables may be no text
            raise JournalError(str(self._path), f"it is damaged: {_BEGIN_ANEW}") from error
