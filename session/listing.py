"""Which sessions a folder holds, and what stands in the way of reading or writing them."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from session.errors import StoreOwnershipError, StoreUnavailableError
from session.kernel import current_user, may_give_to, user_name
from session.keys import SUFFIX, guess_key, key_of_stem
from session.model import SessionRef
from session.store import SessionEntry
from session.tail import HEADER_LIMIT
from session.transcript import decode_header

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_GONE = "gone"
_REMEDIES = {
    errno.EBUSY: "a file that is a mount point can't be replaced; mount its folder instead",
    errno.EXDEV: "the folder spans two mounts; mount it as one",
    errno.EROFS: "mount it writable",
    errno.EACCES: "let the user that runs us read and write it",
    errno.EPERM: "clear its immutable or append-only attribute (chattr)",
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space within the quota",
    errno.ENOENT: "create it, or correct the URL of the store",
}


def list_folder(folder: Path, *, any_owner: bool = False) -> Iterator[SessionEntry]:
    """Yield the sessions of a folder, reading no more than the headers of old files.

    Raises `StoreUnavailableError` where the folder can't be read, and, unless `any_owner` may have
    written them, `StoreOwnershipError` where it or a file in it belongs to another user.
    """
    with naming(folder):
        if not any_owner:
            check_owner(folder, folder.stat())
        with os.scandir(folder) as found:
            files = sorted(
                (file for file in found if file.name.endswith(SUFFIX)), key=lambda f: f.name
            )
    taken: set[str] = set()
    old: list[SessionEntry] = []
    for file in files:
        if file.name.startswith("."):
            continue
        key = key_of_stem(file.name.removesuffix(SUFFIX))
        problem = _find_problem(folder, file, any_owner=any_owner)
        if problem == _GONE:
            continue
        if key is None:
            key = _read_old_key(folder / file.name, problem)
            old.append(_entry(folder, key, file.name, problem))
        else:
            taken.add(key)
            yield _entry(folder, key, file.name, problem)
    # The same key under an old and a new name: the new one counts.
    new = frozenset(taken)
    for entry in old:
        if entry.ref.key in taken - new:
            problem = "another file says that it is the same session"
            yield replace(entry, problem=entry.problem or problem)
        elif entry.ref.key not in new:
            taken.add(entry.ref.key)
            yield entry


def _find_problem(folder: Path, file: os.DirEntry[str], *, any_owner: bool) -> str | None:
    try:
        status = file.stat(follow_symlinks=False)
    except FileNotFoundError:
        return _GONE
    except OSError as error:
        return tell_reason(error)
    if stat.S_ISLNK(status.st_mode):
        return "a symbolic link, which is not followed"
    if not stat.S_ISREG(status.st_mode):
        return "not a regular file"
    return None if any_owner else _find_group_problem(folder / file.name, status)


def _find_group_problem(path: Path, status: os.stat_result) -> str | None:
    """Say why a file of ours can't be replaced; raises `StoreOwnershipError` if it is not ours."""
    check_owner(path, status)
    if may_give_to(status.st_gid):
        return None
    # A file that takes its place could not have its group, and perhaps not its readers.
    return (
        f"its group is {status.st_gid}, and the user that runs us is not in it: add that user to "
        "the group, or give the file another one (chgrp)"
    )


def _read_old_key(path: Path, problem: str | None) -> str:
    """Return the key of a file whose name doesn't spell it: the header's, else a guess."""
    if problem is None:
        try:
            with path.open("rb") as file:
                header = decode_header(file.readline(HEADER_LIMIT))
        except OSError:
            header = None
        if header is not None and header.key is not None:
            return header.key
    return guess_key(path.name.removesuffix(SUFFIX))


def _entry(folder: Path, key: str, name: str, problem: str | None) -> SessionEntry:
    return SessionEntry(SessionRef(str(folder), folder.name, key), name, problem)


def check_owner(path: Path, status: os.stat_result) -> None:
    """Raise `StoreOwnershipError` if a file belongs to another user than the one who runs us.

    What we wrote there its agent could not write any more.
    """
    user = current_user()
    if user is not None and status.st_uid != user:
        raise StoreOwnershipError(str(path), owner=user_name(status.st_uid), user=user_name(user))


@contextmanager
def naming(folder: Path) -> Iterator[None]:
    """Turn an error of the system into one that names the folder and the way out."""
    try:
        yield
    except OSError as error:
        raise StoreUnavailableError(str(folder), tell_reason(error)) from error


def tell_reason(error: OSError) -> str:
    """Say what went wrong, and the way out where there is one."""
    remedy = _REMEDIES.get(error.errno or 0)
    text = (error.strerror or str(error)).lower()
    return f"{text}: {remedy}" if remedy else text
