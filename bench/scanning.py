"""How long a look at every session takes: ours, bare system calls, nanobot's own idle scan."""

from __future__ import annotations

import os
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

from bench.nanobot_times import ask_nanobot
from bench.scene import TTL, Scenes
from bench.timing import Measure, take_best

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bench.scene import Scene

_PART = "scan"
_DUE_SHARE = 100  # one session in so many is due


def measure_scan(place: Path, sessions: int, rounds: int, nanobot_python: str) -> Iterator[Measure]:
    """Measure dry passes over `sessions` sessions in several states.

    The journal is read at each of them, as in a real pass. Without `nanobot_python` nanobot is not
    asked.
    """
    scenes = Scenes.make(place, sessions, due=max(1, sessions // _DUE_SHARE))
    with closing(scenes):
        scenes.check()
        yield _measure_listing(scenes.active, rounds)
        ours: dict[str, float] = {}
        for scene in (scenes.active, scenes.kept, scenes.covered, scenes.due):
            ours[scene.what] = seconds = take_best(rounds, scene.scan)
            bare = take_best(rounds, partial(stat_files, scene.folder))
            first = take_best(rounds, partial(read_first_lines, scene.folder))
            yield Measure(_PART, scene.what, "scandir + stat", seconds, bare)
            yield Measure(_PART, scene.what, "first lines", seconds, first)
        if not nanobot_python:
            return
        active, covered = scenes.active, scenes.covered
        theirs = ask_nanobot(nanobot_python, active.folder, covered.folder, TTL, rounds)
    for scene, baseline, name in (
        (active, "nanobot, list", "list_sessions"),
        (active, "nanobot, idle", "none_idle"),
        (covered, "nanobot, idle", "steady"),
    ):
        yield Measure(_PART, scene.what, baseline, ours[scene.what], theirs[name])


def _measure_listing(scene: Scene, rounds: int) -> Measure:
    ours = take_best(rounds, scene.store.list_sessions)
    bare = take_best(rounds, partial(stat_files, scene.folder))
    return Measure(_PART, "list_sessions() alone", "scandir + stat", ours, bare)


def stat_files(folder: Path) -> int:
    """Ask for the status of every file; returns their size."""
    with os.scandir(folder) as found:
        return sum(file.stat(follow_symlinks=False).st_size for file in found)


def read_first_lines(folder: Path) -> int:
    """Read the first line of every file; returns how long they are."""
    size = 0
    with os.scandir(folder) as found:
        for entry in found:
            with open(entry.path, "rb") as file:  # noqa: PTH123 - as bare as can be
                size += len(file.readline())
    return size
