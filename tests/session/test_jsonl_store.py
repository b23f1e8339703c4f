"""Folders of session files: which files are sessions, and what is wrong with the others."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from session.errors import (
    StoreOwnershipError,
    StoreUnavailableError,
    UnreadableSessionError,
)
from session.jsonl_store import JsonlStore, _modified
from session.keys import file_name
from session.store import CommitStatus, SessionEntry
from tests.session.builders import (
    DATA,
    change_for,
    real_files,
    session_bytes,
)
from tests.session.processes import as_plain_user, give_away

if TYPE_CHECKING:
    from session.store import SessionTail

KEY = "telegram:42"


def listed(*folders: Path) -> dict[str, SessionEntry]:
    """Return the entries of the folders by the names of their files."""
    return {entry.name: entry for entry in JsonlStore(folders).list_sessions()}


def keys(folder: Path) -> list[str]:
    """Return the keys of a folder."""
    return sorted(entry.ref.key for entry in listed(folder).values())


def allow(_: SessionTail) -> None:
    """Let every commit through."""


def test_every_real_file_is_listed_under_its_key() -> None:
    """The stem wins over what the header says."""
    found = listed(DATA / "v0.3.5" / "ok", DATA / "v0.3.5" / "bad", DATA / "v0.2.2" / "sessions")
    for file in real_files():
        assert found[file.path.name].ref.key == file.name.partition("/")[2]
        assert found[file.path.name].problem is None
    assert len(found) == len(real_files())


def test_every_real_file_is_loaded_or_named(tmp_path: Path) -> None:
    """Peek and load agree on which ones can be read."""
    unreadable = {}
    for file in real_files():
        shutil.copy(file.path, tmp_path)
    store = JsonlStore([tmp_path])
    for entry in store.list_sessions():
        try:
            session = store.load(entry)
        except UnreadableSessionError as error:
            unreadable[entry.ref.key] = error.problem
            with pytest.raises(UnreadableSessionError):
                store.peek(entry)
        else:
            assert store.peek(entry).header == session.header
    assert unreadable == {
        "bad:empty": "empty",
        "bad:no_metadata": "no metadata line",
        "bad:metadata_garbage": "no metadata line",
        "bad:metadata_str": "its metadata is a str, not an object",
    }


def test_an_old_name_is_known_by_its_header(tmp_path: Path) -> None:
    """And where that does not say it, the first underscore was a colon."""
    (tmp_path / "telegram_1_2.jsonl").write_bytes(session_bytes(key="telegram:1_2"))
    (tmp_path / "slack_C1_2.jsonl").write_bytes(session_bytes(key=""))
    (tmp_path / "cli_bom.jsonl").write_bytes(b"\xef\xbb\xbf" + session_bytes(key="cli:b:om"))
    assert keys(tmp_path) == ["cli:b:om", "slack:C1_2", "telegram:1_2"]


def test_of_an_old_and_a_new_name_the_new_one_counts(tmp_path: Path) -> None:
    """The old file was left behind by a migration."""
    (tmp_path / "telegram_42.jsonl").write_bytes(session_bytes(1))
    (tmp_path / file_name(KEY)).write_bytes(session_bytes(2))
    assert list(listed(tmp_path)) == [file_name(KEY)]


def test_of_two_old_names_with_one_key_the_second_is_a_problem(tmp_path: Path) -> None:
    """A key names one session of a folder, and somebody must hear of the other."""
    (tmp_path / "copy.jsonl").write_bytes(session_bytes())
    (tmp_path / "telegram_42.jsonl").write_bytes(session_bytes())
    problems = [entry.problem for entry in listed(tmp_path).values()]
    assert problems == [None, "another file says that it is the same session"]


def test_only_session_files_are_listed(tmp_path: Path) -> None:
    """Not the agent's temporary, lock and state files, and not ours."""
    for name in (".a.jsonl", ".a.jsonl.0f0f.tmp", "a.jsonl.tmp", "a.checkpoint.json", ".workspace"):
        (tmp_path / name).write_bytes(session_bytes())
    (tmp_path / ".compactor").mkdir()
    (tmp_path / ".compactor" / "x.jsonl").write_bytes(session_bytes())
    assert listed(tmp_path) == {}


