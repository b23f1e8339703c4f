"""A server of our own on loopback, and a folder whose configuration points at it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.endpoint.server import Server
from tests.endpoint.support import KEY, KEY_NAME, SHORT, Place


@pytest.fixture
def server() -> Iterator[Server]:
    """An endpoint that answers well until it is told otherwise."""
    with Server() as started:
        yield started


@pytest.fixture
def bare(tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A folder that points at the server and has no sessions yet, and we are in it."""
    place = Place(tmp_path, server.url)
    place.sessions.mkdir()
    place.configure()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(KEY_NAME, KEY)
    monkeypatch.delenv("COMPACTOR_CONFIG", raising=False)
    return place


@pytest.fixture
def place(bare: Place) -> Place:
    """The same with one session that is due."""
    bare.add(SHORT)
    return bare
