"""The sessions that an agent holds in memory: one object a key, bounded, and always of today."""

from __future__ import annotations

import copy
import gc
import json
from typing import TYPE_CHECKING, Any

import pytest
from freezegun import freeze_time

from session.errors import SessionConflict, SessionWriteError
from session.keys import file_name
from session.live import Session
from session.manager import SessionManager
from session.memory_store import MemoryStore
from session.record import STAMP_KEY, SUMMARY_KEY
from tests.session.builders import file_bytes, header_fields, row, session_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEY = "telegram:42"


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[SessionManager]:
    """A manager of a folder that does not exist yet."""
    with SessionManager(tmp_path / "sessions") as made:
        yield made


def store_file(folder: Path, data: bytes, key: str = KEY) -> Path:
    """Put a session file in place."""
    folder.mkdir(exist_ok=True)
    path = folder / file_name(key)
    path.write_bytes(data)
    return path


def texts(session: Session) -> list[Any]:
    """What was said."""
    return [message["content"] for message in session.messages]


def test_a_new_session_is_empty_and_not_stored_until_it_is_saved(
    manager: SessionManager, tmp_path: Path
) -> None:
    """Asking for a session writes no session."""
    session = manager.get_or_create(KEY)
    assert (session.messages, session.metadata, session.last_consolidated) == ([], {}, 0)
    assert list((tmp_path / "sessions").glob("*.jsonl")) == []
    manager.save(session)
    assert [path.name for path in (tmp_path / "sessions").glob("*.jsonl")] == [file_name(KEY)]


def test_the_same_key_gives_the_same_session(manager: SessionManager) -> None:
    """Object identity, before and after a save."""
    session = manager.get_or_create(KEY)
    manager.save(session)
    assert manager.get_or_create(KEY) is session


def test_a_message_has_its_time_and_moves_the_sessions_time(manager: SessionManager) -> None:
    """Naive local time with the message, and the same as the session's `updated_at`."""
    with freeze_time("2026-05-01T10:00:00"):
        session = manager.get_or_create(KEY)
        session.add_message("user", "hello", sender_id="7")
    assert session.messages == [
        {"role": "user", "content": "hello", "timestamp": "2026-05-01T10:00:00", "sender_id": "7"}
    ]
    assert session.updated_at.isoformat() == "2026-05-01T10:00:00"


def test_a_save_alone_moves_no_time(manager: SessionManager, tmp_path: Path) -> None:
    """Only `add_message` and `clear` are activity; another metadata key is none."""
    path = store_file(tmp_path / "sessions", session_bytes())
    session = manager.get_or_create(KEY)
    session.metadata["title"] = "Trip"
    manager.save(session)
    header = json.loads(path.read_bytes().split(b"\n")[0])
    assert header["updated_at"] == header_fields()["updated_at"]
    assert header["metadata"] == {"title": "Trip"}


def test_the_cache_is_bounded(tmp_path: Path) -> None:
    """What was asked for longest ago leaves, unless somebody holds it."""
    manager = SessionManager(tmp_path, cached=3)
    held = manager.get_or_create("cli:0")
    for number in range(1, 10):
        manager.save(manager.get_or_create(f"cli:{number}"))
    gc.collect()
    assert set(manager._recent) == {"cli:7", "cli:8", "cli:9"}
    assert set(manager._live) == {"cli:0", "cli:7", "cli:8", "cli:9"}
    assert manager.get_or_create("cli:0") is held


def test_unsaved_messages_never_leave_the_cache(tmp_path: Path) -> None:
    """Nobody holds the session, and its message is there all the same."""
    manager = SessionManager(tmp_path, cached=2)
    manager.get_or_create(KEY).add_message("user", "not saved yet")
    for number in range(5):
        manager.get_or_create(f"cli:{number}")
    gc.collect()
    assert texts(manager.get_or_create(KEY)) == ["not saved yet"]


def test_invalidate_forgets_what_is_in_memory(manager: SessionManager) -> None:
    """The next ask reads the store, unsaved messages are gone, as is their agent's wish."""
    session = manager.get_or_create(KEY)
    session.add_message("user", "stored")
    manager.save(session)
    session.add_message("user", "not stored")
    manager.invalidate(KEY)
    again = manager.get_or_create(KEY)
    assert again is not session
    assert texts(again) == ["stored"]


def test_distinct_keys_have_distinct_files_and_are_listed_by_their_real_key(
    manager: SessionManager, tmp_path: Path
) -> None:
    """Also where an older layout would have given both one name."""
    keys = {"telegram:42", "telegram_42", "a/b", "../x", "né:ü", "slack:C1:17.5"}
    for key in keys:
        session = manager.get_or_create(key)
        session.add_message("user", key)
        manager.save(session)
    assert len(list((tmp_path / "sessions").glob("*.jsonl"))) == len(keys)
    assert {about["key"] for about in manager.list_sessions()} == keys
    assert list(tmp_path.iterdir()) == [tmp_path / "sessions"]


