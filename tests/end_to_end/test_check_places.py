"""`compactor check` and the places: whose they are, who may look in, what room is left."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from compactor.checks.place import LITTLE_ROOM, judge_space
from tests.end_to_end.checking import (
    Case,
    assert_healthy,
    look,
    read_lines,
    run_case,
    type_in,
    write_setting,
)
from tests.end_to_end.placing import mount
from tests.end_to_end.support import LOW_FLOORS, SAMPLES, Invoke, copy_sessions

NOBODY = 65534
NAME = "dGVsZWdyYW06YWlybGluZS13ZWVr.jsonl"
IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
needs_root = pytest.mark.skipif(not IS_ROOT, reason="only root can play two users")
needs_user = pytest.mark.skipif(IS_ROOT, reason="root may read and write whatever its mode")


@pytest.fixture
def healthy(place: Path) -> Path:
    """A folder with real sessions, a key file, and nothing wrong with it."""
    copy_sessions(SAMPLES, place / "sessions")
    (place / "sessions").chmod(0o755)
    (place / "key").write_text("k")
    (place / "key").chmod(0o600)
    write_setting(place / "config.toml", "llm", "api_key_file", f'"{place / "key"}"')
    return place


def with_mode(name: str, mode: int) -> Callable[[Path], None]:
    """Give a file or folder another mode; the state is made first."""

    def break_it(place: Path) -> None:
        (place / "state").mkdir(mode=0o700, exist_ok=True)
        (place / "state" / "journal.sqlite3").touch(0o600)
        (place / name).chmod(mode)

    return break_it


def give_away(name: str) -> Callable[[Path], None]:
    """Give a file or a folder, made if it isn't there, to somebody else."""

    def break_it(place: Path) -> None:
        path = place / "sessions" / name
        path.parent.mkdir(mode=0o700, exist_ok=True)
        if name == ".compactor":
            path.mkdir(mode=0o700)
        elif not path.exists():
            path.touch(0o600)
        os.chown(path, NOBODY, NOBODY)

    return break_it


def block_area(place: Path) -> None:
    """A file has the name of our own folder."""
    (place / "sessions" / ".compactor").write_text("in the way")


OPEN = [
    Case(
        "a folder that all may write",
        with_mode("sessions", 0o777),
        "permissions",
        "warn",
        0,
        "can be written by others",
        type_in,
    ),
    Case(
        "a folder that a group may write",
        with_mode("sessions", 0o775),
        "permissions",
        "warn",
        0,
        "can be written by others",
        type_in,
    ),
    Case(
        "a state that others may read",
        with_mode("state", 0o755),
        "permissions",
        "warn",
        0,
        "is open to others",
        type_in,
    ),
    Case(
        "a key that others may read",
        with_mode("key", 0o644),
        "permissions",
        "warn",
        0,
        "llm.api_key_file",
        type_in,
    ),
    Case(
        "a file in place of our folder",
        block_area,
        "store",
        "fail",
        69,
        ".compactor must be a folder of our own; move it aside",
        type_in,
    ),
]
OWNED = [
    Case("a session of another user", give_away(NAME), "store", "fail", 78, "run it as", type_in),
    Case(
        "the agent's lock of another user",
        give_away(".session-files.lock"),
        "permissions",
        "fail",
        78,
        "every save of the agent fails",
        type_in,
    ),
    Case(
        "our folder of another user",
        give_away(".compactor"),
        "permissions",
        "fail",
        78,
        "no compaction can be saved",
        type_in,
    ),
    Case(
        "our lock of another user",
        give_away(".compactor/worker.lock"),
        "permissions",
        "fail",
        78,
        "no compaction can be saved",
        type_in,
    ),
]
CLOSED = [
    Case(
        "a folder that may not be written",
        with_mode("sessions", 0o500),
        "store",
        "fail",
        69,
        "permission denied",
        type_in,
    ),
    Case(
        "a state that may not be written",
        with_mode("state", 0o500),
        "journal",
        "fail",
        78,
        "may not be written",
        type_in,
    ),
    Case(
        "a folder that may not be read",
        with_mode("sessions", 0o300),
        "store",
        "fail",
        69,
        "permission denied",
        type_in,
    ),
    Case(
        "a journal that may not be written",
        with_mode("state/journal.sqlite3", 0o400),
        "journal",
        "fail",
        78,
        "may not be written",
        type_in,
    ),
]


@pytest.mark.parametrize("case", OPEN, ids=lambda case: case.name)
def test_what_is_open_or_in_the_way_is_told(case: Case, healthy: Path, invoke: Invoke) -> None:
    """The command of the remedy, typed as it stands, repairs it."""
    run_case(case, healthy, invoke)


