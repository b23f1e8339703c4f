"""Running a part of a test in a process of its own, whose limits and rights may differ."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_NOBODY = 65534


def in_child(action: Callable[[], str]) -> str:
    """Run the action in a process of its own and return what it says."""
    ready, tell = os.pipe()
    child = os.fork()
    if not child:
        answer = "no answer"
        try:
            answer = action()
        finally:
            os.write(tell, answer.encode())
            os._exit(0)
    os.close(tell)
    with os.fdopen(ready, "rb") as answers:
        answer = answers.read().decode()
    os.waitpid(child, 0)
    return answer


def as_plain_user(folder: Path, action: Callable[[], str]) -> str:
    """Run the action within `folder`, as a user whom file modes hold back and who owns it all."""

    def confined() -> str:
        os.chdir(folder)
        if os.geteuid() == 0:
            for path in (folder, *folder.rglob("*")):
                os.chown(path, _NOBODY, _NOBODY)
            os.setegid(_NOBODY)
            os.seteuid(_NOBODY)
        return action()

    return in_child(confined)


def give_away(path: Path) -> None:
    """Give a file or folder to another user; skips the test where we may not."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("only root can give a file to another user")
    os.chown(path, 12345, -1)
