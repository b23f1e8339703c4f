"""The code of the library's pages runs as it stands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.end_to_end.support import ROOT


def code_of(page: str) -> list[str]:
    """Return the code blocks of a page."""
    return re.findall(r"```python\n(.*?)```", (ROOT / "docs" / page).read_text(), re.DOTALL)


# Each block of the first page stands alone; those of the second go on from each other.
CODE = [*code_of("library.md"), "\n".join(code_of("deliveries.md"))]


def test_there_is_code_to_run() -> None:
    """An empty list would pass every test below."""
    assert len(CODE) >= 4
    assert all("import" in code for code in CODE)


@pytest.mark.parametrize("code", CODE, ids=range(len(CODE)))
def test_the_code_of_the_pages_runs(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a folder of its own."""
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "docs", "exec"), {"__name__": "docs"})  # noqa: S102 - it is ours


def test_a_users_file_passes_a_strict_type_check(tmp_path: Path) -> None:
    """The page's code, as its reader would have it in a project of their own."""
    for number, code in enumerate(CODE):
        (tmp_path / f"block_{number}.py").write_text(code)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--strict",
            "--config-file=",
            *sorted(tmp_path.glob("*.py")),
        ],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(ROOT)},  # noqa: TID251 - a child needs one
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
