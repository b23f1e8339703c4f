"""One session that an agent shares: it, what is stored of it, and a worker that compacts it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from session.jsonl_store import JsonlStore
from session.keys import file_name
from session.manager import SessionManager
from session.projection import Projection
from session.store import CommitStatus
from tests.session.builders import change_for, session_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from session.live import Session
    from session.store import SessionTail


KEY = "telegram:42"


def allow(_: SessionTail) -> None:
    """Let every commit through."""


def compact(folder: Path, covers: int, entry: str = "What was said.") -> Projection:
    """Compact the session as the worker does."""
    store = JsonlStore([folder], agent_stopped=True)
    session = store.load(store.list_sessions()[0])
    change = change_for(session.messages, covers, entry, current=session.projection)
    assert store.commit(session, change, allow).status is CommitStatus.COMMITTED
    return change.projection


def started(folder: Path, turns: int = 4) -> tuple[SessionManager, Session]:
    """Return the manager of a folder with one session, and that session."""
    (folder / file_name(KEY)).write_bytes(session_bytes(turns))
    manager = SessionManager(folder)
    return manager, manager.get_or_create(KEY)


def texts(session: Session) -> list[str]:
    """What was said."""
    return [message["content"] for message in session.messages]


def stored(folder: Path) -> Session:
    """The session as a process that has just started reads it."""
    return SessionManager(folder).get_or_create(KEY)
