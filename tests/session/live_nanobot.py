"""nanobot's session manager as far as the plugin knows it, and a worker that writes its files.

`Memory` reads a file once, and writes what it has; the real one is in tests/nanobot.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from session.keys import file_name
from session.nanobot_adoption import Written

KEY = "websocket:1"
THEN = datetime(2026, 11, 30, 9, 0)  # noqa: DTZ001 - naive, as nanobot writes it
EMPTY = Written(0, None, None)
OURS = Written(4, {"text": "entry", "last_active": ""}, {"version": 1})
OTHER = Written(2, {"text": "another", "last_active": ""}, None)


@dataclass
class Live:
    """A session in memory, with the fields of nanobot's."""

    key: str
    messages: list[dict[str, Any]] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    updated_at: datetime = THEN
    last_consolidated: int = 0
    provider_state: object = None

    @property
    def written(self) -> Written:
        """Its projection."""
        return Written.in_memory(self)


class Memory:
    """A session manager that never looks at a file twice."""

    def __init__(self, folder: Path) -> None:
        self.sessions_dir = folder
        self.cache: dict[str, Live] = {}
        self.locked = 0
        self.get_or_create: Callable[[str], Any] = self._get_or_create
        self.save: Callable[..., None] = self._save

    def _get_or_create(self, key: str) -> Live:
        if key not in self.cache:
            self.cache[key] = self._load(key)
        return self.cache[key]

    def _load(self, key: str) -> Live:
        path = self._get_session_path(key)
        if not path.exists():
            return Live(key)
        header, *rows = [json.loads(line) for line in path.read_text().splitlines()]
        at = datetime.fromisoformat(header["updated_at"])
        return Live(key, rows, header["metadata"], at, header["last_archived"])

    def _save(self, session: Live, *, fsync: bool = False) -> None:
        assert isinstance(fsync, bool)
        write(self._get_session_path(session.key), session)
        self.cache[session.key] = session

    def _get_session_path(self, key: str) -> Path:
        return self.sessions_dir / file_name(key)

    @contextmanager
    def locked_session_files(self) -> Iterator[None]:
        """The lock of the folder."""
        self.locked += 1
        yield


def write(path: Path, session: Live) -> None:
    """Write a session as nanobot does: another file in the place of the one that was there."""
    cursors = dict.fromkeys(["last_archived", "last_consolidated"], session.last_consolidated)
    header = {"_type": "metadata", "updated_at": session.updated_at.isoformat(), **cursors}
    rows = [header | {"metadata": session.metadata}, *session.messages]
    spare = path.with_suffix(".spare")
    spare.write_text("".join(json.dumps(row) + "\n" for row in rows))
    spare.replace(path)


@dataclass
class Beside:
    """A live manager with the plugin, a clock, and a worker beside it."""

    manager: Memory
    now: float = 100.0

    @property
    def path(self) -> Path:
        """The file of the session."""
        return self.manager.sessions_dir / file_name(KEY)

    def ask(self, *, after: float = 10.0) -> Live:
        """Ask for the session so many seconds later."""
        self.now += after
        live: Live = self.manager.get_or_create(KEY)
        return live

    def save(self, session: Live, *, after: float = 10.0) -> None:
        """Save it so many seconds later."""
        self.now += after
        self.manager.save(session, fsync=True)

    def compact(self, written: Written = OURS) -> None:
        """Write another projection into the file, as the worker does."""
        found = Memory(self.manager.sessions_dir).get_or_create(KEY)
        found.last_consolidated = written.covers
        found.metadata = {
            "title": "kept",
            "_last_summary": written.summary,
            "_compaction": written.stamp,
        }
        write(self.path, found)

    def in_file(self) -> Written:
        """The projection in the file."""
        found: Live = Memory(self.manager.sessions_dir).get_or_create(KEY)
        return found.written
