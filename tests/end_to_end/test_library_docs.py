"""The code of docs/library.md runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.end_to_end.support import ROOT

CODE = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "library.md").read_text(), re.DOTALL)


def test_there_is_code_to_run() -> None:
    """An empty list would pass every test below."""
    assert len(CODE) >= 3


@pytest.mark.parametrize("code", CODE, ids=range(len(CODE)))
def test_the_code_of_the_library_page_runs(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each block by itself, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "docs/library.md", "exec"), {"__name__": "docs"})  # noqa: S102 - it is ours
