"""An agent that shares its sessions with a worker and with other agents."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING

import pytest
from filelock import FileLock, Timeout

from session.errors import SessionConflict, UnreadableSessionError
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


def test_a_compaction_is_seen_at_the_next_ask(tmp_path: Path) -> None:
    """The same session, all messages still there, and a history of entry and kept messages."""
    manager, session = started(tmp_path)
    compact(tmp_path, 6)
    assert manager.get_or_create(KEY) is session
    assert len(session.messages) == 8
    history = session.get_history()
    assert [row["role"] for row in history] == ["user", "assistant"]
    assert history[0]["content"] == "What was said.\n\nquestion 4"


def test_a_compaction_survives_a_save_of_what_was_read_before(tmp_path: Path) -> None:
    """The agent has not asked again: its message is added, the projection stays."""
    manager, session = started(tmp_path)
    projection = compact(tmp_path, 6)
    session.add_message("user", "I am back")
    manager.save(session)
    assert session.covers == 6
    again = stored(tmp_path)
    assert texts(again)[-1] == "I am back"
    assert (again.covers, again.summary) == (6, projection.entry)
    assert again.projection.stamp is not None


def test_unsaved_messages_are_merged_with_a_compaction(tmp_path: Path) -> None:
    """They are after the cursor, in memory and then in the file."""
    manager, session = started(tmp_path)
    session.add_message("user", "not saved yet")
    compact(tmp_path, 8)
    manager.get_or_create(KEY)
    assert texts(session)[-1] == "not saved yet"
    assert session.get_history()[-1]["content"].endswith("not saved yet")
    manager.flush_all()
    assert texts(stored(tmp_path))[-1] == "not saved yet"
    assert stored(tmp_path).covers == 8


def test_messages_of_a_second_agent_come_first(tmp_path: Path) -> None:
    """Both have grown from a common beginning: what was stored first is first."""
    manager, mine = started(tmp_path, 1)
    other = SessionManager(tmp_path)
    theirs = other.get_or_create(KEY)
    rows = list(mine.messages)
    theirs.add_message("user", "theirs")
    other.save(theirs)
    mine.add_message("user", "mine")
    manager.save(mine)
    assert texts(mine) == ["question 1", "answer 1 / né", "theirs", "mine"]
    assert mine.messages[0] is rows[0], "the messages stay the same objects"
    assert texts(other.get_or_create(KEY)) == texts(mine) == texts(stored(tmp_path))


def test_one_that_is_the_beginning_of_the_other_is_not_doubled(tmp_path: Path) -> None:
    """The same message, recorded by both, stands there once."""
    manager, mine = started(tmp_path, 1)
    other = SessionManager(tmp_path)
    theirs = other.get_or_create(KEY)
    shared = {"role": "assistant", "content": "delivered", "_delivery_id": "d1"}
    theirs.messages += [dict(shared), {"role": "user", "content": "thanks"}]
    other.save(theirs)
    mine.messages.append(dict(shared))
    manager.save(mine)
    assert texts(stored(tmp_path))[2:] == ["delivered", "thanks"]


def test_what_another_agent_spelled_anew_is_the_same_message(tmp_path: Path) -> None:
    """Nanobot's own save re-escapes lines; that is no other conversation."""
    manager, session = started(tmp_path)
    path = tmp_path / file_name(KEY)
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    session.add_message("user", "one more")
    manager.save(session)
    assert len(session.messages) == 9
    assert len(stored(tmp_path).messages) == 9


