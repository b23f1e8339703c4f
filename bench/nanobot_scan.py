"""Run by nanobot's own Python: how long its listing and its idle scan take.

Usage: python nanobot_scan.py ACTIVE COVERED TTL_MINUTES ROUNDS; prints one JSON object, in seconds.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_manager = import_module("nanobot.session.manager")
_autocompact = import_module("nanobot.agent.autocompact")


class _NeverDueError(Exception):
    """Nanobot wants to compact a session of which it was to see that there is no need."""


def open_manager(folder: Path, scratch: Path) -> Any:  # noqa: ANN401 - nanobot's, unknown here
    """Return a manager that finds the files of `folder` in a place of its own."""
    manager = _manager.SessionManager(scratch / "workspace", sessions_root=scratch / "sessions")
    for path in folder.glob("*.jsonl"):
        (manager.sessions_dir / path.name).hardlink_to(path)
    return manager


def scan(manager: Any, ttl_minutes: int) -> None:  # noqa: ANN401 - nanobot's, unknown here
    """Let nanobot look for idle sessions, as its agent loop does at every tick."""

    def refuse(*_: object) -> None:
        raise _NeverDueError

    _autocompact.AutoCompact(manager, None, ttl_minutes).check_expired(refuse, refuse)


def take_best(rounds: int, call: Callable[[], object]) -> float:
    """Return how many seconds the fastest of several calls took."""
    best = float("inf")
    for _ in range(rounds):
        begin = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - begin)
    return best


def measure(active: Path, covered: Path, ttl_minutes: int, rounds: int) -> dict[str, float]:
    """Measure a folder in which no session is idle, and one in which all are and are covered."""
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        busy, steady = open_manager(active, Path(one)), open_manager(covered, Path(other))
        return {
            "list_sessions": take_best(rounds, busy.list_sessions),
            "none_idle": take_best(rounds, lambda: scan(busy, ttl_minutes)),
            "steady": take_best(rounds, lambda: scan(steady, ttl_minutes)),
        }


if __name__ == "__main__":
    active, covered, ttl_minutes, rounds = sys.argv[1:]
    print(json.dumps(measure(Path(active), Path(covered), int(ttl_minutes), int(rounds))))
