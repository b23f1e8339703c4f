"""What a folder holds to the last bit, and folders in which a user other than root works."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.end_to_end.support import LOW_FLOORS, SAMPLES

NOBODY = 65534
IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
WEEK, WEEK_KEY = "dGVsZWdyYW06YWlybGluZS13ZWVr.jsonl", "telegram:airline-week"
SHORT, SHORT_KEY = "dGVsZWdyYW06YWlybGluZS0z.jsonl", "telegram:airline-3"
ONCE = ("once", "--agent-stopped", "--json", "--all")

Fact = tuple[int | bytes | str, ...]


def snapshot(*folders: Path) -> dict[str, Fact]:
    """Every name below these folders: what it is and holds, its mode, its owner and its time."""
    return {
        str(path): _tell(path)
        for folder in folders
        for path in (folder, *sorted(folder.rglob("*")))
        if path.name not in {".compactor", "commits.lock", "worker.lock"} or path == folder
    }


def _tell(path: Path) -> Fact:
    status = path.lstat()
    about = (status.st_mode, status.st_uid, status.st_gid)
    if stat.S_ISLNK(status.st_mode):
        return (*about, os.readlink(path))  # noqa: PTH115 - as it is written
    if stat.S_ISREG(status.st_mode):
        return (*about, status.st_mtime_ns, path.read_bytes())
    return about


def furnish(folder: Path) -> Path:
    """A low-floored configuration and a folder of two real sessions; returns that."""
    (folder / "config.toml").write_text(LOW_FLOORS)
    (folder / "sessions").mkdir()
    for name in (WEEK, SHORT):
        shutil.copy2(SAMPLES / name, folder / "sessions")
    return folder / "sessions"


def give(folder: Path, user: int = NOBODY) -> None:
    """As root, give all of a folder to a user, whose identity the command then takes."""
    if IS_ROOT:
        subprocess.run(["chown", "-R", "-h", f"{user}:{user}", str(folder)], check=True)


def mount(*arguments: str, target: Path) -> Callable[[], object]:
    """Mount something there; returns what takes it away. Skips the test where nobody may."""
    try:
        done = subprocess.run(["mount", *arguments, str(target)], capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount here")
    if done.returncode:
        pytest.skip(f"it can't be mounted here: {done.stderr.decode().strip()}")
    return lambda: subprocess.run(["umount", "--lazy", str(target)], check=True)


def fill_disk(folder: Path) -> Path:
    """Leave no room on a disk; returns the file that takes it."""
    filler, room = folder / "filler", os.statvfs(folder)
    with filler.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, room.f_bavail * room.f_frsize)
    return filler
