"""The command, run as a user would, in a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from compactor.cli import main
from tests.end_to_end.support import LOW_FLOORS, Invoke, Ran


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a low-floored `config.toml` and an empty `sessions`, and we are in it."""
    (tmp_path / "config.toml").write_text(LOW_FLOORS)
    (tmp_path / "sessions").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COMPACTOR_CONFIG", raising=False)
    return tmp_path


@pytest.fixture
def invoke(capsys: pytest.CaptureFixture[str]) -> Invoke:
    """Run a command in this process, where freezegun can hold the clock."""

    def run(*arguments: str) -> Ran:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        said = capsys.readouterr()
        code = ended.value.code
        return Ran(code if isinstance(code, int) else 1, said.out, said.err)

    return run


@pytest.fixture
def spawn() -> Invoke:
    """Run a command in a process of its own."""

    def run(*arguments: str, cwd: Path | None = None, **environment: str) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "compactor", *arguments],
            cwd=cwd,
            env=dict(os.environ) | environment,  # noqa: TID251 - a child needs one
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    return run
