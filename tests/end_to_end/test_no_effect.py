"""Beside a nanobot that would not see a compaction nothing is paid for, and the way out is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.end_to_end.support import LOW_FLOORS, SAMPLES, Invoke, copy_sessions


@pytest.fixture
def nanobots(place: Path) -> Path:
    """A folder of nanobot's, with its default settings and real sessions; we are above it."""
    folder = place / "sessions" / ("a" * 32)
    folder.mkdir()
    (folder / ".workspace").write_text("/somewhere")
    (place / "config.json").write_text(json.dumps({"agents": {"defaults": {}}}))
    (place / "config.toml").write_text(LOW_FLOORS.replace("jsonl:sessions", "jsonl:sessions/*"))
    copy_sessions(SAMPLES, folder)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """Every session file."""
    return {path.name: path.read_bytes() for path in folder.glob("*.jsonl")}


def test_nothing_is_done_where_it_would_have_no_effect(nanobots: Path, invoke: Invoke) -> None:
    """The digest engine is no exception; each session is told with the way out."""
    before = contents(nanobots)

    ran = invoke("once", "--json", "--all", "--force")
    told = invoke("once")

    assert (ran.code, ran.json["due"]) == (0, 0)
    assert ran.json["skipped"]["no_effect"] >= 12
    details = [row["detail"] for row in ran.json["sessions"] if row["reason"] == "no_effect"]
    assert all("idleCompactAfterMinutes" in detail for detail in details)
    assert told.out.startswith("none: a running nanobot would write over it: install this package")
    assert contents(nanobots) == before


def test_what_is_told_leads_to_a_way_that_works(
    nanobots: Path, place: Path, invoke: Invoke
) -> None:
    """Nothing kept and nanobot's own time above ours; or stopped; `check` names it each time."""
    assert "warn" in line_of(invoke("check").out)
    config = place / "config.toml"
    config.write_text(config.read_text().replace("messages = 4", "messages = 0"))
    assert "nanobot's own idle scan adopts it after 15m" in line_of(invoke("check").out)
    assert invoke("once", "--json").json["compacted"] >= 4

    (place / "config.json").write_text('{"agents": {"defaults": {"idleCompactAfterMinutes": 0}}}')
    assert "warn" in line_of(invoke("check").out)
    assert invoke("once", "--agent-stopped").out.startswith("stopped: the agent is stopped")


def line_of(told: str) -> str:
    """What `check` says of the way in force."""
    return next(line for line in told.splitlines() if "adoption" in line)
