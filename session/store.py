"""What a store of sessions must do, and the values that it hands out.

A store knows nothing of idleness or models. It lists sessions cheaply, reads one, and replaces a
projection only if what was summarized is still there.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from session.history import EntryForm, build_history
from session.projection import Projection, ProjectionChange, read_projection

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime

    from session.errors import StoreError
    from session.message import Message
    from session.model import SessionRef
    from session.record import Header


@dataclass(frozen=True, slots=True)
class SessionEntry:
    """A session as a listing shows it, before its record is read.

    `name` is the store's own name of the record (a file name). `problem` says why the record can't
    even be opened; such a session is listed so that somebody hears of it.
    """

    ref: SessionRef
    name: str
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class SessionTail:
    """The header and the newest messages: enough to say whether a session is idle.

    The messages reach back at least to the last user message, if there is one. `first` is the
    position of the first of them, or None where nobody has counted. `in_flight` tells of a turn
    whose state lies beside the record; `modified` is the record's own time of change, in UTC.
    """

    ref: SessionRef
    header: Header
    messages: tuple[Message, ...]
    first: int | None
    in_flight: bool
    modified: datetime

    @property
    def projection(self) -> Projection | None:
        """The projection, or None where the messages were not counted."""
        if self.first is None:
            return None
        return read_projection(self.header, self.first + len(self.messages))


@dataclass(frozen=True, slots=True)
class StoredSession:
    """One whole session as it was read. `version` is the store's own, for the commit."""

    ref: SessionRef
    header: Header
    messages: tuple[Message, ...]
    in_flight: bool
    modified: datetime
    version: object

    @property
    def projection(self) -> Projection:
        """What stands for the covered messages at present."""
        return read_projection(self.header, len(self.messages))

    @property
    def tail(self) -> SessionTail:
        """The same session as a scan sees it, with every message counted."""
        return SessionTail(self.ref, self.header, self.messages, 0, self.in_flight, self.modified)

    @property
    def summary(self) -> str | None:
        """The compact entry, for an agent that puts it into its own system prompt."""
        return self.projection.entry

    @property
    def kept(self) -> tuple[Message, ...]:
        """The messages from the cursor on."""
        return self.messages[self.projection.covers :]

    def get_history(
        self,
        *,
        form: EntryForm = EntryForm.MERGED,
        max_messages: int | None = None,
        max_tokens: int | None = None,
        count_tokens: Callable[[dict[str, Any]], int] | None = None,
    ) -> list[dict[str, Any]]:
        """Return what an agent sends to its model; see `build_history`."""
        return build_history(
            self.kept,
            self.summary,
            form=form,
            max_messages=max_messages,
            max_tokens=max_tokens,
            count_tokens=count_tokens,
        )


class CommitStatus(StrEnum):
    """How a conditional write ended."""

    COMMITTED = "committed"
    CONFLICT = "conflict"  # the record is not what was read any more; nothing was written
    BLOCKED = "blocked"  # the gate said no; nothing was written


@dataclass(frozen=True, slots=True)
class CommitResult:
    """How a conditional write ended and, where nothing was written, why."""

    status: CommitStatus
    detail: str = ""


class SessionStore(Protocol):
    """Where sessions live. All methods may be called from several threads at once.

    Each raises a `StoreError` where the store as a whole fails, and a `SessionFault` where only one
    session is concerned.
    """

    @property
    def places(self) -> tuple[str, ...]:
        """The `place` of every folder that is listed, those without sessions included."""

    @property
    def faults(self) -> Mapping[str, StoreError]:
        """What keeps single places from being used where others can be; they are left out.

        As of the last `list_sessions` and `tend`.
        """

    def list_sessions(self) -> list[SessionEntry]:
        """Return every session, without reading more than it takes to know the keys."""

    def peek(self, entry: SessionEntry) -> SessionTail:
        """Read the header and the newest messages of one session."""

    def load(self, entry: SessionEntry) -> StoredSession:
        """Read one session whole."""

    def commit(
        self,
        session: StoredSession,
        change: ProjectionChange,
        gate: Callable[[SessionTail], str | None],
    ) -> CommitResult:
        """Replace the projection of `session`, if that is still true which was read.

        It is a conflict if the covered messages (those of the old projection and of the new one),
        the cursor or the entry have changed since; messages that came after them are kept. `gate`
        sees the session as it is right before the write and returns why not to write, or None.
        All or nothing: killed at any instant, the session is as before or as asked for.
        """

    def check_writable(self) -> None:
        """Raise `StoreError` where a commit could not be written, as far as can be seen."""

    def exclusive(self) -> AbstractContextManager[None]:
        """Hold the store as its one worker, after finishing what a killed one left behind.

        Raises `StoreBusyError` at once if another worker holds it.
        """

    def tend(self) -> None:
        """Look again which places there are, hold the new ones, finish what was interrupted there.

        For whoever holds the store for long: to be called before each pass, and while none is under
        way. Raises `StoreBusyError` if another worker holds a place that was not ours yet.
        """

    def has_worker(self) -> bool:
        """Whether a worker holds the store at present, this process or another."""


def find_conflict(read: StoredSession, now: StoredSession, change: ProjectionChange) -> str | None:
    """Say what speaks against committing a change that was made from `read`, or return None."""
    covers = max(read.projection.covers, change.projection.covers)
    old, new = read.projection, now.projection
    same = now.messages is read.messages  # the record has not changed by a byte
    if not same and _lines(now.messages[:covers]) != _lines(read.messages[:covers]):
        return "the covered messages have changed"
    if (old.covers, old.entry) != (new.covers, new.entry):
        return "somebody else compacted or reset the session"
    return None


def _lines(messages: Sequence[Message]) -> list[bytes]:
    return [message.raw for message in messages]
