"""The way out of an error that ends a look, as the operator would type it."""

from __future__ import annotations

import os
import shlex
from itertools import count

from compactor.errors import ConfigError, JournalError, TokenizerError
from session.errors import StoreLocationError, StoreOwnershipError, StoreUnavailableError
from session.keys import SUFFIX


def tell_remedy(error: Exception) -> str:
    """Return the way out; commands stand in backticks, settings as they stand in a file."""
    remedy = ""
    match error:
        case ConfigError():
            remedy = f"correct each of these in {error.file}"
        case StoreLocationError():
            remedy = 'set [store] url = "jsonl:DIR", DIR being the folder of the sessions'
        case StoreOwnershipError():
            remedy = f"run this as {error.owner}, or give all to one user: {_give(error)}"
        case StoreUnavailableError():
            remedy = _tell_unavailable(error)
        case JournalError():
            remedy = _tell_journal(error)
        case TokenizerError():
            remedy = 'set [summary] counter = "o200k_base", whose vocabulary is built in'
    return remedy


def move_aside(path: str) -> str:
    """Return the command that moves something aside, to a name that nothing has."""
    names = (f"{path}.aside{number or ''}" for number in count())
    free = next(name for name in names if not os.path.lexists(name))
    return f"`mv -n {shlex.quote(path)} {shlex.quote(free)}`"


def _give(error: StoreOwnershipError) -> str:
    user = error.user.removeprefix("user ").strip("'")
    folder = error.place.rpartition("/")[0] if error.place.endswith(SUFFIX) else error.place
    return f"`chown -R {shlex.quote(user)} {shlex.quote(folder)}`"


def _tell_unavailable(error: StoreUnavailableError) -> str:
    """Return the end of what the store says, with the path in it where that is a command."""
    place = shlex.quote(error.place)
    if "there is no such folder" in error.problem:
        return f"create it with `mkdir -p {place}`, or correct [store] url"
    if "is no folder" in error.problem:
        return "name the folder of the sessions in [store] url"
    if ".compactor must be" in error.problem:
        return f"move it aside: {move_aside(f'{error.place}/.compactor')}"
    if "permission denied" in error.problem:
        return f"let the user that runs us read and write it: `chmod -R u+rwX {place}`"
    return error.problem.rpartition(": ")[2]


def _tell_journal(error: JournalError) -> str:
    path = error.path
    if "move it aside" in error.problem:
        begun = f"move it aside and a new one is begun: {move_aside(path)}"
        newer = "install the release that made it, or "
        return newer + begun if newer in error.problem else begun
    return error.problem.rpartition(": ")[2].rpartition("; ")[2]
