"""Places that only root can make: other users' files, mounts, full disks, immutable files.

Each command is the real one. Where something is refused a full snapshot is the same afterwards.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from freezegun import freeze_time

from tests.end_to_end.placing import (
    IS_ROOT,
    NOBODY,
    ONCE,
    WEEK,
    WEEK_KEY,
    fill_disk,
    furnish,
    give,
    mount,
    snapshot,
)
from tests.end_to_end.support import Invoke, message_lines, read_header
from tests.end_to_end.test_command_line import write_session
from tests.end_to_end.test_places import held

pytestmark = [
    pytest.mark.skipif(not IS_ROOT, reason="only root can make such places"),
    pytest.mark.skipif(sys.platform != "linux", reason="and only on Linux"),
]
LATER = "2026-12-03 12:00:00"
KEY = "telegram:1"


@pytest.fixture
def anothers() -> Iterator[Path]:
    """A place of another user, who can reach it: pytest's own are root's alone."""
    with tempfile.TemporaryDirectory(prefix="place-") as made:
        folder = Path(made)
        folder.chmod(0o755)
        furnish(folder)
        give(folder)
        yield folder


@pytest.fixture
def mounting() -> Iterator[Callable[..., None]]:
    """Mount things for as long as a test lasts."""
    with ExitStack() as undone:

        def hold(*arguments: str, target: Path) -> None:
            undone.callback(mount(*arguments, target=target))

        yield hold


def owners_of(folder: Path) -> set[tuple[int, int]]:
    """Whose everything below a folder is, and the folder."""
    found = (path.lstat() for path in (folder, *folder.rglob("*")))
    return {(status.st_uid, status.st_gid) for status in found}


# Users.


def test_a_file_of_a_group_that_its_user_is_not_in_is_left_alone(
    anothers: Path, spawn: Invoke
) -> None:
    """What took its place could not have its group; nothing is paid for, and why is told."""
    (odd,) = anothers.glob(f"sessions/{WEEK}")
    os.chown(odd, NOBODY, 0)
    before = snapshot(odd)
    ran = spawn(*ONCE, cwd=anothers)
    assert ran.code == 0
    row = ran.session(WEEK_KEY)
    assert (row["outcome"], row["reason"]) == ("skipped", "unreadable")
    assert "chgrp" in row["detail"]
    assert snapshot(odd) == before
    os.chown(odd, NOBODY, NOBODY)
    assert spawn(*ONCE, cwd=anothers).session(WEEK_KEY)["outcome"] == "compacted"


def test_root_leaves_nothing_of_its_own_whatever_it_does(anothers: Path, spawn: Invoke) -> None:
    """No session, no lock, no journal and no folder on the way to it; the owner can go on."""
    config = anothers / "config.toml"
    config.write_text(config.read_text() + '[state]\ndir = "some/where/deep"\n')
    (anothers / "sessions" / ".session-files.lock").touch()
    give(anothers)
    mask = os.umask(0o077)
    try:
        for command in (ONCE, ("undo", WEEK_KEY), ("status",), (*ONCE, "--force")):
            ran = spawn(*command, cwd=anothers)
            assert ran.code == 0, ran.err
    finally:
        os.umask(mask)
    assert owners_of(anothers) == {(NOBODY, NOBODY)}
    assert read_header(anothers / "sessions" / WEEK)["last_archived"] > 0


@pytest.mark.parametrize("command", [ONCE, ("undo", WEEK_KEY)])
def test_a_file_of_another_user_is_refused_by_every_command(
    command: tuple[str, ...], anothers: Path, spawn: Invoke
) -> None:
    """Exit 78, naming the file and both users; nothing has changed, and nothing was made."""
    sessions = anothers / "sessions"
    os.chown(sessions / WEEK, 12345, 12345)
    before = snapshot(sessions)

    ran = spawn(*command, cwd=anothers)

    assert ran.code == 78
    assert WEEK in ran.err
    assert "run it as user 12345" in ran.err
    assert snapshot(sessions) == before
    assert not (sessions / ".compactor").exists()


def test_folders_of_two_users_are_refused(anothers: Path, spawn: Invoke) -> None:
    """Root can't be both; nothing is changed in either."""
    shutil.copytree(anothers / "sessions", anothers / "session2")
    for path in (anothers / "session2", *(anothers / "session2").iterdir()):
        os.chown(path, 12345, 12345)
    before = snapshot(anothers)

    ran = spawn(*ONCE, "--store", "jsonl:session*", cwd=anothers)

    assert ran.code == 78
    assert "belongs to" in ran.err
    assert snapshot(anothers) == before


# Files that can't be replaced. The others are compacted all the same.


def refused(place: Path, invoke: Invoke, path: Path, words: str) -> None:
    """Make a pass in which one session can't be written: exit 3, it is as it was, not the other."""
    write_session(place / "sessions", "telegram:2", "y")
    before = snapshot(path)

    ran = invoke(*ONCE)

    assert (ran.code, ran.json["compacted"]) == (3, 1)
    row = ran.session(KEY)
    assert (row["outcome"], row["reason"]) == ("failed", "store")
    assert words in row["detail"]
    assert snapshot(path) == before
    left = {one.suffix for one in (place / "sessions" / ".compactor").iterdir()}
    assert not left & {".new", ".old"}
    assert invoke(*ONCE).json["skipped"] == {"covered": 1, "parked": 1}


