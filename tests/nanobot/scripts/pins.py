"""Run by nanobot's own Python: the names of nanobot's that our plugin leans on.

Usage: python pins.py; prints what is missing, one JSON list.
"""

from __future__ import annotations

import inspect
import json
import tempfile
from contextlib import nullcontext
from dataclasses import fields
from importlib.metadata import entry_points
from pathlib import Path

from nanobot.agent.tools.base import Tool
from nanobot.agent.tools.context import ToolContext
from nanobot.agent.tools.loader import ToolLoader
from nanobot.config.loader import load_config, set_config_path
from nanobot.session.manager import Session, SessionManager

IN_SESSION = {"key", "messages", "metadata", "updated_at", "last_consolidated"}
SINCE_0_3_5 = {"provider_state"}


def find_missing(scratch: Path) -> list[str]:
    """Compare what is there with what we use."""
    if hasattr(SessionManager, "locked_session_files"):  # since 0.3.5
        manager = SessionManager(scratch / "workspace", sessions_root=scratch / "sessions")
        locked, more = manager.locked_session_files, SINCE_0_3_5
    else:
        manager = SessionManager(scratch / "workspace")
        locked, more = nullcontext, set()
    session = manager.get_or_create("websocket:1")
    manager.save(session)
    path = manager._get_session_path("websocket:1")
    vars(session)["_note"] = 1
    with locked(), locked():
        manager.save(session, fsync=True)
    set_config_path(scratch / "config.json")
    held = {
        "fields of Session": {one.name for one in fields(Session)} >= IN_SESSION | more,
        "a place for our note on a session": b"_note" not in path.read_bytes(),
        "sessions of ToolContext": "sessions" in {one.name for one in fields(ToolContext)},
        "enabled of Tool": inspect.ismethod(Tool.enabled),
        "a path in the sessions' folder": path.is_file() and path.parent == manager.sessions_dir,
        "get_or_create and save": not {"get_or_create", "save"} & set(vars(manager)),
        "the same object, as long as it is cached": manager.get_or_create(session.key) is session,
        "our entry point": "idle-compactor" in entry_points(group="nanobot.tools").names,
        "its own time of compaction": load_config().agents.defaults.session_ttl_minutes == 15,
        "our class": "idle-compactor" in ToolLoader()._discover_plugins(),
    }
    return [what for what, holds in held.items() if not holds]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        print(json.dumps(find_missing(Path(made))))
