"""The places: whose they are, who else may look into them, and what room is left there."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from compactor.checks.finding import Said, fail, join_said, ok, warn
from session.durable import AREA_NAME
from session.errors import StoreOwnershipError, StoreUnavailableError
from session.file_lock import AGENT_LOCK_NAME
from session.kernel import current_user, user_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from session.store import SessionEntry

LITTLE_ROOM = 100 << 20  # bytes
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def check_permissions(places: Sequence[str], state: Path, key_file: Path | None) -> Said:
    """Look whether what lies beside the sessions is ours, and what others may do."""
    said = [one for place in places for one in _look_at_folder(Path(place))]
    if state.is_dir():
        told = "the worker's folder, which holds answers, is open to others"
        said += _look_for_others(state, _OTHERS, told, "go-rwx")
    if key_file is not None:
        told = "the file of the key (llm.api_key_file) is open to others"
        said += _look_for_others(key_file, _OTHERS, told, "600")
    return join_said(said, "all is ours, and closed to others where it should be")


def _look_at_folder(folder: Path) -> Iterator[Said]:
    """Yield what is amiss with the folder of an agent and what lies in it beside the sessions."""
    lock, area = folder / AGENT_LOCK_NAME, folder / AREA_NAME
    owner = folder.stat().st_uid
    yield from _look_at_owner((lock,), owner, "every save of the agent fails")
    inner = sorted(area.iterdir()) if area.is_dir() and os.access(area, os.R_OK) else []
    yield from _look_at_owner((area, *inner), owner, "no compaction can be saved")
    yield from _look_for_others(
        folder, _OTHERS_WRITE, "the sessions' folder can be written by others", "go-w"
    )


def _look_for_others(path: Path, bits: int, told: str, mode: str) -> Iterator[Said]:
    try:
        found = stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return  # not there yet, or its own line says what is the matter
    if found & bits and current_user() is not None:  # without users modes say nothing
        yield warn(f"{told} ({path}, mode {found:03o})", f"`chmod {mode} {shlex.quote(str(path))}`")


def _look_at_owner(paths: Sequence[Path], owner: int, why: str) -> Iterator[Said]:
    """Yield the first of `paths` that is another's; the first is the folder of all the others."""
    for path in paths:
        try:
            found = path.lstat().st_uid
        except OSError:
            continue
        if current_user() is not None and found != owner:
            told = f"{path} belongs to {user_name(found)}, not to {user_name(owner)}: {why}"
            give = f"`chown -R {owner} {shlex.quote(str(paths[0]))}`"
            yield fail(told, give, exit_code=StoreOwnershipError.exit_code)
            return


def check_space(places: Iterable[Path], entries: Sequence[SessionEntry]) -> Said:
    """Look whether the largest session file could be replaced, wherever something is written."""
    largest = max(map(_size, entries), default=0)
    said = []
    disks = {place.stat().st_dev: place for place in map(_existing, places)}
    for place in disks.values():
        free, inodes = shutil.disk_usage(place).free, None
        if hasattr(os, "statvfs"):  # it is absent on Windows
            room = os.statvfs(place)
            inodes = room.f_favail if room.f_files else None
        said.append(judge_space(str(place), free, inodes, largest))
    return join_said(said, "; ".join(dict.fromkeys(one.detail for one in said)))


def judge_space(place: str, free: int, inodes: int | None, largest: int) -> Said:
    """Say whether there is room for a session of `largest` bytes, its old and its new form.

    `inodes` is None for a file system that does not count them.
    """
    code = StoreUnavailableError.exit_code
    where = f"free some on its disk (`df -h {shlex.quote(place)}` shows it)"
    if inodes == 0:
        return fail(f"no file can be made in {place}: no inode is left", where, exit_code=code)
    if free < 2 * largest or not free:
        told = f"{_say_size(free)} are left for {place}, and {_say_size(2 * largest)} are needed "
        return fail(f"{told}to replace the largest session", where, exit_code=code)
    if free < LITTLE_ROOM:
        return warn(f"only {_say_size(free)} are left for {place}", where)
    return ok(f"{_say_size(free)} are left for {place}")


def _say_size(size: int) -> str:
    for unit, bits in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >= 1 << bits:
            return f"{size / (1 << bits):,.1f} {unit}"
    return f"{size} bytes"


def _size(entry: SessionEntry) -> int:
    try:
        return (Path(entry.ref.place) / entry.name).lstat().st_size
    except OSError:
        return 0  # deleted since it was listed


def _existing(place: Path) -> Path:
    return next(one for one in (place, *place.parents) if one.is_dir())