def test_what_does_not_go_together_is_a_conflict_and_writes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Both are named; memory stands until the agent decides, and then it can go on."""
    manager, session = started(tmp_path)
    session.messages.pop(0)
    path = tmp_path / file_name(KEY)
    with path.open("ab") as file:
        file.write(b'{"role": "user", "content": "theirs"}\n')
    before = path.read_bytes()

    with pytest.raises(SessionConflict) as raised:
        manager.save(session)

    assert (raised.value.mine, raised.value.theirs) == (7, 9)
    assert KEY in str(raised.value)
    assert file_name(KEY) in str(raised.value)
    assert path.read_bytes() == before
    assert len(manager.get_or_create(KEY).messages) == 7
    assert "session_conflict" in caplog.text
    manager.invalidate(KEY)
    again = manager.get_or_create(KEY)
    assert len(again.messages) == 9
    manager.save(again)


def test_an_edit_is_saved_where_nobody_else_has_written(tmp_path: Path) -> None:
    """Also under a compaction that covers less than what was changed."""
    manager, session = started(tmp_path)
    session.messages[7]["content"] = "edited"
    compact(tmp_path, 4)
    manager.save(session)
    assert texts(stored(tmp_path))[7] == "edited"
    assert stored(tmp_path).covers == 4


def test_a_clear_wins_over_a_compaction_of_what_was_cleared(tmp_path: Path) -> None:
    """There is nothing left that the entry could stand for."""
    manager, session = started(tmp_path)
    compact(tmp_path, 6)
    session.clear()
    session.add_message("user", "new topic")
    manager.save(session)
    again = stored(tmp_path)
    assert (texts(again), again.covers, again.summary) == (["new topic"], 0, None)


def test_a_clear_by_another_agent_is_seen(tmp_path: Path) -> None:
    """By one that has nothing unsaved."""
    manager, session = started(tmp_path)
    other = SessionManager(tmp_path)
    theirs = other.get_or_create(KEY)
    theirs.clear()
    other.save(theirs)
    assert manager.get_or_create(KEY) is session
    assert session.messages == []


def test_a_deleted_session_is_gone_for_those_who_had_nothing_to_add(tmp_path: Path) -> None:
    """And what was not saved yet is not lost by the deletion."""
    manager, session = started(tmp_path, 1)
    other = SessionManager(tmp_path)
    kept = other.get_or_create(KEY)
    kept.add_message("user", "not saved yet")
    SessionManager(tmp_path).delete_session(KEY)
    assert manager.get_or_create(KEY).messages == []
    assert session.metadata == {}
    other.save(kept)
    assert texts(stored(tmp_path)) == ["not saved yet"]


def test_what_was_cleared_stays_cleared_and_what_was_said_since_is_kept(tmp_path: Path) -> None:
    """A second agent had not saved yet: its message stands alone."""
    manager, session = started(tmp_path)
    other = SessionManager(tmp_path)
    theirs = other.get_or_create(KEY)
    theirs.add_message("user", "said since")
    session.clear()
    manager.save(session)
    other.save(theirs)
    assert texts(stored(tmp_path)) == texts(theirs) == ["said since"]


@pytest.mark.parametrize("unsaved", [False, True])
def test_a_file_that_was_emptied_by_accident_is_written_again(
    tmp_path: Path, unsaved: bool
) -> None:
    """That is how no agent clears a session: memory has what was in it, entry and all."""
    manager, session = started(tmp_path)
    compact(tmp_path, 6)
    manager.get_or_create(KEY)
    if unsaved:
        session.add_message("user", "one more")
    (tmp_path / file_name(KEY)).write_bytes(b"")
    assert manager.get_or_create(KEY) is session
    manager.flush_all()
    again = stored(tmp_path)
    assert len(again.messages) == 8 + unsaved
    assert (again.covers, again.summary) == (6, "What was said.")


@pytest.mark.parametrize("replaced_by", ["agent", "worker"])
def test_a_line_written_through_an_old_handle_is_found(tmp_path: Path, replaced_by: str) -> None:
    """Somebody had the file open while it was replaced, by an agent or by the worker."""
    manager, session = started(tmp_path)
    with (tmp_path / file_name(KEY)).open("ab", buffering=0) as late:
        if replaced_by == "agent":
            session.add_message("user", "meanwhile")
            manager.save(session)
        else:
            compact(tmp_path, 4)
        late.write(b'{"role": "user", "content": "late"}\n')
    assert texts(manager.get_or_create(KEY))[-1] == "late"
    assert texts(stored(tmp_path)).count("late") == 1
    manager.get_or_create(KEY)
    assert not list(tmp_path.glob(".compactor/*.tmp"))


def test_a_delivery_that_two_agents_recorded_stands_once(tmp_path: Path) -> None:
    """Both had looked before either had saved."""
    manager, session = started(tmp_path)
    other = SessionManager(tmp_path)
    theirs = other.get_or_create(KEY)
    for one in (session, theirs):
        one.add_message("assistant", "Ready", _channel_delivery=True, _delivery_id="d1")
    other.save(theirs)
    manager.save(session)
    assert texts(session) == texts(stored(tmp_path))
    assert texts(session).count("Ready") == 1


def test_a_slow_writer_is_not_starved_by_a_busy_one(tmp_path: Path) -> None:
    """After some vain tries it keeps the other from writing while it merges."""
    manager, session = started(tmp_path)
    busy = SessionManager(tmp_path)
    stop = threading.Event()
    done: list[int] = []

    def save_all_the_time() -> None:
        theirs = busy.get_or_create(KEY)
        while not stop.is_set():
            theirs.add_message("user", "theirs")
            busy.save(theirs)
            done.append(1)

    thread = threading.Thread(target=save_all_the_time)
    thread.start()
    try:
        for number in range(20):
            session.add_message("user", f"mine {number}")
            manager.save(session)
    finally:
        stop.set()
        thread.join()
    said = texts(stored(tmp_path))
    assert [text for text in said if text.startswith("mine")] == [f"mine {n}" for n in range(20)]
    assert said.count("theirs") == len(done)


def test_metadata_is_merged_key_by_key(tmp_path: Path) -> None:
    """What each has changed; the rest as it is stored."""
    manager, mine = started(tmp_path)
    other = SessionManager(tmp_path)
    theirs = other.get_or_create(KEY)
    theirs.metadata |= {"both": "theirs", "theirs": 1}
    other.save(theirs)
    mine.metadata |= {"both": "mine", "mine": True}
    manager.save(mine)
    assert mine.metadata == {"both": "mine", "theirs": 1, "mine": True}
    assert stored(tmp_path).metadata == mine.metadata
    del mine.metadata["theirs"]
    manager.save(mine)
    assert other.get_or_create(KEY).metadata == {"both": "mine", "mine": True}


def test_the_agents_own_compaction_is_saved(tmp_path: Path) -> None:
    """Cursor and entry are the agent's to set, too."""
    manager, session = started(tmp_path)
    session.metadata["_last_summary"] = {"text": "by the agent", "last_active": ""}
    session.last_consolidated = 6
    manager.save(session)
    again = stored(tmp_path)
    assert (again.covers, again.summary) == (6, "by the agent")


