"""Odd places for sessions: closed, linked, named twice. Each has an outcome, and none a surprise.

Those that only root can make are in `test_places_root.py`. Where something is refused nothing among
the sessions has changed but, at most, that our own folder with its locks is there.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from freezegun import freeze_time

from tests.end_to_end.placing import (
    IS_ROOT,
    ONCE,
    SHORT,
    SHORT_KEY,
    WEEK,
    WEEK_KEY,
    furnish,
    give,
    snapshot,
)
from tests.end_to_end.support import Invoke, message_lines, read_header, save_header
from tests.end_to_end.test_command_line import write_session

LATER = "2026-12-03 12:00:00"


@pytest.fixture
def theirs() -> Iterator[Path]:
    """A place of a user whom modes hold back: ours, or as root another's, which we then take."""
    with tempfile.TemporaryDirectory(prefix="place-") as made:
        folder = Path(made)
        folder.chmod(0o755)
        furnish(folder)
        yield folder
        subprocess.run(["chmod", "-R", "u+rwX", made], check=True)


@pytest.mark.parametrize("mode", [0o500, 0o000], ids=oct)
def test_a_folder_that_is_closed_is_refused(mode: int, theirs: Path, spawn: Invoke) -> None:
    """Exit 69, with the way out; not even our own folder is made."""
    sessions = theirs / "sessions"
    give(theirs)
    before = snapshot(sessions)
    sessions.chmod(mode)

    ran = spawn(*ONCE, cwd=theirs)

    assert (ran.code, ran.out) == (69, "")
    assert "permission denied: let the user that runs us read and write it" in ran.err
    sessions.chmod(0o755)
    assert snapshot(sessions) == before
    assert not (sessions / ".compactor").exists()


def test_a_file_that_is_closed_is_left_alone(theirs: Path, spawn: Invoke) -> None:
    """It is `unreadable`, and the others are compacted; one that is read-only is compacted too."""
    sessions = theirs / "sessions"
    closed, read_only = sessions / WEEK, sessions / SHORT
    give(theirs)
    before = closed.read_bytes()
    closed.chmod(0o000)
    read_only.chmod(0o400)

    ran = spawn(*ONCE, cwd=theirs)

    assert ran.code == 0
    assert ran.session(WEEK_KEY)["reason"] == "unreadable"
    assert "permission denied" in ran.session(WEEK_KEY)["detail"]
    assert ran.session(SHORT_KEY)["outcome"] == "compacted"
    assert read_only.stat().st_mode & 0o777 == 0o400
    assert closed.stat().st_mode & 0o777 == 0
    closed.chmod(0o600)
    assert closed.read_bytes() == before


@pytest.mark.parametrize("where", ["closed/state", "sessions/state.jsonl/state", "config.toml/x"])
def test_a_state_that_can_not_be_made_is_refused(where: str, theirs: Path, spawn: Invoke) -> None:
    """Exit 78 with the key to change; among the sessions nothing is made."""
    if IS_ROOT and where.startswith("closed"):
        pytest.skip("root makes the folder for its owner, who may not")
    config = theirs / "config.toml"
    config.write_text(f'{config.read_text()}[state]\ndir = "{where}"\n')
    (theirs / "closed").mkdir()
    (theirs / "sessions" / "state.jsonl").touch()
    give(theirs)
    (theirs / "closed").chmod(0o500)
    before = snapshot(theirs / "sessions")

    ran = spawn(*ONCE, cwd=theirs)

    assert (ran.code, ran.out) == (78, "")
    assert "[state] dir" in ran.err
    assert snapshot(theirs / "sessions") == before
    assert not (theirs / "sessions" / ".compactor").exists()


@freeze_time(LATER)
def test_a_state_that_is_not_there_is_made(place: Path, invoke: Invoke) -> None:
    """However deep; it is its owner's alone."""
    config = place / "config.toml"
    config.write_text(config.read_text() + '[state]\ndir = "some/where/deep"\n')
    write_session(place / "sessions", "telegram:1", "x")

    assert invoke(*ONCE).json["compacted"] == 1
    assert (place / "some/where/deep").stat().st_mode & 0o777 == 0o700


# Links.


@freeze_time(LATER)
def test_a_session_that_is_a_link_is_refused(place: Path, invoke: Invoke) -> None:
    """What it points to, a good session elsewhere, is neither read nor changed."""
    (place / "elsewhere").mkdir()
    target = write_session(place / "elsewhere", "telegram:1", "x")
    link = place / "sessions" / target.name
    link.symlink_to(target)
    write_session(place / "sessions", "telegram:2", "x")
    before = snapshot(place / "elsewhere")

    ran = invoke(*ONCE)

    assert (ran.code, ran.json["compacted"]) == (0, 1)
    assert ran.session("telegram:1")["reason"] == "unreadable"
    assert "symbolic link" in ran.session("telegram:1")["detail"]
    assert link.is_symlink()
    assert snapshot(place / "elsewhere") == before
    assert invoke("undo", "telegram:1").code == invoke("show", "telegram:1").code == 3


