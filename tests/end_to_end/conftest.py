"""A folder for the command to work in."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.end_to_end.support import LOW_FLOORS, SAMPLES, copy_sessions


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a low-floored `config.toml` and an empty `sessions`, and we are in it."""
    (tmp_path / "config.toml").write_text(LOW_FLOORS)
    (tmp_path / "sessions").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COMPACTOR_CONFIG", raising=False)
    return tmp_path


@pytest.fixture
def healthy(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with real sessions and nothing wrong with it, on a machine in UTC."""
    monkeypatch.setenv("TZ", "UTC")
    copy_sessions(SAMPLES, place / "sessions")
    return place