def test_the_worker_hears_of_an_agent_while_it_lives(tmp_path: Path) -> None:
    """A file that can't be locked exclusively until the manager is closed, or gone."""
    manager, _ = started(tmp_path)
    [sign] = tmp_path.glob(".compactor/adopter-*.json")
    assert json.loads(sign.read_bytes())["kind"] == "library"
    with pytest.raises(Timeout):
        FileLock(sign, timeout=0).acquire()
    second = SessionManager(tmp_path)
    second.get_or_create(KEY)
    assert len(list(tmp_path.glob(".compactor/adopter-*.json"))) == 2
    second.close()
    del manager
    assert list(tmp_path.glob(".compactor/adopter-*.json")) == []


def test_a_sign_that_a_dead_agent_left_is_removed(tmp_path: Path) -> None:
    """Nobody holds its lock any more."""
    area = tmp_path / ".compactor"
    area.mkdir()
    stale = area / "adopter-0123456789ab.json"
    stale.write_text("{}")
    manager, _ = started(tmp_path)
    assert not stale.exists()
    manager.close()


def test_a_removed_message_leaves_the_bytes_of_the_others(tmp_path: Path) -> None:
    """Also where a compaction came in between, and whatever their spelling."""
    odd = [f'{{ "role":"user",  "content":"n\\u00e9 {number}" }}'.encode() for number in range(4)]
    path = tmp_path / file_name(KEY)
    path.write_bytes(session_bytes(0) + b"".join(line + b"\n" for line in odd))
    manager = SessionManager(tmp_path)
    session = manager.get_or_create(KEY)
    session.messages.pop(2)
    compact(tmp_path, 1)
    manager.save(session)
    assert path.read_bytes().split(b"\n")[1:-1] == [odd[0], odd[1], odd[3]]
    assert session.covers == 1


def test_a_folder_that_is_gone_is_an_error_and_empties_no_session(tmp_path: Path) -> None:
    """It was unmounted, most likely; when it is back, all goes on."""
    folder = tmp_path / "sessions"
    folder.mkdir()
    manager, session = started(folder)
    folder.rename(tmp_path / "away")
    with pytest.raises(UnreadableSessionError, match="its folder is gone"):
        manager.get_or_create(KEY)
    assert len(session.messages) == 8
    (tmp_path / "away").rename(folder)
    assert manager.get_or_create(KEY) is session
    assert len(session.messages) == 8
