"""Beside a nanobot that would not see a compaction nothing is paid for, and the way out is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from session.adopter import Adopter
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
    assert told.out.startswith("none: nanobot, if it runs, would write over it. (1) install this")
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


def test_what_nanobot_would_swallow_when_it_starts_is_not_paid_for(
    nanobots: Path, place: Path, invoke: Invoke
) -> None:
    """Its own scan would soon cover the kept messages of what was left alone for its time."""
    before = contents(nanobots)
    ran = invoke("once", "--agent-stopped", "--json", "--all")
    details = [row["detail"] for row in ran.json["sessions"] if row["reason"] == "no_effect"]
    assert ran.json["due"] == 0
    assert len(details) >= 12
    assert all("swallows the kept messages" in detail for detail in details)
    assert contents(nanobots) == before

    (place / "config.json").write_text('{"agents": {"defaults": {"idleCompactAfterMinutes": 0}}}')
    assert invoke("once", "--agent-stopped", "--json").json["compacted"] >= 4


def test_each_folder_is_named_where_there_are_several(
    nanobots: Path, place: Path, invoke: Invoke
) -> None:
    """One has an adopter, the other one has none."""
    other = place / "sessions" / ("b" * 32)
    other.mkdir()
    sign = Adopter(other, "nanobot-plugin", idle_compact_after_minutes=0)
    told = invoke("once").out
    sign.close()
    assert f"none: {nanobots}: nanobot, if it runs" in told
    assert f"plugin: {other}: nanobot runs with our plugin" in told


def test_what_is_in_the_way_of_our_own_folder_is_named(nanobots: Path, invoke: Invoke) -> None:
    """By `check` as by `once`."""
    (nanobots / ".compactor").write_text("in the way")
    ran, checked = invoke("once", "--agent-stopped"), invoke("check")
    assert (ran.code, checked.code) == (69, 69)
    assert ".compactor must be a folder of our own; move it aside" in ran.err
    assert ".compactor must be a folder of our own; move it aside" in checked.out


def line_of(told: str) -> str:
    """What `check` says of the way in force."""
    return next(line for line in told.splitlines() if "adoption" in line)
