"""Settings for all tests, and the command, run as a user would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from compactor.cli import main
from tests.end_to_end.support import Invoke, Ran

if TYPE_CHECKING:
    from collections.abc import Callable

# No deadline: a busy machine is no failure. No database: a run leaves nothing behind. The examples
# are the same each time, so that a red run can be repeated; HYPOTHESIS_PROFILE=random draws others.
_quiet = settings(
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
settings.register_profile("random", _quiet)
settings.register_profile("same", _quiet, derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))  # noqa: TID251 - a tester's


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


@pytest.fixture
def tell(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> Callable[..., None]:
    """Print figures in a soak run, one line of JSON for each test: the docs quote them."""

    def say(**figures: object) -> None:
        if not request.node.get_closest_marker("soak"):
            return
        with capsys.disabled():
            print(f"\n{request.node.name} {json.dumps(figures)}")  # noqa: T201 - quoted

    return say
