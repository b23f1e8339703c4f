"""Where a journal of a test lies."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """Return the folder of a journal, which is not there yet."""
    return tmp_path / "deep" / "state"
