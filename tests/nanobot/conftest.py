"""A worker's folder beside a real nanobot gateway, whose model is a server of ours."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.support import ROOT
from tests.endpoint.server import Server
from tests.nanobot.gateway import Gateway, Start
from tests.nanobot.model import agree


@pytest.fixture(scope="session")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with our wheel in it, built from what is being tested, as pip would install it."""
    built, installed = tmp_path_factory.mktemp("wheel"), tmp_path_factory.mktemp("installed")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(built)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        timeout=100,
    )
    (wheel,) = built.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(installed)
    return installed


@pytest.fixture
def server() -> Iterator[Server]:
    """The agent's model, which agrees to everything."""
    with Server() as started:
        started.answer_by(agree)
        yield started


@pytest.fixture
def start(tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Start a gateway in this test's folder, with a worker's configuration beside it."""
    begun: list[Gateway] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COMPACTOR_CONFIG", raising=False)

    def run(*, plugin: Path | None = None, idle_minutes: int = 0) -> Gateway:
        gateway = Gateway(tmp_path, server.url, plugin=plugin, idle_minutes=idle_minutes)
        begun.append(gateway)
        gateway.start()
        return gateway

    yield run
    for gateway in begun:
        gateway.kill()
