"""The plugin beside an unmodified nanobot: how it is installed, and what it leans on."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.nanobot.gateway import run_script
from tests.nanobot.release import NO_PYTHON, PYTHON, is_older

pytestmark = [
    pytest.mark.nanobot,
    pytest.mark.skipif(not PYTHON, reason=NO_PYTHON),
]


# What nanobot does not bring, and pip therefore installs with us.
OURS_ALONE = {"apscheduler"}


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
    assert not done.stderr, done.stderr
    return done.stdout


def test_the_wheel_installs_beside_nanobot(plugin: Path) -> None:
    """Each of our ranges is met by what nanobot 0.3.5 brings, or pip brings what is missing."""
    assert "idle-compactor" in pip(plugin, "list")
    if is_older():
        return
    wrong = re.findall(r"^idle-compactor .*$", pip(plugin, "check"), re.MULTILINE)
    missing = {re.search(r"requires (\S+), which is not installed", line) for line in wrong}
    assert {found and found[1] for found in missing} <= OURS_ALONE


def test_the_names_of_nanobot_that_we_lean_on_are_there(plugin: Path) -> None:
    """The plugin is found, and what it reads and stands in for is what it was."""
    assert run_script("pins.py", plugin=plugin) == []


def test_the_pins_notice_that_the_plugin_is_gone() -> None:
    """Nothing of ours is in nanobot's own environment, so that the other ways are tried without."""
    assert run_script("pins.py") == ["our entry point", "our class"]
