"""An agent that shares its sessions with a worker, and with whatever happens to its files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from filelock import FileLock, Timeout

from session.errors import UnreadableSessionError
from session.keys import file_name
from session.manager import SessionManager
from tests.session.builders import session_bytes

if TYPE_CHECKING:
    from pathlib import Path

from tests.session.sharing import KEY, compact, started, stored, texts


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