def test_a_key_that_is_too_long_is_refused_with_nothing_written(
    manager: SessionManager, tmp_path: Path
) -> None:
    """The error names the limit."""
    with pytest.raises(ValueError, match="at most 255"):
        manager.get_or_create("telegram:" + "x" * 300)
    with pytest.raises(ValueError, match="empty"):
        manager.get_or_create("")
    assert not list((tmp_path / "sessions").glob("*.jsonl"))


def test_a_list_names_times_title_and_first_words_and_fills_no_cache(
    manager: SessionManager, tmp_path: Path
) -> None:
    """The newest first, texts bounded, nothing loaded."""
    folder = tmp_path / "sessions"
    store_file(folder, session_bytes())
    newer = header_fields(
        "cli:long", updated_at="2026-02-01T00:00:00", metadata={"title": "T" * 200}
    )
    store_file(folder, file_bytes(newer, row("user", "word " * 100)), "cli:long")
    first, second = manager.list_sessions()
    assert (first["key"], second["key"]) == ("cli:long", KEY)
    assert len(first["title"]) <= 80
    assert len(first["preview"]) <= 120
    assert second["preview"] == "question 1"
    assert second["created_at"] == header_fields()["created_at"]
    assert second["path"] == str(folder / file_name(KEY))
    assert not manager._recent


def test_an_empty_folder_lists_nothing(manager: SessionManager) -> None:
    """Also one that does not exist."""
    assert manager.list_sessions() == []


def test_delete_removes_file_checkpoint_originals_and_memory(
    manager: SessionManager, tmp_path: Path
) -> None:
    """And says whether there was anything."""
    folder = tmp_path / "sessions"
    path = store_file(folder, session_bytes() + b"garbage\n")
    checkpoint = path.with_name(path.name.replace(".jsonl", ".checkpoint.json"))
    checkpoint.write_text("{}")
    session = manager.get_or_create(KEY)
    session.add_message("user", "private")
    manager.save(session)
    assert list(folder.glob(".compactor/damaged/*/*"))

    assert manager.delete_session(KEY)

    assert not path.exists()
    assert not checkpoint.exists()
    assert not list(folder.glob(".compactor/damaged/*/*"))
    assert manager.get_or_create(KEY).messages == []
    assert not manager.delete_session(KEY)


def test_clear_drops_messages_entry_and_cursor(manager: SessionManager, tmp_path: Path) -> None:
    """In memory at once, in the file at the next save; other metadata stays."""
    metadata = {SUMMARY_KEY: {"text": "old", "last_active": ""}, STAMP_KEY: {}, "title": "T"}
    path = store_file(tmp_path / "sessions", session_bytes(metadata=metadata, last_archived=4))
    session = manager.get_or_create(KEY)
    before = session.messages
    assert session.summary == "old"
    session.clear()
    assert (session.covers, session.messages, session.get_history()) == (0, [], [])
    assert len(before) == 8, "who holds the old list still has it"
    manager.save(session)
    [line] = path.read_bytes().splitlines()
    header = json.loads(line)
    assert header["metadata"] == {"title": "T"}
    assert (header["last_archived"], header["last_consolidated"]) == (0, 0)


@pytest.mark.parametrize("cursor", [99, -1, True, "4", None, 2.0])
def test_a_cursor_that_is_no_number_of_messages_reads_as_zero(
    manager: SessionManager, tmp_path: Path, cursor: object
) -> None:
    """Everything is visible, rather than nothing."""
    data = session_bytes(last_archived=cursor, last_consolidated=cursor)
    store_file(tmp_path / "sessions", data)
    session = manager.get_or_create(KEY)
    assert session.last_consolidated == 0
    assert len(session.get_history()) == 8


def test_null_metadata_is_an_empty_table(manager: SessionManager, tmp_path: Path) -> None:
    """And can be written to."""
    path = store_file(tmp_path / "sessions", session_bytes(metadata=None))
    session = manager.get_or_create(KEY)
    assert session.metadata == {}
    session.metadata["title"] = "T"
    manager.save(session)
    assert json.loads(path.read_bytes().split(b"\n")[0])["metadata"] == {"title": "T"}


