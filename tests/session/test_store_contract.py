"""What every store promises; one suite over all of them."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from session.errors import StoreBusyError, UnreadableSessionError
from session.projection import Projection, ProjectionChange, undo_projection
from session.store import CommitResult, CommitStatus, SessionEntry, StoredSession
from tests.session.builders import (
    change_for,
    conversation,
    file_bytes,
    header_fields,
    row,
    session_bytes,
)
from tests.session.store_cases import KEY, Case, JsonlCase, MemoryCase

if TYPE_CHECKING:
    from pathlib import Path

    from session.store import SessionTail


@pytest.fixture(params=["jsonl", "memory"])
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Case:
    """A store of each kind, with one session of four exchanges."""
    made = JsonlCase(tmp_path) if request.param == "jsonl" else MemoryCase()
    made.write(session_bytes())
    return made


def allow(_: SessionTail) -> None:
    """Let every commit through."""


def commit(case: Case, session: StoredSession, covers: int = 4) -> CommitResult:
    """Commit a compaction of `session`."""
    return case.store.commit(session, change_for(session.messages, covers), allow)


def test_a_listing_names_every_session(case: Case) -> None:
    """Keys in a stable order, without reading the records."""
    case.write(session_bytes(key="cli:direct"), "cli:direct")
    entries = case.store.list_sessions()
    assert case.store.list_sessions() == entries
    assert {entry.ref.key for entry in entries} == {KEY, "cli:direct"}
    assert {entry.ref.channel for entry in entries} == {"telegram", "cli"}
    assert all(entry.problem is None for entry in entries)


def test_an_empty_store_has_no_sessions(case: Case) -> None:
    """An empty list, no error."""
    case.remove()
    assert case.store.list_sessions() == []


def test_loading_gives_the_whole_session(case: Case) -> None:
    """Messages, header, projection and history."""
    session = case.load()
    assert [message.data for message in session.messages] == conversation(4)
    assert session.header.fields == header_fields()
    assert session.projection == Projection()
    assert session.get_history() == conversation(4)
    assert not session.in_flight


def test_peeking_reaches_back_to_the_last_user_message(case: Case) -> None:
    """Enough to say who spoke last."""
    tail = case.store.peek(case.entry())
    assert [message.data for message in tail.messages][-2:] == conversation(1, start=4)
    assert tail.header.fields == header_fields()
    assert tail.modified == case.load().modified


def test_a_running_turn_is_seen(case: Case) -> None:
    """By both ways of reading."""
    case.begin_turn()
    assert case.load().in_flight
    assert case.store.peek(case.entry()).in_flight


def test_a_record_without_metadata_is_unreadable(case: Case) -> None:
    """It is named, and it is one session's fault."""
    case.write(file_bytes(*conversation(1)))
    with pytest.raises(UnreadableSessionError) as caught:
        case.load()
    assert caught.value.exit_code == 3


def test_a_commit_sets_the_projection_and_nothing_else(case: Case) -> None:
    """Cursor, entry and stamp; the messages are the same bytes."""
    before = case.read()
    session = case.load()
    assert commit(case, session).status is CommitStatus.COMMITTED
    now = case.load()
    assert case.read().split(b"\n")[1:] == before.split(b"\n")[1:]
    assert (now.projection.covers, now.summary) == (4, "What was said so far.")
    assert now.projection.fits(now.messages)
    assert now.header.fields | {"metadata": {}} == header_fields(
        last_archived=4, last_consolidated=4
    )
    assert [message.raw for message in now.kept] == [m.raw for m in session.messages[4:]]
    assert now.modified == session.modified


def test_a_peek_after_a_commit_knows_the_projection(case: Case) -> None:
    """The kept messages are counted."""
    commit(case, case.load())
    tail = case.store.peek(case.entry())
    assert tail.first in {0, 4}
    assert tail.projection == case.load().projection


def test_arrivals_survive_in_order(case: Case) -> None:
    """Messages that came while the model wrote are after the cursor."""
    session = case.load()
    late = conversation(2, start=5)
    case.write(case.read() + file_bytes(*late))
    assert commit(case, session).status is CommitStatus.COMMITTED
    assert [message.data for message in case.load().kept] == [*conversation(4)[4:], *late]


def test_a_changed_kept_message_is_no_conflict(case: Case) -> None:
    """Only what is covered must be what was summarized."""
    session = case.load()
    case.write(case.read().replace(b"question 4", b"question four"))
    assert commit(case, session).status is CommitStatus.COMMITTED
    assert b"question four" in case.read()


