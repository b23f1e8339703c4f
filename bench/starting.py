"""How long a process takes to start and end: ours, a bare Python, and one with our libraries."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING

from bench.corpus import write_folder
from bench.scene import CONFIG
from bench.timing import Measure, take_best
from compactor.setup import read_clock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PART = "start"
_SESSIONS = 20
_BASELINES = {
    "python, bare": "pass",
    "python, libraries": "import click, rich, pydantic",
}
_COMMANDS = {
    "compactor --help": ("--help",),
    "compactor scan": ("scan", "--config", "config.toml"),
}


def measure_start(place: Path, rounds: int) -> Iterator[Measure]:
    """Measure commands as processes, in a folder with a few sessions."""
    folder = place / "start"
    folder.mkdir()
    (folder / "config.toml").write_text(CONFIG)
    write_folder(folder / "active", _SESSIONS, read_clock())
    bare = {
        name: take_best(rounds, partial(_run, folder, "-c", code))
        for name, code in _BASELINES.items()
    }
    for what, arguments in _COMMANDS.items():
        ours = take_best(rounds, partial(_run, folder, "-m", "compactor", *arguments))
        for name, seconds in bare.items():
            yield Measure(_PART, what, name, ours, seconds)


def _run(folder: Path, *arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, check=True)