@freeze_time(LATER)
def test_another_name_of_a_session_keeps_what_it_had(place: Path, invoke: Invoke) -> None:
    """A hard link is a backup by `cp -al` or rsync: it stays whole, as when an agent saves.

    nanobot replaces the file at each save, so two names part there too. Ours keeps every message,
    and the other is the same file as ever, with no byte of ours in it.
    """
    path = write_session(place / "sessions", "telegram:1", "x")
    backup = place / "backup"
    backup.hardlink_to(path)
    before = snapshot(place)

    assert invoke(*ONCE).json["compacted"] == 1

    assert snapshot(place)[str(backup)] == before[str(backup)]
    assert message_lines(path.read_bytes()) == message_lines(backup.read_bytes())
    assert read_header(path)["last_archived"] > 0
    invoke(*ONCE)  # what was watched is let go of
    assert path.stat().st_nlink == backup.stat().st_nlink == 1


@freeze_time(LATER)
def test_one_file_under_two_names_is_two_sessions(place: Path, invoke: Invoke) -> None:
    """Each is compacted, and both have every message."""
    path = write_session(place / "sessions", "telegram:1", "x")
    other = place / "sessions" / "dGVsZWdyYW06Mg.jsonl"
    other.hardlink_to(path)
    lines = message_lines(path.read_bytes())

    ran = invoke(*ONCE)

    assert (ran.code, ran.json["compacted"]) == (0, 2)
    for one in (path, other):
        assert message_lines(one.read_bytes()) == lines
        assert read_header(one)["last_archived"] > 0


# Names.


@pytest.mark.parametrize(
    "name",
    [f"telegram_{'x' * 240}.jsonl", f"telegram_{'é' * 120}.jsonl", f"{'🦜' * 62}1.jsonl"],
    ids=["letters", "accents", "parrots"],
)
@freeze_time(LATER)
def test_a_name_of_255_bytes_is_no_obstacle(name: str, place: Path, invoke: Invoke) -> None:
    """It is compacted, looked at, and taken back; nothing else has to fit beside it."""
    assert len(name.encode()) == 255
    written = write_session(place / "sessions", "telegram:1", "x")
    path = written.rename(place / "sessions" / name)
    lines = message_lines(path.read_bytes())

    assert invoke(*ONCE).json["compacted"] == 1
    assert invoke("show", "telegram:1").code == invoke("undo", "telegram:1").code == 0
    assert invoke(*ONCE).json["skipped"] == {"held": 1}
    assert message_lines(path.read_bytes()) == lines
    assert {one.name for one in (place / "sessions").iterdir()} == {name, ".compactor"}


@freeze_time(LATER)
def test_of_two_old_files_of_one_session_the_first_counts_everywhere(
    place: Path, invoke: Invoke
) -> None:
    """`show` and `undo` mean the one that was compacted, and need no folder to tell them apart."""
    path = write_session(place / "sessions", "telegram:1", "x")
    second = path.with_name("telegram_1 (copy).jsonl")
    first = path.rename(path.with_name("telegram_1 (a).jsonl"))
    shutil.copy2(first, second)
    before = snapshot(place / "sessions")

    assert invoke(*ONCE).json["compacted"] == 1
    assert invoke("show", "telegram:1", "--json").json["covers"] > 0
    assert invoke("undo", "telegram:1").code == 0
    assert invoke("once", "--key", "telegram:1", "--force").code == 0

    assert snapshot(place / "sessions")[str(second)] == before[str(second)]
    assert read_header(first)["last_archived"] > 0


# One folder, named in two ways.

HOLDER = """
import sys; from session import open_store
with open_store(sys.argv[1]).exclusive():
    print('held', flush=True); sys.stdin.read()
"""


@contextmanager
def held(place: Path, url: str) -> Iterator[None]:
    """Let another worker hold a store, in a process of its own."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, url],
        cwd=place,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        try:
            yield
        finally:
            holder.kill()


def names_of(place: Path) -> list[str]:
    """URLs of one and the same folder."""
    (place / "link").symlink_to("sessions")
    (place / "far").symlink_to(place)
    folders = (
        "sessions",
        place / "sessions",
        "link",
        place / "far/link",
        "./sessions/../sessions/.",
    )
    return [f"jsonl:{folder}" for folder in folders]


def test_a_worker_holds_a_folder_by_all_its_names(place: Path, invoke: Invoke) -> None:
    """Exit 75 by whichever it is asked for."""
    write_session(place / "sessions", "telegram:1", "x")
    names = names_of(place)
    for mine in (names[0], names[3]):
        with held(place, mine):
            for name in [*names, "jsonl:lin*", "jsonl:*"]:
                ran = invoke(*ONCE, "--store", name)
                assert ran.code == 75, (mine, name)
                assert str(place / "sessions") in ran.err


@freeze_time(LATER)
def test_the_journal_knows_a_folder_by_all_its_names(place: Path, invoke: Invoke) -> None:
    """What landed by one is applied again by the next, and what was undone by one is held."""
    path = write_session(place / "sessions", "telegram:1", "x")
    header = read_header(path)
    first, *others = names_of(place)
    assert invoke(*ONCE, "--store", first).json["compacted"] == 1
    for number, name in enumerate(others):
        save_header(path, header)
        rows = [
            {"role": role, "content": "hm", "timestamp": f"2026-12-02T0{number}:00:00"}
            for role in ("user", "assistant")
        ]
        with path.open("a") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
        assert invoke(*ONCE, "--store", name).json["reapplied"] == 1, name
    assert invoke("undo", "telegram:1", "--store", others[0]).code == 0
    save_header(path, header)
    for name in (first, *others):
        assert invoke(*ONCE, "--store", name).json["skipped"] == {"held": 1}
