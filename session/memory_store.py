"""Sessions in memory, for tests and for trying things out; the same contract as the real ones."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from io import BytesIO
from typing import TYPE_CHECKING, cast

from session.agent_store import AgentStore, Listed, Record
from session.document import Document
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
from session.tail import read_tail
from session.transcript import Transcript

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from session.agent_store import Presence
    from session.errors import StoreError
    from session.projection import ProjectionChange

_PLACE = "memory"


@dataclass(slots=True)
class MemoryRecord:
    """One session: the bytes of its file, the time of its change, whether a turn is running."""

    data: bytes
    modified: datetime = field(default_factory=lambda: datetime.fromtimestamp(0, UTC))
    in_flight: bool = False


class _Present:
    """A sign in a store that no other process sees."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        store.agents += 1

    def close(self) -> None:
        """Take it away."""
        self._store.agents -= 1


class MemoryStore(SessionStore, AgentStore):
    """Sessions by key, in `records`; write to it as an agent would write its files."""

    def __init__(self, records: dict[str, MemoryRecord] | None = None) -> None:
        self.records = {} if records is None else records
        self.agents = 0  # that have announced themselves
        self._mutex = threading.RLock()
        self._worker = threading.Lock()

    @property
    def places(self) -> tuple[str, ...]:
        """The one place that there is; see `SessionStore`."""
        return (_PLACE,)

    @property
    def faults(self) -> Mapping[str, StoreError]:
        """None: there is one place; see `SessionStore`."""
        return {}

    def list_sessions(self) -> list[SessionEntry]:
        """Return every session; see `SessionStore`."""
        return [SessionEntry(SessionRef(_PLACE, _PLACE, key), key) for key in sorted(self.records)]

    def peek(self, entry: SessionEntry) -> SessionTail:
        """Read the header and the newest messages; see `SessionStore`."""
        record = self.records.get(entry.name)
        tail = None if record is None else read_tail(BytesIO(record.data))
        if record is None or tail is None:
            return self.load(entry).tail
        header, messages, first = tail
        return SessionTail(entry.ref, header, messages, first, record.in_flight, record.modified)

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

    def check_writable(self) -> None:
        """Memory always is; see `SessionStore`."""

    def commit(
        self,
        session: StoredSession,
        change: ProjectionChange,
        gate: Callable[[SessionTail], str | None],
    ) -> CommitResult:
        """Replace the projection of one session; see `SessionStore`."""
        with self._mutex:
            try:
                now = self._load_again(session)
            except UnreadableSessionError as error:
                return CommitResult(CommitStatus.CONFLICT, str(error))
            conflict = find_conflict(session, now, change)
            if conflict is not None:
                return CommitResult(CommitStatus.CONFLICT, conflict)
            refusal = gate(now.tail)
            if refusal is not None:
                return CommitResult(CommitStatus.BLOCKED, refusal)
            _, transcript = cast("tuple[SessionEntry, Transcript]", now.version)
            self.records[session.ref.key].data = transcript.project(change)
            return CommitResult(CommitStatus.COMMITTED)

    def _load_again(self, session: StoredSession) -> StoredSession:
        """Load a session, or take it as it was read where not a byte has changed."""
        record = self.records.get(session.ref.key)
        entry, read = cast("tuple[SessionEntry, Transcript]", session.version)
        if record is None or record.data != read.data:
            return self.load(entry)
        return replace(session, in_flight=record.in_flight, modified=record.modified)

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold the store; see `SessionStore`."""
        if not self._worker.acquire(blocking=False):
            raise StoreBusyError(_PLACE)
        try:
            yield
        finally:
            self._worker.release()

    def tend(self) -> None:
        """Do nothing: the place is always there; see `SessionStore`."""

    def has_worker(self) -> bool:
        """Whether a worker holds the store; see `SessionStore`."""
        return self._worker.locked()

    def read(self, key: str) -> Record:
        """Read a session, whatever state it is in; see `AgentStore`."""
        record = self.records.get(key)
        if record is None:
            return Record(key, key, None, Document())
        return Record(key, key, record.data, Document.parse(record.data))

    def version_of(self, record: Record) -> object | None:
        """Return the bytes that are stored now; see `AgentStore`."""
        stored = self.records.get(record.key)
        return None if stored is None else stored.data

    def write(self, record: Record, document: Document, *, durable: bool) -> Record | None:
        """Store a session in the place of what was read; see `AgentStore`."""
        del durable  # nothing here survives
        data = document.encode()
        with self._mutex:
            if self.version_of(record) != record.version:
                return None
            stored = self.records.setdefault(record.key, MemoryRecord(data))
            stored.data = data
        return Record(record.key, record.name, data, document)

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Keep others from writing; see `AgentStore`."""
        with self._mutex:
            yield

    def sync(self, record: Record) -> None:
        """Do nothing: it is as durable as it will ever be; see `AgentStore`."""

    def delete(self, key: str) -> bool:
        """Delete a session; see `AgentStore`."""
        return self.records.pop(key, None) is not None

    def list_records(self) -> list[Listed]:
        """Return every session; see `AgentStore`."""
        documents = {key: Document.parse(record.data) for key, record in self.records.items()}
        return [
            Listed(key, key, document.header, document.messages)
            for key, document in documents.items()
        ]

    def announce(self) -> Presence:
        """Count an agent; see `AgentStore`."""
        return _Present(self)
