"""The displaced original: watched while somebody can write to it, and let go afterwards."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from session import kernel
from session.durable import prepare_area, recover, swap_file
from session.model import FileIdentity
from tests.session.schedules import compact, fresh, no_lock
from tests.session.stepping import stopping
from tests.session.writers import COMPACTED, NEW, ORIGINAL, header_line, line

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux alone exchanges names")


@pytest.fixture
def live(tmp_path: Path) -> Path:
    """One session file in a folder of its own."""
    return fresh(tmp_path / "sessions")


def area_of(live: Path) -> set[str]:
    """Return the kinds of files that we keep beside the session."""
    return {path.suffix for path in (live.parent / ".compactor").iterdir()}


def test_an_original_that_another_process_holds_is_watched(live: Path) -> None:
    """Late lines are grafted once, and it is let go when the process has closed it."""
    script = f"exec 3>>{live}; echo; read x; printf '%s' '{line(NEW).decode()}' >&3; echo; read x"
    with subprocess.Popen(
        ["/bin/sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as agent:
        assert agent.stdin
        assert agent.stdout
        agent.stdout.readline()
        compact(live)
        assert recover(live.parent, no_lock) == 1
        assert live.read_bytes() == COMPACTED
        agent.stdin.write(b"\n")
        agent.stdin.flush()
        agent.stdout.readline()
        for _ in range(3):
            assert recover(live.parent, no_lock) == 1
            assert live.read_bytes() == COMPACTED + line(NEW)
        agent.stdin.close()
        agent.wait()
    assert recover(live.parent, no_lock) == 0
    assert live.read_bytes() == COMPACTED + line(NEW)
    assert area_of(live) == {".lock"}


def test_a_reader_holds_nothing_up(live: Path) -> None:
    """Somebody who only looks can't write a late line."""
    with live.open("rb"):
        compact(live)
        assert recover(live.parent, no_lock) == 0


def test_a_line_without_its_newline_is_grafted_too(live: Path) -> None:
    """An object that is complete is a whole line; half an object is not."""
    with live.open("ab", buffering=0) as file:
        compact(live)
        file.write(line(NEW)[:-10])
        recover(live.parent, no_lock)
        assert live.read_bytes() == COMPACTED
        file.write(line(NEW)[-10:-1])
    recover(live.parent, no_lock)
    assert live.read_bytes() == COMPACTED + line(NEW)


def test_late_lines_follow_what_was_said_since(live: Path) -> None:
    """A line through the old handle and one by the path are both there, whole."""
    with live.open("ab", buffering=0) as file:
        compact(live)
        file.write(line(NEW))
        with live.open("ab") as by_path:
            by_path.write(line(101)[:-1])  # and the file has no final newline
        recover(live.parent, no_lock)
    assert live.read_bytes() == COMPACTED + line(101) + line(NEW)


def test_equal_lines_are_counted(live: Path) -> None:
    """Who says the same thing twice has said it twice, also after a rewrite by another writer."""
    with live.open("ab", buffering=0) as file:
        compact(live)
        live.with_suffix(".other").write_bytes(header_line(3) + COMPACTED.partition(b"\n")[2])
        live.with_suffix(".other").replace(live)
        file.write(line(8))
        recover(live.parent, no_lock)
        recover(live.parent, no_lock)
    assert live.read_bytes() == header_line(3) + COMPACTED.partition(b"\n")[2] + line(8)


def test_what_a_rewrite_holds_already_is_not_doubled(live: Path) -> None:
    """The writer's memory had the late line, spelled in another way."""
    with live.open("ab", buffering=0) as file:
        compact(live)
        file.write(line(NEW))
        spelled = line(NEW).replace(b", ", b",")
        live.with_suffix(".other").write_bytes(ORIGINAL + spelled)
        live.with_suffix(".other").replace(live)
        recover(live.parent, no_lock)
    assert live.read_bytes() == ORIGINAL + spelled


def test_a_grafted_line_does_not_come_back(live: Path) -> None:
    """The agent has cleared the session since, while its old handle is still open."""
    with live.open("ab", buffering=0) as file:
        compact(live)
        file.write(line(NEW))
        recover(live.parent, no_lock)
        live.with_suffix(".other").write_bytes(header_line(3))
        live.with_suffix(".other").replace(live)
        recover(live.parent, no_lock)
    recover(live.parent, no_lock)
    assert live.read_bytes() == header_line(3)


def test_what_must_be_durable_is_so_before_what_relies_on_it(live: Path) -> None:
    """Content, record and its name ahead of the exchange; both folders after it."""
    names: list[str] = []
    with stopping(lambda _, name: names.append(name)):
        compact(live)
    before, after = names[: names.index("exchange")], names[names.index("exchange") :]
    calls = [name for name in before if name in {"write", "fsync", "replace", "chmod"}]
    assert calls == ["write", "chmod", "fsync", "write", "fsync", "replace", "fsync"]
    assert after.count("fsync") == 2


