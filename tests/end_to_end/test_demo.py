"""The first thing that a newcomer runs."""

from __future__ import annotations

from pathlib import Path

from tests.end_to_end.support import Invoke


def test_the_demo_shows_before_and_after(place: Path, spawn: Invoke) -> None:
    """Configuration, a table with reasons, and what the returning user's model sees."""
    ran = spawn("demo", cwd=place)

    assert ran.code == 0, ran.err
    for part in (
        'ttl = "10m"',
        "telegram:airline-week",
        "compacted",
        "small",
        "## Goal",
        "I am back",
    ):
        assert part in ran.out
    assert sorted(path.name for path in place.iterdir()) == ["config.toml", "sessions"]


def test_the_demo_can_be_kept_and_looked_at(place: Path, invoke: Invoke) -> None:
    """With `--dir` the folder stays, and the other commands work on it."""
    ran = invoke("demo", "--dir", "kept", "--json")

    assert ran.json["pass"]["compacted"] == 4
    history = ran.json["returning"]["kept"]
    assert history[-1]["role"] == "user"
    assert "## Goal" in history[0]["content"]
    shown = invoke("show", "telegram:airline-week", "--store", "jsonl:kept", "--prompt", "--json")
    assert shown.json["kept"] == history
    assert invoke("demo", "--dir", "kept").code == 2
    assert (place / "kept").is_dir()
