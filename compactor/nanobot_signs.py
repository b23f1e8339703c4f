"""What a folder of sessions tells of the agents that use it: their signs, nanobot's marks."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from compactor.ways import Signs
from session.adopter import live_adopters
from session.nanobot_adoption import MINUTES_FIELD

if TYPE_CHECKING:
    from pathlib import Path

_MARKER = ".workspace"  # nanobot 0.3.5 leaves it in each workspace's folder of sessions
_CONFIG = "config.json"
_KEYS = ("idleCompactAfterMinutes", "idle_compact_after_minutes", "sessionTtlMinutes")
_DEFAULT_MINUTES = 15  # since 0.2.2


def read_signs(folder: Path) -> Signs:
    """Return what a folder tells; whatever can't be read there is no sign."""
    adopters = live_adopters(folder)
    kinds = tuple(adopter["kind"] for adopter in adopters)
    running = [adopter[MINUTES_FIELD] for adopter in adopters if MINUTES_FIELD in adopter]
    marked = (folder / _MARKER).is_file()
    # Beside `sessions`, which holds one folder for each workspace; in older releases none.
    for above in (folder.parent.parent, folder.parent):
        defaults = _read_defaults(above / _CONFIG)
        if defaults is not None:
            config = str(above / _CONFIG)
            after = _after(running[0] if running else _configured(defaults))
            return Signs(kinds, is_nanobots=True, config=config, nanobot_after=after)
    after = _after(running[0]) if running else None
    return Signs(kinds, is_nanobots=marked or bool(running), nanobot_after=after)


def _read_defaults(path: Path) -> dict[str, Any] | None:
    """Return the agents' defaults of nanobot's configuration; None where it is none."""
    try:
        config = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    agents = config.get("agents") if isinstance(config, dict) else None
    defaults = agents.get("defaults") if isinstance(agents, dict) else None
    return defaults if isinstance(defaults, dict) else None


def _configured(defaults: dict[str, Any]) -> object:
    return next((defaults[key] for key in _KEYS if key in defaults), _DEFAULT_MINUTES)


def _after(minutes: object) -> timedelta | None:
    if not isinstance(minutes, int | float) or isinstance(minutes, bool) or not minutes > 0:
        return None
    try:
        return timedelta(minutes=minutes)
    except OverflowError:  # longer than anybody lives
        return None
