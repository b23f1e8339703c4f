"""Asking nanobot how long its own idle scan of the same sessions takes."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import timedelta

_SCRIPT = Path(__file__).with_name("nanobot_scan.py")


def ask_nanobot(
    python: str, active: Path, covered: Path, ttl: timedelta, rounds: int
) -> dict[str, float]:
    """Return the seconds of `list_sessions`, and of `check_expired` `none_idle` and `steady`.

    `python` is a Python with nanobot-ai. Its home is a folder of its own, thrown away afterwards.
    """
    minutes = int(ttl.total_seconds()) // 60
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(
            [python, _SCRIPT, active, covered, str(minutes), str(rounds)],
            env={"HOME": home},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        message = f"nanobot could not be measured: {done.stderr[-2_000:]}"
        raise RuntimeError(message)
    seconds: dict[str, float] = json.loads(done.stdout)
    return seconds
