"""Two agents of one session: the messages and metadata of both, or a conflict that says so."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING

import pytest

from session.errors import SessionConflict
from session.keys import file_name
from session.manager import SessionManager

if TYPE_CHECKING:
    from pathlib import Path

from tests.session.sharing import KEY, started, stored, texts


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