@pytest.mark.parametrize(
    "changed",
    [
        session_bytes().replace(b"question 1", b"question one"),
        session_bytes(1),
        session_bytes(last_archived=2, last_consolidated=2),
        session_bytes(metadata={"_last_summary": {"text": "Theirs.", "last_active": ""}}),
        file_bytes(*conversation(4)),
        b"",
    ],
    ids=["a covered line", "cleared", "the cursor", "the entry", "no header", "emptied"],
)
def test_what_changed_since_is_a_conflict(case: Case, changed: bytes) -> None:
    """Nothing is written."""
    session = case.load()
    case.write(changed)
    result = commit(case, session)
    assert result.status is CommitStatus.CONFLICT
    assert result.detail
    assert case.read() == changed


def test_a_session_that_vanished_is_a_conflict(case: Case) -> None:
    """It does not come back."""
    session = case.load()
    case.remove()
    assert commit(case, session).status is CommitStatus.CONFLICT
    assert case.store.list_sessions() == []


def test_the_same_change_commits_once(case: Case) -> None:
    """The cursor has moved, so the second is a conflict."""
    session = case.load()
    commit(case, session)
    assert commit(case, session).status is CommitStatus.CONFLICT


def test_the_gate_sees_the_session_right_before_the_write(case: Case) -> None:
    """What it says is the detail, and nothing is written."""
    session = case.load()
    case.write(case.read() + file_bytes(row("user", "wait")))
    case.begin_turn()
    before, seen = case.read(), []

    def gate(tail: SessionTail) -> str:
        seen.append((tail.messages[-1].data["content"], tail.in_flight))
        return "busy"

    result = case.store.commit(session, change_for(session.messages, 4), gate)
    assert result == CommitResult(CommitStatus.BLOCKED, "busy")
    assert seen == [("wait", True)]
    assert case.read() == before


def test_undo_gives_the_full_transcript_back(case: Case) -> None:
    """Byte for byte but for the header, which remembers what was undone."""
    before = case.read()
    commit(case, case.load())
    session = case.load()
    undo = undo_projection(
        session.projection, message_count=8, content="sha256:x", at="now", everything=True
    )
    assert case.store.commit(session, undo, allow).status is CommitStatus.COMMITTED
    assert case.read().split(b"\n")[1:] == before.split(b"\n")[1:]
    assert case.load().get_history() == conversation(4)
    assert json.loads(case.read().split(b"\n")[0])["metadata"]["_compaction"]["undone"]


def test_one_worker_holds_the_store(case: Case) -> None:
    """The second one hears of it at once, and can have it afterwards."""
    other = case.second_worker()
    with (
        case.store.exclusive(),
        pytest.raises(StoreBusyError) as caught,
        other.exclusive(),
    ):
        pytest.fail("two workers")
    assert caught.value.exit_code == 75
    with other.exclusive():
        pass


def test_whoever_asks_hears_whether_there_is_a_worker(case: Case) -> None:
    """It can be asked at any time, and takes nothing from anybody."""
    other = case.second_worker()
    assert not other.has_worker()
    with case.store.exclusive():
        assert case.store.has_worker()
        assert other.has_worker()
    assert not other.has_worker()


def test_a_worker_looks_after_its_store_again_and_again(case: Case) -> None:
    """It stays the only one."""
    with case.store.exclusive():
        case.store.tend()
        with pytest.raises(StoreBusyError), case.second_worker().exclusive():
            pytest.fail("two workers")


def test_the_store_is_free_after_an_error(case: Case) -> None:
    """A pass that failed blocks nobody."""
    with pytest.raises(ZeroDivisionError), case.store.exclusive():
        _ = 1 / 0
    with case.second_worker().exclusive():
        pass


def test_sessions_are_committed_from_many_threads(case: Case) -> None:
    """Each is changed once and as asked for."""
    keys = [f"cli:{number}" for number in range(24)]
    for key in keys:
        case.write(session_bytes(key=key), key)
    entries = [case.entry(key) for key in keys]

    def compact(entry: SessionEntry) -> CommitStatus:
        session = case.store.load(entry)
        change = change_for(session.messages, 4, f"About {entry.ref.key}.")
        return case.store.commit(session, change, allow).status

    with case.store.exclusive(), ThreadPoolExecutor(8) as pool:
        assert {*pool.map(compact, entries)} == {CommitStatus.COMMITTED}
    for entry in entries:
        assert case.store.load(entry).summary == f"About {entry.ref.key}."


def test_of_many_threads_one_commits_a_session(case: Case) -> None:
    """The others find a conflict; the entry is one of theirs, whole."""
    session = case.load()
    changes = [change_for(session.messages, 4, f"Entry {number}.") for number in range(8)]

    def attempt(change: ProjectionChange) -> CommitStatus:
        return case.store.commit(session, change, allow).status

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(attempt, changes))
    assert results.count(CommitStatus.COMMITTED) == 1
    assert results.count(CommitStatus.CONFLICT) == 7
    assert case.load().summary == f"Entry {results.index(CommitStatus.COMMITTED)}."
    assert len(case.load().messages) == 8
