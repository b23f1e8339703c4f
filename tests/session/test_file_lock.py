"""The lock that we share with an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from filelock import FileLock, Timeout

from session import file_lock
from session.errors import SessionWriteError
from session.file_lock import AgentLock
from session.jsonl_store import JsonlStore
from session.keys import file_name
from session.store import CommitStatus
from tests.session.builders import change_for, session_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from session.store import SessionTail

AGENTS_LOCK = ".session-files.lock"


def allow(_: SessionTail) -> None:
    """Let every commit through."""


def test_an_agents_lock_is_taken_where_there_is_one(tmp_path: Path) -> None:
    """While we hold it an agent with the filelock package waits, and afterwards it has it."""
    (tmp_path / AGENTS_LOCK).touch()
    theirs = FileLock(tmp_path / AGENTS_LOCK, timeout=0)
    with AgentLock(tmp_path).held(), pytest.raises(Timeout):
        theirs.acquire()
    with theirs:
        pass


def test_no_lock_is_made_where_there_is_none(tmp_path: Path) -> None:
    """Its file tells us that an agent takes it, so it must not be ours."""
    lock = AgentLock(tmp_path)
    assert not lock.is_shared
    with lock.held():
        assert list(tmp_path.iterdir()) == []
    assert not lock.is_shared


def test_an_agent_that_holds_its_lock_is_waited_for_and_then_let_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The session is as it was, and the error says why."""
    monkeypatch.setattr(file_lock, "PATIENCE_SECONDS", 0.05)
    live = tmp_path / file_name("telegram:42")
    live.write_bytes(session_bytes())
    store = JsonlStore([tmp_path])
    session = store.load(store.list_sessions()[0])
    change = change_for(session.messages, 4)
    with (
        FileLock(tmp_path / AGENTS_LOCK),
        pytest.raises(SessionWriteError, match="the agent holds the folder's lock"),
    ):
        store.commit(session, change, allow)
    assert live.read_bytes() == session_bytes()
    assert {path.name for path in (tmp_path / ".compactor").iterdir()} == {"commits.lock"}
    assert store.commit(session, change, allow).status is CommitStatus.COMMITTED
