"""The values that name a session and its projection, whatever the store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import os


@dataclass(frozen=True, slots=True, order=True)
class SessionRef:
    """Which session: `place` is the store's own name of the folder that holds it.

    `place` is unique and stable (an absolute path for files); `folder` is the short name that a
    person reads and types; `key` is `channel:chat_id`.
    """

    place: str
    folder: str
    key: str

    @property
    def channel(self) -> str:
        """The part of the key ahead of its first colon (`telegram` of `telegram:42`)."""
        return self.key.partition(":")[0]


class FileIdentity(NamedTuple):
    """What tells one state of a file from another.

    The time of modification alone says nothing (a commit keeps it), and inodes are reused at once;
    the time of change is the one that nobody can set.
    """

    dev: int
    ino: int
    size: int
    mtime_ns: int
    ctime_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> FileIdentity:
        """Take the identity out of what `stat` answered."""
        return cls(
            status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
        )
