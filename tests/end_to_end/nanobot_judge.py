"""Run by nanobot's own Python: what its loader and its prompt builder make of session files.

Usage: python judge.py FOLDER; prints one JSON object, by session key.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from nanobot.agent.context import ContextBuilder
from nanobot.session.manager import SessionManager
from nanobot.session.summary import session_summary_from_metadata


def judge(folder: Path, scratch: Path) -> dict[str, Any]:
    """Load every file through a manager of its own folder; nothing of ours is looked at."""
    workspace, root = scratch / "workspace", scratch / "sessions"
    manager = SessionManager(workspace, sessions_root=root)
    for path in folder.glob("*.jsonl"):
        shutil.copy2(path, manager.sessions_dir / path.name)
    builder = ContextBuilder(workspace)
    seen: dict[str, Any] = {}
    for path in sorted(folder.glob("*.jsonl")):
        key = SessionManager.decode_storage_key(path.stem)
        session = manager.get_or_create(key) if key else None
        if session is None:
            continue
        summary = session_summary_from_metadata(
            session.metadata, fallback_last_active=session.updated_at
        )
        prompt = builder.build_system_prompt(session_summary=summary, include_memory=False)
        seen[key] = {
            "messages": len(session.messages),
            "cursor": session.last_archived,
            "summary": None if summary is None else summary["text"],
            "prompt_end": prompt[-len(summary["text"]) :] if summary else "",
            "history": session.get_history(),
        }
    return seen


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        print(json.dumps(judge(Path(sys.argv[1]), Path(made))))
