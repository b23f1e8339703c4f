"""A place for all that is disturbed."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

_MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of our own is made in it


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A folder that is made anew a thousand times: in memory, or in soak runs on the disk."""
    if request.node.get_closest_marker("soak") or not _MEMORY.is_dir():
        yield tmp_path / "place"
        return
    with tempfile.TemporaryDirectory(dir=_MEMORY) as name:
        yield Path(name) / "place"