def test_a_deleted_session_takes_its_original_with_it(live: Path) -> None:
    """Nothing of it stays, and it does not come back."""
    compact(live)
    live.unlink()
    assert recover(live.parent, no_lock) == 0
    assert not live.exists()
    assert area_of(live) == {".lock"}


def test_a_recovery_leaves_a_commit_in_progress_alone(live: Path) -> None:
    """It says what is watched and touches nothing, a file without a record included."""
    compact(live)
    area = live.parent / ".compactor"
    (area / "abc.tmp").write_bytes(b"being written")
    before = sorted(area.iterdir())
    with kernel.flocked(area / "commits.lock", shared=True):
        assert recover(live.parent, no_lock) == 1
        assert sorted(area.iterdir()) == before
    assert recover(live.parent, no_lock) == 0
    assert area_of(live) == {".lock"}


def test_a_folder_that_was_never_compacted_is_left_as_it_is(tmp_path: Path) -> None:
    """Looking for something to recover makes nothing."""
    assert recover(tmp_path, no_lock) == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "record", [b"", b"{}", b"[]", b'{"name": 3}', b"\xff", b'{"kind": "plugin"}']
)
def test_a_record_of_another_kind_is_left_alone(live: Path, record: bytes) -> None:
    """And so is the file that it speaks of: it may be an original."""
    area = live.parent / ".compactor"
    (area / "abc.json").write_bytes(record)
    (area / "abc.tmp").write_bytes(b"somebody's")
    assert recover(live.parent, no_lock) == 0
    assert (area / "abc.tmp").read_bytes() == b"somebody's"


def test_a_record_cannot_name_a_file_elsewhere(live: Path) -> None:
    """A path in it is not followed out of the folder."""
    compact(live)
    (record,) = (live.parent / ".compactor").glob("*.json")
    record.write_bytes(record.read_bytes().replace(b"s.jsonl", b"../s.jsonl"))
    assert recover(live.parent, no_lock) == 0
    assert area_of(live) == {".lock", ".json", ".tmp"}


def test_a_file_of_which_nothing_can_be_said_is_put_aside(live: Path) -> None:
    """Neither of the two, and no part of the live conversation: a person may want it."""
    compact(live)
    (temp,) = (live.parent / ".compactor").glob("*.tmp")
    temp.write_bytes(header_line(9) + line(901))
    live.unlink()
    live.write_bytes(header_line(8) + line(801))
    recover(live.parent, no_lock)
    (aside,) = (live.parent / ".compactor" / "damaged").rglob("*.jsonl")
    assert aside.read_bytes() == header_line(9) + line(901)
    assert live.read_bytes() == header_line(8) + line(801)
    assert area_of(live) == {".lock", ""}
    live.unlink()
    recover(live.parent, no_lock)
    assert not aside.exists()


def test_owner_mode_times_and_attributes_are_kept(live: Path) -> None:
    """A commit is not seen in the file's status, but for inode and time of change."""
    live.chmod(0o640)
    os.utime(live, ns=(1_700_000_000_123_456_789, 1_700_000_001_987_654_321))
    try:
        os.setxattr(live, "user.note", b"kept")
    except OSError:
        names: list[str] = []  # this file system has none
    else:
        names = ["user.note"]
    before = live.stat()
    compact(live)
    after = live.stat()
    assert (stat.S_IMODE(after.st_mode), after.st_mtime_ns) == (0o640, 1_700_000_001_987_654_321)
    assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid)
    assert after.st_ino != before.st_ino
    assert os.listxattr(live) == names


def test_what_is_ours_is_for_its_owner_alone(live: Path) -> None:
    """The hidden folder, the lock and the records."""
    compact(live)
    area = live.parent / ".compactor"
    assert stat.S_IMODE(area.stat().st_mode) == 0o700
    modes = {path.suffix: stat.S_IMODE(path.stat().st_mode) for path in area.iterdir()}
    assert (modes[".lock"], modes[".json"]) == (0o600, 0o600)
    assert {path.name for path in live.parent.iterdir()} == {".compactor", "s.jsonl"}


def test_a_file_that_is_not_what_was_read_is_left_alone(live: Path) -> None:
    """Its identity has changed, so nothing is written at all."""
    identity = FileIdentity.of(live.stat())
    live.write_bytes(ORIGINAL + line(NEW))
    result = swap_file(
        live, COMPACTED, original=ORIGINAL, expected=identity, lock=no_lock, may_replace=False
    )
    assert result is None
    assert live.read_bytes() == ORIGINAL + line(NEW)
    assert area_of(live) == {".lock"}


def test_the_area_is_made_once(tmp_path: Path) -> None:
    """And found again."""
    assert prepare_area(tmp_path) == prepare_area(tmp_path)