@needs_root
@pytest.mark.parametrize("case", OWNED, ids=lambda case: case.name)
def test_what_belongs_to_somebody_else_is_told(case: Case, healthy: Path, invoke: Invoke) -> None:
    """It would keep the agent or us from saving."""
    run_case(case, healthy, invoke)


@needs_user
@pytest.mark.parametrize("case", CLOSED, ids=lambda case: case.name)
def test_what_is_closed_to_us_is_told(case: Case, healthy: Path, invoke: Invoke) -> None:
    """Not by an error of the system alone."""
    run_case(case, healthy, invoke)


@pytest.fixture
def anothers() -> Iterator[Path]:
    """A healthy folder of another user, who can reach it: pytest's own are root's alone."""
    folder = Path(subprocess.check_output(["mktemp", "-d"], text=True).strip())
    (folder / "config.toml").write_text(LOW_FLOORS)
    (folder / "sessions").mkdir()
    copy_sessions(SAMPLES, folder / "sessions")
    subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", str(folder)], check=True)
    yield folder
    subprocess.run(["rm", "-rf", str(folder)], check=True)


@needs_root
@pytest.mark.parametrize("cases", [CLOSED[:2], CLOSED[2:]], ids=["folders", "files"])
def test_root_looks_with_the_eyes_of_the_owner(
    cases: list[Case], anothers: Path, spawn: Invoke
) -> None:
    """What is closed to the owner is closed to the worker, who takes that identity."""
    for case in cases:
        case.break_it(anothers)
    subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", str(anothers)], check=True)
    broken = spawn("check", "--json", cwd=anothers)
    lines = read_lines(broken.json)
    assert broken.code == cases[0].code
    for case in cases:
        assert lines[case.line].state == case.state, broken.out
        assert case.words in lines[case.line].detail
        case.follow(lines[case.line], anothers)
    mended = spawn("check", "--json", cwd=anothers)
    assert {line.state for line in read_lines(mended.json).values()} == {"ok"}, mended.out
    assert mended.code == 0


MIB = 1 << 20


@pytest.mark.parametrize(
    ("free", "inodes", "largest", "state", "words"),
    [
        (LITTLE_ROOM, 5, MIB, "ok", "100.0 MiB are left"),
        (LITTLE_ROOM, None, MIB, "ok", "100.0 MiB are left"),
        (LITTLE_ROOM - 1, 5, MIB, "warn", "only 100.0 MiB are left"),
        (2 * MIB, 5, MIB, "warn", "only 2.0 MiB are left"),
        (2 * MIB - 1, 5, MIB, "fail", "2.0 MiB are needed"),
        (0, 5, 0, "fail", "0 bytes are left"),
        (LITTLE_ROOM, 0, MIB, "fail", "no inode is left"),
        (LITTLE_ROOM, 5, LITTLE_ROOM, "fail", "200.0 MiB are needed"),
    ],
)
def test_the_room_that_is_needed(
    free: int, inodes: int | None, largest: int, state: str, words: str
) -> None:
    """The largest session must fit twice; a little more should be left."""
    said = judge_space("/here", free, inodes, largest)
    assert said.state == state
    assert words in said.detail
    assert said.exit_code == (69 if state == "fail" else 0)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of our own, of 120 MiB and few files."""
    disk = tmp_path / "disk"
    disk.mkdir()
    options = "size=120m,nr_inodes=64,mode=700"
    take_away = mount("-t", "tmpfs", "-o", options, "none", target=disk)
    yield disk
    take_away()


def test_a_full_disk_is_told(
    small_disk: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failing, then with little left, then well; and so without an inode."""
    (small_disk / "config.toml").write_text(LOW_FLOORS)
    (small_disk / "sessions").mkdir()
    copy_sessions(SAMPLES, small_disk / "sessions")
    with monkeypatch.context() as there:
        there.chdir(small_disk)
        there.delenv("COMPACTOR_CONFIG", raising=False)
        assert_healthy(invoke)

        filler = small_disk / "filler"
        room = os.statvfs(small_disk)
        with filler.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, room.f_bavail * room.f_frsize - 4096)
        code, lines = look(invoke)
        assert (code, lines["disk"].state) == (69, "fail")
        assert "free some on its disk" in lines["disk"].remedy
        lines["disk"].run_command()  # it shows the disk
        os.truncate(filler, 60 * MIB)
        code, lines = look(invoke)
        assert (code, lines["disk"].state) == (0, "warn")
        filler.unlink()
        assert_healthy(invoke)

        made = 0
        while os.statvfs(small_disk).f_favail:
            (small_disk / f"file{made}").touch()
            made += 1
        code, lines = look(invoke)
        assert (code, lines["disk"].state) == (69, "fail")
        assert "no inode is left" in lines["disk"].detail
        for number in range(made):
            (small_disk / f"file{number}").unlink()
        assert_healthy(invoke)
