"""The power goes in the middle of a commit, a save or an undo, on a file system of its own.

The file system lies in an image, and a copy of that, made while it is mounted, is what a disk holds
at that instant: what was handed to it is there, what was only in memory is not. The copy is mounted
as after a power cut, its journal is replayed, and the file must be entirely old or entirely new. A
disk that loses what it was handed, or writes in another order, is not played.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from tests.fire.operations import Commit, DurableSave, Operation, Save, Undo
from tests.session.stepping import stopping

SIZE = 16 << 20
SEED, SAMPLE = 20261130, 6


def make_image(path: Path) -> None:
    """Make an empty file system in a file."""
    with path.open("wb") as file:
        file.truncate(SIZE)
    subprocess.run(["mkfs.ext4", "-q", str(path)], check=True, capture_output=True)


@contextmanager
def mounted(image: Path, where: Path) -> Iterator[None]:
    """Mount an image, as after a power cut if it was in use."""
    where.mkdir(exist_ok=True)
    subprocess.run(["mount", "-o", "loop", str(image), str(where)], check=True, capture_output=True)
    try:
        yield
    finally:
        ended = subprocess.run(["umount", str(where)], check=False)
        if ended.returncode:  # something of ours is open there: leave nothing behind all the same
            subprocess.run(["umount", "--lazy", str(where)], check=True)
            ended.check_returncode()


@cache
def why_not(place: Path) -> str | None:
    """Return what keeps us from mounting images here; None where nothing does."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return "only root can mount a file system"
    if shutil.which("mkfs.ext4") is None:
        return "mkfs.ext4 is not installed"
    image = place / "probe"
    make_image(image)
    try:
        with mounted(image, place / "mounted"):
            return None
    except subprocess.CalledProcessError:
        return "this machine can't mount an image of a file system"


class Disk:
    """An image that is mounted, and the states of the disk that are kept on the way."""

    def __init__(self, place: Path) -> None:
        self.image = place / "image"
        self.root = place / "root"
        self.copies = place / "copies"
        self.copies.mkdir()
        make_image(self.image)

    def cut(self, name: str, *, commit_names: bool) -> Path:
        """Keep what the disk holds now, as a power cut would leave it.

        With `commit_names` right after the file system's own journal was written, which it is every
        few seconds: then names are durable, and data that nobody synced is not.
        """
        if commit_names:
            other = self.root / "other"
            with other.open("ab") as file:
                file.write(b".")
                file.flush()
                os.fsync(file.fileno())
        kept = self.copies / name
        shutil.copyfile(self.image, kept)
        return kept


def look(copy: Path, operation: Operation) -> str:
    """Return the state of the file after a power cut; the next run must succeed there."""
    with mounted(copy, operation.place.parent):
        state = operation.state()
        operation.run_next()
    copy.unlink()
    return state


def cut_at(
    kind: type[Operation], step: int, disk: Disk, *, commit_names: bool
) -> tuple[Path, Operation, int]:
    """Run an operation and keep the disk's state ahead of one call, or after all (`step` < 0)."""
    operation = kind(disk.root / "place")
    kept: list[Path] = []
    seen = 0

    def at(now: int, _: str) -> None:
        nonlocal seen
        seen = now + 1
        if now == step:
            kept.append(disk.cut("cut", commit_names=commit_names))

    with mounted(disk.image, disk.root):
        operation.lay_out()
        action = operation.prepare()
        os.sync()
        with stopping(at):
            action()
        if step < 0:
            kept.append(disk.cut("cut", commit_names=commit_names))
        operation.held.close()
    (copy,) = kept
    return copy, operation, seen


def run_cuts(kind: type[Operation], place: Path, limit: int | None) -> Counter[str]:
    """Cut the power at the calls of an operation, and count the states that were found."""
    reason = why_not(place)
    if reason is not None:
        pytest.skip(reason)
    disk = Disk(place)
    for _ in range(2):  # the first run imports and remembers what the others need not
        copy, operation, steps = cut_at(kind, -1, disk, commit_names=False)
        ended = look(copy, operation)
        assert ended == "new" or kind is Save  # done is durable, unless that was not asked for
    points = [(step, names) for step in range(steps) for names in (False, True)]
    if limit is not None:
        points = random.Random(SEED).sample(points, limit)
    found: Counter[str] = Counter()
    for step, names in points:
        copy, operation, _ = cut_at(kind, step, disk, commit_names=names)
        found[look(copy, operation)] += 1
    return found


operations = pytest.mark.parametrize(
    "kind", [Commit, Undo, Save, DurableSave], ids=lambda kind: kind.__name__
)


@pytest.mark.parametrize("kind", [Commit, Save], ids=lambda kind: kind.__name__)
def test_a_power_cut_leaves_a_file_old_or_new(kind: type[Operation], tmp_path: Path) -> None:
    """At some calls, the same ones every time; what is done is durable."""
    assert sum(run_cuts(kind, tmp_path, SAMPLE).values()) == SAMPLE


@pytest.mark.soak
@pytest.mark.timeout(3000)
@operations
def test_a_power_cut_at_any_call_leaves_a_file_old_or_new(
    kind: type[Operation], tmp_path: Path, tell: Callable[..., None]
) -> None:
    """At each call, with the names committed and without."""
    found = run_cuts(kind, tmp_path, None)
    tell(cuts=found.total(), **found)
    assert {*found} == {"old", "new"}
