"""The journal: can it be opened and written, and is it whole?"""

from __future__ import annotations

import os
import shlex
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from compactor.checks.finding import Said, fail, ok
from compactor.checks.remedies import move_aside
from compactor.errors import JournalError, JournalUnavailableError
from compactor.journal_file import FILE_NAME
from compactor.sqlite_journal import SqliteJournal
from session.kernel import current_user

if TYPE_CHECKING:
    from pathlib import Path

_EFFECTIVE = os.access in os.supports_effective_ids  # root may have taken the owner's identity


def check_journal(state: Path) -> Said:
    """Look at the journal in the folder `state`; raises `JournalError` where it can't be opened."""
    folder = next(place for place in (state, *state.parents) if os.path.lexists(place))
    if not folder.is_dir():
        told = f"{folder} is in the way of the journal's folder: it is no folder"
        return _fail(told, f"move it aside: {move_aside(str(folder))}, or set [state] dir")
    path = state / FILE_NAME
    if os.path.lexists(path) and not path.is_file():
        told = f"{path} is in the way of the journal: it is no file"
        return _fail(told, f"move it aside: {move_aside(str(path))}")
    for place in (folder, path):
        if os.path.lexists(place) and not _is_ours_to_write(place):
            told = f"{place} may not be written by the user that runs us"
            return _fail(told, f"{_let_us_write(place)}, or set [state] dir")
    if not os.path.lexists(path):
        return ok(f"{path} will be begun")
    SqliteJournal(state, read_only=True).close()
    problem = _find_damage(path)
    if problem is not None:
        told = f"{path} is damaged ({problem})"
        return _fail(told, f"move it aside and a new one is begun: {move_aside(str(path))}")
    return ok(f"{path} is whole")


def _fail(told: str, remedy: str) -> Said:
    return fail(told, remedy, exit_code=JournalError.exit_code)


def _is_ours_to_write(place: Path) -> bool:
    mode = os.R_OK | os.W_OK | (os.X_OK if place.is_dir() else 0)
    return os.access(place, mode, effective_ids=_EFFECTIVE)


def _find_damage(path: Path) -> str | None:
    """Return the first damage that SQLite finds, None for none; raises `JournalError`."""
    uri = f"{path.absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as db:
            found = str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
            told = f"{error}: another process holds it; try again when that is done"
            raise JournalUnavailableError(str(path), told) from error
        return str(error)
    return None if found == "ok" else found.splitlines()[-1]


def _let_us_write(place: Path) -> str:
    """Return the command that lets us write a file or folder."""
    user, name = current_user(), shlex.quote(str(place))
    if user is not None and place.stat().st_uid != user:
        return f"`chown {user} {name}`"
    return f"`chmod u+rwX {name}`"
