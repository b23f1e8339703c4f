"""Two agents and a worker on one session, in any order: every message once, in order."""

from __future__ import annotations

import tempfile
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from session.jsonl_store import JsonlStore
from session.manager import SessionManager
from session.memory_store import MemoryStore
from session.projection import digest_content, undo_projection
from session.store import CommitStatus
from tests.session.builders import change_for

if TYPE_CHECKING:
    from session.agent_store import AgentStore
    from session.live import Session
    from session.store import SessionStore, SessionTail

KEY = "telegram:42"
STEPS = ("append", "save", "flush", "reload", "compact", "undo", "edit metadata")
_plan = st.lists(
    st.tuples(st.sampled_from(STEPS), st.integers(0, 1), st.integers(0, 8)),
    min_size=20,
    max_size=20,
)


def allow(_: SessionTail) -> None:
    """Let every commit through."""


class World:
    """Two agents, a worker, and what each was promised."""

    def __init__(
        self, agents: tuple[AgentStore | Path, AgentStore | Path], worker: SessionStore
    ) -> None:
        self.managers = [SessionManager(agent) for agent in agents]
        self.worker = worker
        self.numbers = count()
        self.written: list[list[int]] = [[], []]  # by each agent, in its order
        self.held: list[Session] = [manager.get_or_create(KEY) for manager in self.managers]

    def do(self, step: str, who: int, size: int) -> None:
        """Take one step."""
        manager, session = self.managers[who], self.held[who]
        if step == "append":
            number = next(self.numbers)
            session.add_message(("user", "assistant")[number % 2], f"message {number}", n=number)
            self.written[who].append(number)
        elif step == "save":
            manager.save(session)
        elif step == "flush":
            manager.flush_all()
        elif step == "reload":
            assert manager.get_or_create(KEY) is session
        elif step == "edit metadata":
            session.metadata[f"by {who}"] = size
        else:
            self.work(step, size)

    def work(self, step: str, size: int) -> None:
        """Let the worker compact or undo."""
        entries = self.worker.list_sessions()
        if not entries:
            return
        session = self.worker.load(entries[0])
        now = session.projection
        if step == "undo" and now.covers:
            content = digest_content(session.messages[: now.covers])
            change = undo_projection(
                now,
                message_count=len(session.messages),
                content=content,
                at="2026-01-03T00:00:00Z",
                everything=bool(size % 2),
            )
        elif step == "compact" and len(session.messages) > max(size, now.covers):
            covers = max(now.covers, size) + 1
            change = change_for(session.messages, covers, f"entry {covers}", current=now)
        else:
            return
        assert self.worker.commit(session, change, allow).status is CommitStatus.COMMITTED
        self.last = change.projection

    def check(self) -> None:
        """Look at the stored session and at what both agents have of it."""
        for manager, session in zip(self.managers, self.held, strict=True):
            manager.save(session)
        for manager in self.managers:
            manager.get_or_create(KEY)
        stored = self.worker.load(self.worker.list_sessions()[0])
        numbers = [message.data["n"] for message in stored.messages]
        assert sorted(numbers) == list(range(next(self.numbers))), "lost or doubled"
        for mine in self.written:
            assert [number for number in numbers if number in set(mine)] == mine, "out of order"
        for session in self.held:
            assert [row["n"] for row in session.messages] == numbers
            assert session.projection == stored.projection
            assert 0 <= session.covers <= len(numbers)
        if hasattr(self, "last"):
            assert stored.projection.covers == self.last.covers
            assert stored.projection.entry == self.last.entry


def play(world: World, plan: list[tuple[str, int, int]]) -> None:
    """Take the steps and look at the end."""
    for step in plan:
        world.do(*step)
    world.check()


@given(plan=_plan)
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_interleaved_writers_of_files_lose_nothing(plan: list[tuple[str, int, int]]) -> None:
    """Files: every message once, each agent's in its order, the worker's projection stands."""
    with tempfile.TemporaryDirectory(dir=_place()) as name:
        folder = Path(name)
        play(World((folder, folder), JsonlStore([folder], agent_stopped=True)), plan)
        assert len(list(folder.glob("*.jsonl"))) == 1


@given(plan=_plan)
@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_interleaved_writers_of_a_store_lose_nothing(plan: list[tuple[str, int, int]]) -> None:
    """The same in memory."""
    store = MemoryStore()
    play(World((store, store), store), plan)


@pytest.mark.soak
@pytest.mark.timeout(3000)
@given(plan=_plan)
@settings(max_examples=10_000, suppress_health_check=list(HealthCheck), deadline=None)
def test_ten_thousand_interleavings_lose_nothing(plan: list[tuple[str, int, int]]) -> None:
    """The full figure."""
    with tempfile.TemporaryDirectory(dir=_place()) as name:
        folder = Path(name)
        play(World((folder, folder), JsonlStore([folder], agent_stopped=True)), plan)


def _place() -> str | None:
    memory = Path("/dev/shm")  # noqa: S108 - a folder of our own is made in it
    return str(memory) if memory.is_dir() else None
