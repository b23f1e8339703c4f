"""Each kind of store with an agent beside it, for the suite that all of them pass."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from session.jsonl_store import JsonlStore
from session.keys import file_name
from session.memory_store import MemoryRecord, MemoryStore

if TYPE_CHECKING:
    from pathlib import Path

    from session.store import SessionEntry, SessionStore, StoredSession

KEY = "telegram:42"


class Case(ABC):
    """A store, and an agent that writes to it by its own means."""

    store: SessionStore

    @abstractmethod
    def write(self, data: bytes, key: str = KEY) -> None:
        """Write a whole record."""

    @abstractmethod
    def read(self, key: str = KEY) -> bytes:
        """Read a whole record."""

    @abstractmethod
    def remove(self) -> None:
        """Delete the record."""

    @abstractmethod
    def begin_turn(self) -> None:
        """Leave the state of a running turn beside the record."""

    @abstractmethod
    def second_worker(self) -> SessionStore:
        """Return the same store as another worker has it."""

    def entry(self, key: str = KEY) -> SessionEntry:
        """Return the entry that the listing has for `key`."""
        return next(entry for entry in self.store.list_sessions() if entry.ref.key == key)

    def load(self) -> StoredSession:
        """Load the session."""
        return self.store.load(self.entry())


class JsonlCase(Case):
    """Files in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = JsonlStore([folder])

    def write(self, data: bytes, key: str = KEY) -> None:
        """Write a file or a record."""
        (self.folder / file_name(key)).write_bytes(data)

    def read(self, key: str = KEY) -> bytes:
        """Read it."""
        return (self.folder / file_name(key)).read_bytes()

    def remove(self) -> None:
        """Delete it."""
        (self.folder / file_name(KEY)).unlink()

    def begin_turn(self) -> None:
        """Mark it as in flight."""
        name = file_name(KEY).removesuffix(".jsonl") + ".checkpoint.json"
        (self.folder / name).write_text("{}")

    def second_worker(self) -> SessionStore:
        """Return another view of the same sessions."""
        return JsonlStore([self.folder])


class MemoryCase(Case):
    """A dictionary."""

    def __init__(self) -> None:
        self.store = self.memory = MemoryStore()

    def write(self, data: bytes, key: str = KEY) -> None:
        """Write a file or a record."""
        self.memory.records[key] = MemoryRecord(data)

    def read(self, key: str = KEY) -> bytes:
        """Read it."""
        return self.memory.records[key].data

    def remove(self) -> None:
        """Delete it."""
        del self.memory.records[KEY]

    def begin_turn(self) -> None:
        """Mark it as in flight."""
        self.memory.records[KEY].in_flight = True

    def second_worker(self) -> SessionStore:
        """Return another view of the same sessions."""
        return self.memory