def test_what_is_no_file_is_listed_with_its_problem(tmp_path: Path) -> None:
    """A symbolic link is not followed, and a folder is no session."""
    (tmp_path / "real").write_bytes(session_bytes())
    (tmp_path / file_name(KEY)).symlink_to(tmp_path / "real")
    (tmp_path / "x.jsonl").mkdir()
    os.mkfifo(tmp_path / "pipe.jsonl")
    entries = listed(tmp_path)
    assert {name: entry.problem for name, entry in entries.items()} == {
        file_name(KEY): "a symbolic link, which is not followed",
        "x.jsonl": "not a regular file",
        "pipe.jsonl": "not a regular file",
    }
    for entry in entries.values():
        with pytest.raises(UnreadableSessionError, match="not"):
            JsonlStore([tmp_path]).load(entry)


@pytest.mark.parametrize("metadata", ["x", 3, [1], True])
def test_metadata_of_a_wrong_type_is_unreadable(tmp_path: Path, metadata: object) -> None:
    """What is there would be lost with a projection beside it."""
    (tmp_path / file_name(KEY)).write_bytes(session_bytes(metadata=metadata))
    store = JsonlStore([tmp_path])
    with pytest.raises(UnreadableSessionError, match="not an object"):
        store.load(store.list_sessions()[0])


def test_a_running_turn_is_known_by_its_checkpoint(tmp_path: Path) -> None:
    """The real one that nanobot left."""
    shutil.copytree(DATA / "v0.3.5" / "ok", tmp_path / "ok")
    store = JsonlStore([tmp_path / "ok"])
    flags = {entry.ref.key: store.peek(entry).in_flight for entry in store.list_sessions()}
    assert [key for key, in_flight in flags.items() if in_flight] == ["cli:inflight"]


def test_a_commit_leaves_nothing_outside_its_folder(tmp_path: Path) -> None:
    """Mode and time of the file are kept, and within a pass the original goes."""
    live = tmp_path / file_name(KEY)
    live.write_bytes(session_bytes())
    live.chmod(0o604)
    os.utime(live, ns=(1, 1_700_000_000_000_000_123))
    store = JsonlStore([tmp_path])
    with store.exclusive():
        session = store.load(store.list_sessions()[0])
        change = change_for(session.messages, 4)
        assert store.commit(session, change, allow).status is CommitStatus.COMMITTED
    status = live.stat()
    assert (stat.S_IMODE(status.st_mode), status.st_mtime_ns) == (0o604, 1_700_000_000_000_000_123)
    assert {path.name for path in tmp_path.iterdir()} == {live.name, ".compactor"}
    ours = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.glob(".compactor/*")}
    assert ours == {"worker.lock": 0o600, "commits.lock": 0o600}
    assert stat.S_IMODE((tmp_path / ".compactor").stat().st_mode) == 0o700


def test_a_time_of_change_beyond_all_years_is_named() -> None:
    """A clock that was wrong stops one session, not the pass."""
    status = os.stat_result((0,) * 8 + (10**12, 0))
    with pytest.raises(UnreadableSessionError, match="beyond all years"):
        _modified("a.jsonl", status)  # few file systems can say such a time


def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    """With the remedy; the others go on."""
    (tmp_path / file_name(KEY)).write_bytes(session_bytes())
    (tmp_path / file_name(KEY)).chmod(0o000)

    def look() -> str:
        store = JsonlStore([Path()])
        (entry,) = store.list_sessions()
        problems = []
        for read in (store.peek, store.load):
            try:
                read(entry)
            except UnreadableSessionError as error:
                problems.append(error.problem)
        return "; ".join(problems)

    problem = "permission denied: let the user that runs us read and write it"
    assert as_plain_user(tmp_path, look) == f"{problem}; {problem}"


