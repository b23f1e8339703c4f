"""Sessions of earlier releases: found under their old names, and moved when they are first read."""

from __future__ import annotations

from pathlib import Path

import pytest

from session.agent_files import AgentFiles
from session.keys import file_name
from session.manager import SessionManager
from tests.session.builders import conversation, file_bytes, header_fields, session_bytes
from tests.session.processes import as_plain_user

KEY = "telegram:42"
OLD_NAME = "telegram_42.jsonl"


def without_key(turns: int = 4) -> bytes:
    """Return a file of the first releases, whose header doesn't say the key."""
    fields = header_fields()
    del fields["key"]
    return file_bytes(fields, *conversation(turns))


@pytest.mark.parametrize("data", [session_bytes(), without_key()], ids=["key", "no key"])
def test_an_old_name_is_found_and_moved(tmp_path: Path, data: bytes) -> None:
    """The header's key decides, or where it has none the first underscore."""
    (tmp_path / OLD_NAME).write_bytes(data)
    session = SessionManager(tmp_path).get_or_create(KEY)
    assert len(session.messages) == 8
    assert [path.name for path in tmp_path.glob("*.jsonl")] == [file_name(KEY)]
    assert (tmp_path / file_name(KEY)).read_bytes() == data


def test_a_header_with_another_key_is_another_session(tmp_path: Path) -> None:
    """`telegram_42` may be the old name of two keys."""
    (tmp_path / OLD_NAME).write_bytes(session_bytes(key="telegram_42"))
    manager = SessionManager(tmp_path)
    assert manager.get_or_create(KEY).messages == []
    assert len(manager.get_or_create("telegram_42").messages) == 8


@pytest.mark.parametrize("name", [OLD_NAME, file_name(KEY)], ids=["old name", "new name"])
def test_an_older_folder_is_looked_into(tmp_path: Path, name: str) -> None:
    """The global folder of the first releases, and the workspace's."""
    older, folder = tmp_path / "older", tmp_path / "sessions"
    older.mkdir()
    (older / name).write_bytes(session_bytes())
    session = SessionManager(AgentFiles(folder, older=[older])).get_or_create(KEY)
    assert len(session.messages) == 8
    assert list(older.iterdir()) == []
    assert (folder / file_name(KEY)).read_bytes() == session_bytes()


def test_the_name_of_today_counts(tmp_path: Path) -> None:
    """Where both are there the old file is left alone."""
    (tmp_path / OLD_NAME).write_bytes(session_bytes(1))
    (tmp_path / file_name(KEY)).write_bytes(session_bytes(4))
    assert len(SessionManager(tmp_path).get_or_create(KEY).messages) == 8
    assert (tmp_path / OLD_NAME).read_bytes() == session_bytes(1)


@pytest.mark.parametrize("closed", ["sessions", "older"])
def test_a_file_that_can_not_be_moved_is_read_where_it_is(
    tmp_path: Path, closed: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither a folder that can't be written nor one that can't be emptied stops the agent."""
    for place in ("older", "sessions"):
        (tmp_path / place).mkdir()
    (tmp_path / "older" / OLD_NAME).write_bytes(session_bytes())

    def load() -> str:
        Path(closed).chmod(0o500)
        store = AgentFiles(Path("sessions"), older=[Path("older")])
        session = SessionManager(store).get_or_create(KEY)
        return f"{len(session.messages)} {'session_not_moved' in caplog.text}"

    assert as_plain_user(tmp_path, load) == "8 True"


def test_somebody_who_was_faster_is_no_fault(tmp_path: Path) -> None:
    """Two agents read an old session for the first time: both have it, and there is one file."""
    (tmp_path / OLD_NAME).write_bytes(session_bytes())
    first, second = SessionManager(tmp_path), SessionManager(tmp_path)
    assert len(first.get_or_create(KEY).messages) == 8
    assert len(second.get_or_create(KEY).messages) == 8
    assert [path.name for path in tmp_path.glob("*.jsonl")] == [file_name(KEY)]


def test_delete_finds_every_name(tmp_path: Path) -> None:
    """What was deleted does not come back from an older layout."""
    older, folder = tmp_path / "older", tmp_path / "sessions"
    for place in (older, folder):
        place.mkdir()
    (older / OLD_NAME).write_bytes(session_bytes())
    (folder / OLD_NAME).write_bytes(session_bytes())
    (folder / file_name(KEY)).write_bytes(session_bytes())
    manager = SessionManager(AgentFiles(folder, older=[older]))
    assert manager.delete_session(KEY)
    assert manager.get_or_create(KEY).messages == []
    assert not list(tmp_path.glob("*/*.jsonl"))