@freeze_time(LATER)
def test_an_immutable_file_is_left_alone(place: Path, invoke: Invoke) -> None:
    """With the attribute to clear; once that is done it is compacted."""
    path = write_session(place / "sessions", KEY, "x")
    if subprocess.run(["chattr", "+i", str(path)], capture_output=True, check=False).returncode:
        pytest.skip("this file system knows no immutable files")
    try:
        refused(place, invoke, path, "clear its immutable or append-only attribute")
    finally:
        subprocess.run(["chattr", "-i", str(path)], check=True)
    assert invoke(*ONCE, "--force").json["compacted"] == 1


@freeze_time(LATER)
def test_an_immutable_folder_is_refused(place: Path, invoke: Invoke) -> None:
    """Exit 69: nothing can be made there, so nothing is begun."""
    sessions = place / "sessions"
    write_session(sessions, KEY, "x")
    if subprocess.run(["chattr", "+i", str(sessions)], capture_output=True, check=False).returncode:
        pytest.skip("this file system knows no immutable folders")
    try:
        before = snapshot(sessions)
        ran = invoke(*ONCE)
        assert (ran.code, ran.out) == (69, "")
        assert "clear its immutable or append-only attribute" in ran.err
        assert snapshot(sessions) == before
    finally:
        subprocess.run(["chattr", "-i", str(sessions)], check=True)


@freeze_time(LATER)
def test_a_file_that_is_a_mount_point_is_left_alone(
    place: Path, invoke: Invoke, mounting: Callable[..., None]
) -> None:
    """As in a container that was given single files: mount the folder instead."""
    path = write_session(place / "sessions", KEY, "x")
    outside = place / "outside.jsonl"
    shutil.copy2(path, outside)
    mounting("--bind", str(outside), target=path)
    before = snapshot(outside)

    refused(place, invoke, path, "mount its folder instead")

    assert snapshot(outside) == before


@freeze_time(LATER)
def test_a_folder_of_two_mounts_is_left_alone(
    place: Path, invoke: Invoke, mounting: Callable[..., None]
) -> None:
    """Our hidden folder on another file system, or on another mount of the same one."""
    path = write_session(place / "sessions", KEY, "x")
    area, other = place / "sessions" / ".compactor", place / "other"
    area.mkdir(mode=0o700)
    other.mkdir(mode=0o700)
    mounting("--bind", str(other), target=area)
    before = snapshot(path)

    ran = invoke(*ONCE)

    assert ran.code == 3
    assert "the folder spans two mounts; mount it as one" in ran.session(KEY)["detail"]
    assert snapshot(path) == before


@freeze_time(LATER)
def test_a_read_only_file_system_is_refused(
    place: Path, invoke: Invoke, mounting: Callable[..., None]
) -> None:
    """Exit 69 with the way out; `scan` works there."""
    sessions = place / "sessions"
    write_session(sessions, KEY, "x")
    mounting("--bind", "-o", "ro", str(sessions), target=sessions)
    before = snapshot(sessions)

    ran = invoke(*ONCE)

    assert (ran.code, ran.out) == (69, "")
    assert "mount it writable" in ran.err
    assert invoke("scan", "--json").json["would_compact"] == 1
    assert snapshot(sessions) == before


# Disks.


@pytest.mark.parametrize("begun", [False, True], ids=["new", "begun"])
@pytest.mark.parametrize("lack", ["room", "inodes"])
@freeze_time(LATER)
def test_a_full_disk_changes_nothing(
    lack: str, begun: bool, place: Path, invoke: Invoke, mounting: Callable[..., None]
) -> None:
    """Exit 69 where not even a folder can be made, else 3; with room again it is compacted."""
    sessions = place / "sessions"
    mounting("-t", "tmpfs", "-o", "size=2m,nr_inodes=64,mode=700", "none", target=sessions)
    if begun:
        assert invoke(*ONCE).code == 0
    path = write_session(sessions, KEY, "x")
    if lack == "room":
        fill_disk(sessions)
    else:
        (sessions / "filler").mkdir()
        while os.statvfs(sessions).f_favail:
            (sessions / "filler" / str(os.statvfs(sessions).f_favail)).touch()
    before, data = snapshot(path), path.read_bytes()

    ran = invoke(*ONCE)

    # Where there is an inode, a folder can still be made.
    assert ran.code == (69 if lack == "inodes" and not begun else 3)
    assert "free some space" in (ran.session(KEY)["detail"] if ran.code == 3 else ran.err)
    assert snapshot(path) == before
    filler = sessions / "filler"
    shutil.rmtree(filler) if filler.is_dir() else filler.unlink()
    assert invoke(*ONCE, "--force").json["compacted"] == 1
    assert message_lines(path.read_bytes()) == message_lines(data)


# One folder mounted in two places.


def test_a_folder_that_is_mounted_twice_has_one_worker(
    place: Path, invoke: Invoke, mounting: Callable[..., None]
) -> None:
    """The lock lies in it. To the journal they are two places, but the session says what happened.

    So nothing is compacted twice, and what was undone is held by either name.
    """
    write_session(place / "sessions", KEY, "x")
    (place / "again").mkdir()
    mounting("--bind", str(place / "sessions"), target=place / "again")
    again = ("--store", "jsonl:again")
    with held(place, "jsonl:sessions"):
        assert invoke(*ONCE, *again).code == 75
    with freeze_time(LATER):
        assert invoke(*ONCE).json["compacted"] == 1
        assert invoke(*ONCE, *again).json["skipped"] == {"covered": 1}
        assert invoke("undo", KEY, *again).code == 0
        assert invoke(*ONCE).json["skipped"] == {"held": 1}