@pytest.mark.parametrize("time", [None, 17, "", "2026-13-40", "yesterday"])
def test_a_bad_time_reads_as_now_and_is_not_written_over(
    manager: SessionManager, tmp_path: Path, time: object
) -> None:
    """Until something happens, which then has its own time."""
    path = store_file(tmp_path / "sessions", session_bytes(updated_at=time))
    with freeze_time("2026-05-01T10:00:00"):
        session = manager.get_or_create(KEY)
        assert session.updated_at.isoformat() == "2026-05-01T10:00:00"
    session.metadata["title"] = "T"
    manager.save(session)
    assert json.loads(path.read_bytes().split(b"\n")[0])["updated_at"] == time
    session.add_message("user", "now")
    manager.save(session)
    written = json.loads(path.read_bytes().split(b"\n")[0])["updated_at"]
    assert written == session.updated_at.isoformat()


def test_unknown_keys_of_the_header_survive(manager: SessionManager, tmp_path: Path) -> None:
    """Nanobot's own manager drops them."""
    path = store_file(tmp_path / "sessions", session_bytes(schema=7, metadata={"webui": {"a": 1}}))
    session = manager.get_or_create(KEY)
    session.add_message("user", "more")
    manager.save(session)
    header = json.loads(path.read_bytes().split(b"\n")[0])
    assert (header["schema"], header["metadata"]) == (7, {"webui": {"a": 1}})


def test_a_providers_state_stays_while_nothing_is_said(
    manager: SessionManager, tmp_path: Path
) -> None:
    """It would replay the old transcript ahead of a new message, so then it goes."""
    state = {"_type": "provider_state", "state": {"payload": [1]}}
    path = store_file(tmp_path / "sessions", file_bytes(header_fields(), state, row("user", "a")))
    session = manager.get_or_create(KEY)
    session.metadata["title"] = "T"
    manager.save(session)
    assert b"provider_state" in path.read_bytes()
    session.add_message("assistant", "b")
    manager.save(session)
    assert b"provider_state" not in path.read_bytes()


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ({"role": "user", "content": object()}, "message 1 is no JSON"),
        ({"role": "user", "content": {1, 2}}, "message 1 is no JSON"),
        ("just text", "message 1 is a str"),
        ({"_type": "metadata", "role": "user"}, "message 1 has the key '_type'"),
        ({"_type": "provider_state"}, "message 1 has the key '_type'"),
    ],
)
def test_what_could_not_be_read_again_is_refused(
    manager: SessionManager, tmp_path: Path, message: Any, problem: str
) -> None:
    """By its position, and with nothing written; without it the save succeeds."""
    session = manager.get_or_create(KEY)
    session.add_message("user", "fine")
    manager.save(session)
    [path] = (tmp_path / "sessions").glob("*.jsonl")
    before = path.read_bytes()
    session.messages.append(message)
    with pytest.raises(SessionWriteError, match=problem):
        manager.save(session)
    assert path.read_bytes() == before
    session.messages.pop()
    manager.save(session)


def test_metadata_that_is_no_json_is_refused(manager: SessionManager) -> None:
    """The error says that it is the metadata."""
    session = manager.get_or_create(KEY)
    session.metadata["client"] = object()
    with pytest.raises(SessionWriteError, match="its metadata is no JSON"):
        manager.save(session)


def test_a_session_of_the_agents_own_making_can_be_saved(manager: SessionManager) -> None:
    """With messages from elsewhere; from then on it is the one of that key."""
    session = Session("cli:import", [{"role": "user", "content": "from elsewhere"}])
    manager.save(session)
    assert manager.get_or_create("cli:import") is session
    manager.invalidate("cli:import")
    assert texts(manager.get_or_create("cli:import")) == ["from elsewhere"]


def test_a_session_of_the_agents_own_making_never_mixes_with_one_that_is_stored(
    manager: SessionManager, tmp_path: Path
) -> None:
    """Nobody knows what it began with: it may go on from the stored one, or it is a conflict."""
    store_file(tmp_path / "sessions", session_bytes(1))
    with pytest.raises(SessionConflict):
        manager.save(Session(KEY, [{"role": "user", "content": "new"}]))
    copied = copy.deepcopy(manager.get_or_create(KEY))
    copied.add_message("user", "more")
    manager.save(copied)
    assert texts(manager.get_or_create(KEY)) == ["question 1", "answer 1 / né", "more"]
    del copied.messages[0]
    again = copy.deepcopy(copied)
    with pytest.raises(SessionConflict):
        manager.save(again)


def test_a_store_can_stand_in_for_a_folder() -> None:
    """The same manager over another store."""
    store = MemoryStore()
    with SessionManager(store) as manager:
        session = manager.get_or_create(KEY)
        session.add_message("user", "in memory")
        manager.save(session)
        assert store.agents == 1
        assert [about["key"] for about in manager.list_sessions()] == [KEY]
        assert manager.delete_session(KEY)
    assert store.agents == 0
