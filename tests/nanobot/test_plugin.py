"""The plugin beside an unmodified nanobot: how it is installed, and what it leans on."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.nanobot.gateway import run_script
from tests.nanobot.release import NO_PYTHON, PYTHON, is_older

pytestmark = [
    pytest.mark.nanobot,
    pytest.mark.skipif(not PYTHON, reason=NO_PYTHON),
]


def pip(plugin: Path, *arguments: str) -> str:
    """What nanobot's pip says when our wheel is there too."""
    done = subprocess.run(
        [PYTHON, "-m", "pip", "--disable-pip-version-check", *arguments],
        env=dict(os.environ) | {"PYTHONPATH": str(plugin)},  # noqa: TID251 - a child needs one
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_wheel_installs_beside_nanobot(plugin: Path) -> None:
    """Each of our ranges is met by what nanobot 0.3.5 brings."""
    assert "idle-compactor" in pip(plugin, "list")
    if is_older():  # pip brings there what is missing
        return
    assert pip(plugin, "check").strip() == "No broken requirements found."


def test_the_names_of_nanobot_that_we_lean_on_are_there(plugin: Path) -> None:
    """The plugin is found, and what it reads and stands in for is what it was."""
    assert run_script("pins.py", plugin=plugin) == []


def test_the_pins_notice_that_the_plugin_is_gone() -> None:
    """Nothing of ours is in nanobot's own environment, so that the other ways are tried without."""
    assert run_script("pins.py") == ["our entry point", "our class"]
