"""The judge of what we write into nanobot's files is its own loader.

Needs nanobot-ai 0.3.5 in an environment of its own; NANOBOT_PYTHON names that Python. `.ci/run`
sets both up.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from freezegun import freeze_time

from session import SessionManager, open_store
from tests.end_to_end.support import DATA, SAMPLES, Invoke, copy_sessions, grow

PYTHON = os.environ.get("NANOBOT_PYTHON", "")  # noqa: TID251 - how a tester names it
pytestmark = [
    pytest.mark.nanobot,
    pytest.mark.skipif(not PYTHON, reason="NANOBOT_PYTHON names no Python with nanobot-ai 0.3.5"),
]
FOLDERS = {
    "samples": SAMPLES,
    "0.3.5 ok": DATA / "v0.3.5" / "ok",
    "0.3.5 bad": DATA / "v0.3.5" / "bad",
    "0.2.2": DATA / "v0.2.2" / "sessions",
}
# What 0.3.5 itself made of its files; where it loads nothing it can't judge us.
EXPECTED = json.loads((DATA / "v0.3.5" / "expected.json").read_text())


def judge(folder: Path) -> dict[str, Any]:
    """What nanobot makes of every file in a folder."""
    script = Path(__file__).with_name("nanobot_judge.py")
    done = subprocess.run(
        [PYTHON, str(script), str(folder)], capture_output=True, text=True, check=True, timeout=100
    )
    seen: dict[str, Any] = json.loads(done.stdout)
    return seen


def rename_old(folder: Path) -> None:
    """Give files of the old layout the name under which nanobot 0.3.5 looks for them."""
    for entry in open_store(f"jsonl:{folder}").list_sessions():
        stem = base64.urlsafe_b64encode(entry.ref.key.encode()).rstrip(b"=").decode()
        (folder / entry.name).rename(folder / f"{stem}.jsonl")


@pytest.mark.parametrize("keep", [4, pytest.param(0, marks=pytest.mark.soak)])
@pytest.mark.parametrize("source", FOLDERS.values(), ids=FOLDERS)
@freeze_time("2026-12-03 12:00:00")
def test_nanobot_reads_what_we_wrote(source: Path, keep: int, place: Path, invoke: Invoke) -> None:
    """The same messages, our cursor, our entry at the end of its prompt, our first kept row."""
    folder = place / "sessions"
    config = place / "config.toml"
    config.write_text(config.read_text().replace("messages = 4", f"messages = {keep}"))
    copy_sessions(source, folder)
    for path in folder.glob("*.jsonl"):
        grow(path, before=20)
    rename_old(folder)
    before = judge(folder)

    ran = invoke("once", "--agent-stopped", "--json", "--all")

    after = judge(folder)
    store = open_store(f"jsonl:{folder}")
    entries = {entry.ref.key: entry for entry in store.list_sessions()}
    compacted = [row["key"] for row in ran.json["sessions"] if row["outcome"] == "compacted"]
    judged = 0
    for key in compacted:
        loads = EXPECTED.get(key, {}).get("load", {}) is not None
        if not loads or key.startswith("dream:"):
            continue
        session = store.load(entries[key])
        seen = after[key]
        assert seen["messages"] == before[key]["messages"] == len(session.messages), key
        assert seen["cursor"] == session.projection.covers > 0, key
        assert seen["summary"] == session.summary == seen["prompt_end"], key
        assert_same_start(key, seen["history"], [message.data for message in session.kept])
        judged += 1
    assert judged >= {"samples": 12, "0.2.2": 8}.get(source.name, 10)


@pytest.mark.parametrize("source", [SAMPLES, DATA / "v0.3.5" / "ok"], ids=["samples", "0.3.5 ok"])
def test_nanobot_reads_what_our_manager_saved(source: Path, place: Path) -> None:
    """An agent may change from one manager to the other and back."""
    folder = place / "sessions"
    copy_sessions(source, folder)
    before = judge(folder)
    with SessionManager(folder) as manager:
        for key in before:
            session = manager.get_or_create(key)
            session.add_message("user", "one more")
            session.metadata["title"] = "A title"
            manager.save(session)

    after = judge(folder)

    assert len(after) >= 15
    for key, seen in after.items():
        assert seen["messages"] == before[key]["messages"] + 1, key
        assert seen["cursor"] == before[key]["cursor"], key
        assert seen["summary"] == before[key]["summary"], key
        assert seen["history"][-1]["content"].endswith("one more"), key


def assert_same_start(key: str, history: list[dict[str, Any]], kept: list[dict[str, Any]]) -> None:
    """Its history starts at our first kept message that it renders at all.

    It renders no command, no empty assistant, and no assistant ahead of the first user message but
    for the delivery directly before it.
    """
    users = [i for i, row in enumerate(kept) if row.get("role") == "user"]
    start = users[0] if users else 0
    if users and start and kept[start - 1].get("_channel_delivery"):
        start -= 1
    rendered = [row for row in kept[start:] if not row.get("_command")]
    if not rendered:
        assert not history, key
        return
    first = rendered[0]
    assert history[0]["role"] == first["role"], key
    content = first.get("content")
    if isinstance(content, str):
        assert history[0]["content"].startswith(content), key
