"""Sessions in memory, for tests and for trying things out; the same contract as the real ones."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from session.errors import StoreBusyError, UnreadableSessionError
from session.model import SessionRef
from session.store import (
    CommitResult,
    CommitStatus,
    SessionEntry,
    SessionStore,
    SessionTail,
    StoredSession,
    find_conflict,
)
from session.transcript import Transcript

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from session.projection import ProjectionChange

_PLACE = "memory"


@dataclass(slots=True)
class MemoryRecord:
    """One session: the bytes of its file, the time of its change, whether a turn is running."""

    data: bytes
    modified: datetime = field(default_factory=lambda: datetime.fromtimestamp(0, UTC))
    in_flight: bool = False


class MemoryStore(SessionStore):
    """Sessions by key, in `records`; write to it as an agent would write its files."""

    def __init__(self, records: dict[str, MemoryRecord] | None = None) -> None:
        self.records = {} if records is None else records
        self._mutex = threading.Lock()
        self._worker = threading.Lock()

    @property
    def places(self) -> tuple[str, ...]:
        """The one place that there is; see `SessionStore`."""
        return (_PLACE,)

    def list_sessions(self) -> list[SessionEntry]:
        """Return every session; see `SessionStore`."""
        return [SessionEntry(SessionRef(_PLACE, _PLACE, key), key) for key in sorted(self.records)]

    def peek(self, entry: SessionEntry) -> SessionTail:
        """Read one session; see `SessionStore`."""
        return self.load(entry).tail

    def load(self, entry: SessionEntry) -> StoredSession:
        """Read one session; see `SessionStore`."""
        record = self.records.get(entry.name)
        transcript = None if record is None else Transcript.parse(record.data)
        if record is None or transcript is None or transcript.header is None:
            raise UnreadableSessionError(entry.name, "gone" if record is None else "no metadata")
        return StoredSession(
            entry.ref,
            transcript.header,
            transcript.messages,
            record.in_flight,
            record.modified,
            (entry, transcript),
        )

    def commit(
        self,
        session: StoredSession,
        change: ProjectionChange,
        gate: Callable[[SessionTail], str | None],
    ) -> CommitResult:
        """Replace the projection of one session; see `SessionStore`."""
        with self._mutex:
            try:
                now = self.load(SessionEntry(session.ref, session.ref.key))
            except UnreadableSessionError as error:
                return CommitResult(CommitStatus.CONFLICT, str(error))
            conflict = find_conflict(session, now, change)
            if conflict is not None:
                return CommitResult(CommitStatus.CONFLICT, conflict)
            refusal = gate(now.tail)
            if refusal is not None:
                return CommitResult(CommitStatus.BLOCKED, refusal)
            record = self.records[session.ref.key]
            record.data = Transcript.parse(record.data).project(change)
            return CommitResult(CommitStatus.COMMITTED)

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold the store; see `SessionStore`."""
        if not self._worker.acquire(blocking=False):
            raise StoreBusyError(_PLACE)
        try:
            yield
        finally:
            self._worker.release()
