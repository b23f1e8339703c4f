"""How an agent's save reaches the disk: whole or not at all, and durable when that is asked for."""

from __future__ import annotations

import errno
import json
import os
import stat
import threading
from typing import TYPE_CHECKING, Any

import pytest
from filelock import FileLock
from hypothesis import given
from hypothesis import strategies as st

from session import file_lock
from session.errors import SessionPermissionError, SessionWriteError
from session.keys import file_name
from session.manager import SessionManager
from session.memory_store import MemoryRecord, MemoryStore
from tests.session.builders import file_bytes, header_fields, sample_paths, session_bytes
from tests.session.no_exchange import forbid_exchange, is_possible
from tests.session.processes import as_plain_user, in_child
from tests.session.stepping import stopping

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

KEY = "telegram:42"
SYNCS = {"fsync", "fdatasync"}


def file_of(folder: Path) -> Path:
    """The file of the session."""
    return folder / file_name(KEY)


def started(folder: Path, data: bytes = session_bytes()) -> SessionManager:
    """Return the manager of a folder with one session."""
    folder.mkdir(exist_ok=True)
    file_of(folder).write_bytes(data)
    return SessionManager(folder)


def left_over(folder: Path) -> set[str]:
    """Whatever lies in the folder beside the session and what is ours for good."""
    usual = {".compactor", "commits.lock", ".session-files.lock", file_name(KEY)}
    return {
        path.name
        for path in folder.rglob("*")
        if path.name not in usual and not path.name.startswith("adopter-")
    }


def test_a_save_is_json_lines_with_the_metadata_first(tmp_path: Path) -> None:
    """Every line an object, a newline after each, the newest data, nothing left beside it."""
    manager = SessionManager(tmp_path)
    session = manager.get_or_create(KEY)
    for number in range(3):
        session.add_message("user", f"line\nbreak\u2028 né {number}")
        manager.save(session)
    lines = file_of(tmp_path).read_bytes().split(b"\n")
    assert lines.pop() == b""
    records = [json.loads(line) for line in lines]
    assert records[0]["_type"] == "metadata"
    assert records[0]["key"] == KEY
    assert records[1:] == session.messages
    assert left_over(tmp_path) == set()


def test_a_save_without_a_change_writes_nothing(tmp_path: Path) -> None:
    """Neither the bytes nor the time of the file move, with and without a sync."""
    manager = started(tmp_path)
    session = manager.get_or_create(KEY)
    before = file_of(tmp_path).stat()
    manager.save(session)
    manager.save(session, fsync=True)
    assert file_of(tmp_path).stat() == before


def test_a_save_is_a_change_in_time(tmp_path: Path) -> None:
    """Unlike a compaction, which keeps the file's time."""
    manager = started(tmp_path)
    os.utime(file_of(tmp_path), (1_000_000_000, 1_000_000_000))
    session = manager.get_or_create(KEY)
    session.add_message("user", "now")
    manager.save(session)
    assert file_of(tmp_path).stat().st_mtime > 1_700_000_000


def test_modes_are_kept_and_private_at_first(tmp_path: Path) -> None:
    """A new file is 0600 in a folder 0700; a mode that somebody set stays."""
    folder = tmp_path / "new" / "sessions"
    manager = SessionManager(folder)
    session = manager.get_or_create(KEY)
    manager.save(session)
    assert stat.S_IMODE(file_of(folder).stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    file_of(folder).chmod(0o640)
    session.add_message("user", "more")
    manager.save(session)
    assert stat.S_IMODE(file_of(folder).stat().st_mode) == 0o640


def system_calls(action: Callable[[], object]) -> list[str]:
    """Return the names of the system calls that something makes."""
    calls: list[str] = []
    with stopping(lambda _, name: calls.append(name)):
        action()
    return calls


@pytest.mark.parametrize("exists", [True, False])
def test_a_save_is_synced_when_that_is_asked_for_and_not_otherwise(
    tmp_path: Path, exists: bool
) -> None:
    """File and folder with `fsync=True`, nothing at all without; for old and new sessions."""
    manager = started(tmp_path) if exists else SessionManager(tmp_path)
    session = manager.get_or_create(KEY)
    session.add_message("user", "one")
    assert not SYNCS & set(system_calls(lambda: manager.save(session)))
    session.add_message("user", "two")
    assert system_calls(lambda: manager.save(session, fsync=True)).count("fsync") >= 2
    unchanged = system_calls(lambda: manager.save(session, fsync=True))
    assert unchanged.count("fsync") == 2, "the file and the folder"


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EROFS], ids=errno.errorcode.get)
@pytest.mark.parametrize("exists", [True, False])
def test_a_save_that_fails_leaves_the_old_file_and_no_other(
    folder: Path, code: int, exists: bool
) -> None:
    """Each system call of a save fails in turn; the session in memory is saved the next time."""
    steps = len(save_failing(folder, -1, code, exists=exists))
    failed = 0
    for step in range(steps):
        failed += save_failing(folder, step, code, exists=exists)[-1:] == ["failed"]
    assert failed > 10


