"""Where sessions stood before: under other names, and in other folders.

Until July 2026 nanobot's file names were the key with its colons replaced, at first without the key
in the header; until August 2026 the files were in the workspace, and before February in one global
folder.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from session import kernel
from session.keys import SUFFIX, file_name, guess_key, old_file_names
from session.tail import HEADER_LIMIT
from session.transcript import decode_header

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def find_old_files(folder: Path, older: Iterable[Path], key: str) -> list[Path]:
    """Return the files that hold a session by the rules of an older layout, the newest first.

    `folder` is that of today, `older` are the folders of earlier releases.
    """
    name_of_today = file_name(key)
    candidates = [
        place / name
        for place in (folder, *older)
        for name in (name_of_today, *old_file_names(key))
        if (place, name) != (folder, name_of_today)
    ]
    return [path for path in candidates if path.is_file() and _holds(path, key)]


def _holds(path: Path, key: str) -> bool:
    """Whether a file is the session `key`: its name or its header says so, or else its old name."""
    if path.name == file_name(key):
        return True
    with path.open("rb") as file:
        header = decode_header(file.readline(HEADER_LIMIT))
    if header is not None and header.key is not None:
        return header.key == key
    return guess_key(path.name.removesuffix(SUFFIX)) == key


def move_file(old: Path, new: Path, *, spare: Path) -> None:
    """Move a file to a name that nobody has; raises `FileExistsError` where somebody has it.

    `spare` is a free name on the file system of `new`, for the copy of a file from another one.
    """
    try:
        kernel.move_new(old, new)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
    else:
        return
    kernel.write_new(spare, old.read_bytes(), like=old)
    try:
        kernel.move_new(spare, new)
    finally:
        spare.unlink(missing_ok=True)
    old.unlink()
