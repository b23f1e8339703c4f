"""Places for all tests of the library."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from session.manager import SessionManager

if TYPE_CHECKING:
    from collections.abc import Iterator

_MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of our own is made in it


@pytest.fixture
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A place for one session file that is made thousands of times.

    In memory where there is such a place, since a disk would be asked to sync each time; the soak
    runs use the disk, whose inodes are reused at once, but for the longest (`soak(memory=True)`).
    """
    soak = request.node.get_closest_marker("soak")
    if (soak and not soak.kwargs.get("memory")) or not _MEMORY.is_dir():
        yield tmp_path / "sessions"
        return
    with tempfile.TemporaryDirectory(dir=_MEMORY) as place:
        yield Path(place) / "sessions"


@pytest.fixture
def manager(folder: Path) -> SessionManager:
    """An agent's manager over a folder of session files."""
    return SessionManager(folder)