def save_failing(folder: Path, step: int, code: int, *, exists: bool) -> list[str]:
    """Save while one system call fails; returns what was called and whether that was told."""
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    old = session_bytes()
    manager = started(folder, old) if exists else SessionManager(folder)
    session = manager.get_or_create(KEY)
    session.add_message("user", "the new message")
    calls: list[str] = []

    def fail(number: int, name: str) -> None:
        calls.append(name)
        if number == step and name not in {"close", "fileno"}:
            raise OSError(code, os.strerror(code))

    try:
        with stopping(fail):
            manager.save(session)
    except SessionWriteError:
        calls.append("failed")
        now = file_of(folder).read_bytes() if file_of(folder).exists() else None
        assert now is None or now == old or b"the new message" in now, calls[step]
        assert now is not None or not exists
    manager.save(session)
    assert file_of(folder).read_bytes().count(b"the new message") == 1
    SessionManager(folder).delete_session("cli:nothing")  # what was left is swept up
    assert left_over(folder) == set(), calls[step]
    manager.close()
    return calls


def test_two_managers_of_a_folder_wait_for_each_other(tmp_path: Path) -> None:
    """While the lock is held a save waits, and then it is made."""
    manager = started(tmp_path)
    session = manager.get_or_create(KEY)
    session.add_message("user", "waiting")
    saving = threading.Thread(target=manager.save, args=(session,))
    with FileLock(tmp_path / ".session-files.lock"):
        saving.start()
        saving.join(0.2)
        assert saving.is_alive()
        assert b"waiting" not in file_of(tmp_path).read_bytes()
    saving.join(10)
    assert b"waiting" in file_of(tmp_path).read_bytes()


def test_a_lock_that_nobody_gives_up_ends_in_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The save fails in time, names the reason, and nothing is written."""
    monkeypatch.setattr(file_lock, "PATIENCE_SECONDS", 0.05)
    manager = started(tmp_path)
    session = manager.get_or_create(KEY)
    session.add_message("user", "waiting")
    with (
        FileLock(tmp_path / ".session-files.lock"),
        pytest.raises(SessionWriteError, match="another agent holds the folder's lock"),
    ):
        manager.save(session)
    assert file_of(tmp_path).read_bytes() == session_bytes()


@pytest.mark.skipif(not is_possible(), reason="no seccomp filter for this machine")
def test_where_files_can_not_be_exchanged_they_are_replaced(tmp_path: Path) -> None:
    """The kernel refuses an exchange: saves succeed all the same, under the shared lock."""

    def save() -> str:
        forbid_exchange()
        manager = started(tmp_path)
        session = manager.get_or_create(KEY)
        for number in range(3):
            session.add_message("user", f"number {number}")
            manager.save(session, fsync=number == 1)
        again = SessionManager(tmp_path).get_or_create(KEY)
        return f"{[row['content'] for row in again.messages][-3:]} {left_over(tmp_path)}"

    assert in_child(save) == "['number 0', 'number 1', 'number 2'] set()"


def test_a_permission_error_is_an_error(tmp_path: Path) -> None:
    """A file that may not be read is not an empty conversation, and is not written over."""
    tmp_path.chmod(0o777)
    started(tmp_path)
    file_of(tmp_path).chmod(0)

    def load() -> str:
        try:
            SessionManager(".").get_or_create(KEY)
        except SessionPermissionError as error:
            return f"{isinstance(error, PermissionError)} {error}"
        return "no error"

    assert as_plain_user(tmp_path, load).startswith(f"True session file {file_name(KEY)!r}")
    file_of(tmp_path).chmod(0o600)
    assert file_of(tmp_path).read_bytes() == session_bytes()


def test_flush_all_saves_every_session_and_goes_on_after_an_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The number of those saved; the one that can't be is named in the log."""
    manager = SessionManager(tmp_path)
    for number in range(4):
        manager.get_or_create(f"cli:{number}").add_message("user", f"message {number}")
    manager.get_or_create("cli:1").messages.append({"bad": object()})
    assert manager.flush_all() == 3
    assert "cli:1" in caplog.text
    assert "message 1 is no JSON" in caplog.text
    stored = {about["key"] for about in SessionManager(tmp_path).list_sessions()}
    assert stored == {"cli:0", "cli:2", "cli:3"}