@pytest.mark.parametrize("closed", [".", ".compactor"])
def test_a_folder_that_may_not_be_written_to_is_named_ahead_of_all_work(
    tmp_path: Path, closed: str
) -> None:
    """A worker that could save nothing must not ask a model first."""
    (tmp_path / file_name(KEY)).write_bytes(session_bytes())
    (tmp_path / ".compactor").mkdir()

    def look() -> str:
        folder, told = Path(), []
        (folder / closed).chmod(0o500)
        store = JsonlStore([folder])
        for ask in (store.check_writable, lambda: store.exclusive().__enter__()):
            try:
                ask()
            except StoreUnavailableError as error:
                told.append(error.problem)
        (folder / closed).chmod(0o700)
        return "; ".join(told)

    problem = "permission denied: let the user that runs us read and write it"
    assert as_plain_user(tmp_path, look) == f"{problem}; {problem}"


@pytest.mark.parametrize("mode", [0o000, 0o300, 0o400])
def test_a_folder_that_may_not_be_read_is_named(tmp_path: Path, mode: int) -> None:
    """Or its files, where it can be listed and no more."""
    folder = tmp_path / "sessions"
    folder.mkdir()
    (folder / file_name(KEY)).write_bytes(session_bytes())

    def look() -> str:
        Path(folder.name).chmod(mode)
        try:
            entries = JsonlStore([Path(folder.name)]).list_sessions()
        except StoreUnavailableError as error:
            return f"{error.exit_code} {error}"
        return str([entry.problem for entry in entries])

    assert "permission denied: let the user that runs us" in as_plain_user(tmp_path, look)
    folder.chmod(0o700)


def test_a_folder_that_may_not_be_written_is_named(tmp_path: Path) -> None:
    """A worker can't do anything there, and says so at once."""
    folder = tmp_path / "sessions"
    folder.mkdir()

    def hold() -> str:
        Path(folder.name).chmod(0o500)
        try:
            with JsonlStore([Path(folder.name)]).exclusive():
                return "held"
        except StoreUnavailableError as error:
            return f"{error.exit_code} {error.problem}"

    assert as_plain_user(tmp_path, hold).startswith("69 permission denied")


@pytest.mark.parametrize("what", ["folder", "file"])
def test_what_belongs_to_another_user_stops_the_store(tmp_path: Path, what: str) -> None:
    """What we wrote there its agent could not write any more; nothing of ours is made."""
    live = tmp_path / file_name(KEY)
    live.write_bytes(session_bytes())
    give_away(tmp_path if what == "folder" else live)
    store = JsonlStore([tmp_path])
    for attempt in (store.list_sessions, store.exclusive().__enter__):
        with pytest.raises(StoreOwnershipError, match=r"belongs to user 12345, .*chown") as caught:
            attempt()
        assert caught.value.exit_code == 78
    assert list(tmp_path.iterdir()) == [live]


def test_a_folder_that_vanished_is_named(tmp_path: Path) -> None:
    """With the remedy."""
    store = JsonlStore([tmp_path / "gone"])
    for attempt in (store.list_sessions, store.exclusive().__enter__):
        with pytest.raises(StoreUnavailableError, match="create it, or correct") as caught:
            attempt()
        assert caught.value.exit_code == 69


def test_a_session_of_another_store_is_not_committed(tmp_path: Path) -> None:
    """It has no version that could be compared."""
    (tmp_path / file_name(KEY)).write_bytes(session_bytes())
    store = JsonlStore([tmp_path])
    session = store.load(store.list_sessions()[0])
    other = type(session)(
        **{
            name: getattr(session, name)
            for name in ("ref", "header", "messages", "in_flight", "modified")
        },
        version=object(),
    )
    with pytest.raises(TypeError, match="not read from this store"):
        store.commit(other, change_for(session.messages, 4), allow)
