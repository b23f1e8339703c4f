"""The nanobot that is tried, and where its releases differ."""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path

PYTHON = os.environ.get("NANOBOT_PYTHON", "")  # noqa: TID251 - how a tester names it
NO_PYTHON = "NANOBOT_PYTHON names no Python with nanobot-ai"
PROGRAM = Path(PYTHON or "python").with_name("nanobot")
_VERSION = "from importlib.metadata import version; print(version('nanobot-ai'))"


@cache
def is_older() -> bool:
    """Whether it is older than 0.3.5.

    Then sessions are in the workspace, the state of a turn stands in the header, nobody takes a
    lock, and the header keeps one cursor.
    """
    done = subprocess.run(
        [PYTHON, "-c", _VERSION], capture_output=True, text=True, check=True, timeout=100
    )
    return tuple(map(int, done.stdout.strip().split("."))) < (0, 3, 5)


def sessions_pattern() -> str:
    """The folder of a gateway's sessions, as a glob from the folder of its `config.json`."""
    return "workspace/sessions" if is_older() else "sessions/*"