def test_flush_all_syncs_what_was_saved_without_a_sync(tmp_path: Path) -> None:
    """The file does not change, and is durable afterwards."""
    manager = started(tmp_path)
    session = manager.get_or_create(KEY)
    session.add_message("user", "one")
    manager.save(session)
    before = file_of(tmp_path).stat()
    assert SYNCS & set(system_calls(manager.flush_all))
    assert file_of(tmp_path).stat() == before


@pytest.mark.parametrize("path", sample_paths(), ids=lambda path: path.stem)
def test_untouched_lines_of_real_sessions_keep_their_bytes(path: Path, tmp_path: Path) -> None:
    """Appending to a real conversation leaves all that was there as it was."""
    manager = started(tmp_path, path.read_bytes())
    session = manager.get_or_create(KEY)
    session.add_message("user", "one more")
    manager.save(session)
    before, after = path.read_bytes().split(b"\n"), file_of(tmp_path).read_bytes().split(b"\n")
    assert after[1 : len(before) - 1] == before[1:-1]
    assert json.loads(after[-2])["content"] == "one more"


def test_a_message_that_was_changed_is_written_anew_and_no_other(tmp_path: Path) -> None:
    """Odd spacing and escapes stay where nobody has touched them."""
    odd = b'{ "role":"user",  "content":"n\\u00e9", "n": 1.50 }'
    manager = started(tmp_path, file_bytes(header_fields()) + odd + b"\n" + odd + b"\n")
    session = manager.get_or_create(KEY)
    session.messages[1]["content"] = "other"
    manager.save(session)
    lines = file_of(tmp_path).read_bytes().split(b"\n")
    assert lines[1] == odd
    assert lines[2] == b'{"role": "user", "content": "other", "n": 1.5}'


_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=())),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(
    rows=st.lists(st.dictionaries(st.text(max_size=8), _json, max_size=4), min_size=1, max_size=5),
    ascii_only=st.booleans(),
    spaces=st.sampled_from([(", ", ": "), (",", ":"), (" ,\t", " : ")]),
)
def test_any_message_survives_load_and_save_byte_for_byte(
    rows: list[dict[str, Any]], ascii_only: bool, spaces: tuple[str, str]
) -> None:
    """Whatever a provider or a channel may produce, in whatever spelling it stands."""
    rows = [row for row in rows if row.get("_type") not in {"metadata", "provider_state"}]
    lines = [spell(row, ascii_only, spaces) for row in rows]
    data = file_bytes(header_fields()) + b"".join(line + b"\n" for line in lines)
    store = MemoryStore({KEY: MemoryRecord(data)})
    session = SessionManager(store).get_or_create(KEY)
    session.add_message("user", "one more")
    SessionManager(store).save(session)
    assert store.records[KEY].data.split(b"\n")[1 : 1 + len(lines)] == lines
    again = SessionManager(store).get_or_create(KEY)
    assert repr(again.messages) == repr(session.messages)


def spell(row: dict[str, Any], ascii_only: bool, spaces: tuple[str, str]) -> bytes:
    """Return a row as one line."""
    try:
        return json.dumps(row, ensure_ascii=ascii_only, separators=spaces).encode()
    except UnicodeEncodeError:  # a lone surrogate is legal as an escape alone
        return json.dumps(row, separators=spaces).encode()
