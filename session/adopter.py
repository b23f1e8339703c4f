"""The sign by which an agent tells the worker that it will see a compaction.

Each agent that looks at the files again before it answers holds a shared `flock` on a file of its
own. The kernel frees it with the process, also across containers, so a sign whose file can be
locked exclusively is stale. No thread is needed.
"""

from __future__ import annotations

import json
import os
import secrets
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from session import kernel
from session.durable import AREA_NAME, prepare_area

if TYPE_CHECKING:
    from pathlib import Path

SIGN_PREFIX, _SUFFIX = "adopter-", ".json"
VERSION = 1


class Adopter:
    """A sign in a folder, from its making until it is closed or the process ends.

    `more` are figures that the worker should know about this agent.
    """

    def __init__(self, folder: Path, kind: str, **more: int) -> None:
        area = prepare_area(folder)
        _remove_stale(area)
        self._pid = os.getpid()
        about = json.dumps({"kind": kind, "pid": self._pid, "version": VERSION} | more)
        self._held = ExitStack()
        while True:
            self._path = area / f"{SIGN_PREFIX}{secrets.token_hex(6)}{_SUFFIX}"
            self._held.enter_context(kernel.flocked(self._path, shared=True))
            try:
                with self._path.open("r+") as file:
                    file.write(about)
            except FileNotFoundError:  # taken for stale before it was locked
                continue
            return

    def close(self) -> None:
        """Take the sign away; in a forked child it stays its parent's."""
        if os.getpid() == self._pid:
            self._path.unlink(missing_ok=True)
        self._held.close()


def live_adopters(folder: Path) -> list[dict[str, Any]]:
    """Return what the agents say of themselves that see compactions in a folder now.

    Each says at least its `kind`. Stale signs are none.
    """
    found = []
    for path in sorted((folder / AREA_NAME).glob(f"{SIGN_PREFIX}*{_SUFFIX}")):
        try:
            with kernel.flocked(path, wait=False, create=False) as alone:
                about = None if alone else json.loads(path.read_bytes())
        except (OSError, ValueError):
            continue
        if isinstance(about, dict) and isinstance(about.get("kind"), str):
            found.append(about)
    return found


def _remove_stale(area: Path) -> None:
    for path in area.glob(f"{SIGN_PREFIX}*{_SUFFIX}"):
        with kernel.flocked(path, wait=False) as alone:
            if alone:
                path.unlink(missing_ok=True)
