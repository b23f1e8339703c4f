"""What a store must do for an agent, which holds sessions in memory and writes them whole.

A worker has a narrower need and a contract of its own, `session.store`; a store may serve both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from session.document import Document
    from session.message import Message
    from session.record import Header


@dataclass(frozen=True, slots=True)
class Record:
    """A session as an agent read it. `version` is the store's own; None where nothing is stored.

    `name` is the store's own name of the record (a path), for messages to people.
    """

    key: str
    name: str
    version: object | None
    document: Document


@dataclass(frozen=True, slots=True)
class Listed:
    """A session as a list shows it: its header, if it has one, and some of its first messages."""

    key: str
    name: str
    header: Header | None
    messages: tuple[Message, ...]


class Presence(Protocol):
    """A sign for the worker that an agent is here, until it is closed."""

    def close(self) -> None:
        """Take the sign away."""


class AgentStore(Protocol):
    """Where an agent keeps its sessions. All methods may be called from several threads at once.

    Each raises a `SessionFault` where a session can't be read or written.
    """

    def read(self, key: str) -> Record:
        """Read a session, whatever state it is in; an empty document where there is none.

        A session of an older layout is found, and moved to its place of today if that is possible.
        """

    def version_of(self, record: Record) -> object | None:
        """Return the version that is stored now, in about the time of one `stat`."""

    def write(self, record: Record, document: Document, *, durable: bool) -> Record | None:
        """Store `document` if the version of `record` is still the stored one; None if not.

        All or nothing. With `durable` it survives a power cut. What could not be read of a damaged
        record is put aside before it is written the first time.
        """

    def holding(self) -> AbstractContextManager[None]:
        """Keep other agents from writing meanwhile, for a save that is overtaken time and again."""

    def sync(self, record: Record) -> None:
        """Make durable what is stored."""

    def delete(self, key: str) -> bool:
        """Delete a session with all that is kept of it, and say whether there was one."""

    def list_records(self) -> list[Listed]:
        """Return every session, without reading more than the beginnings."""

    def announce(self) -> Presence:
        """Tell the worker that an agent is here which looks at the store before each turn."""
