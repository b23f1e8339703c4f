"""The commit: put a new file in the place of another, and lose nothing that anybody wrote.

Not every writer takes a lock. Between the last check of a file and a plain replace lies a window in
which a writer's line would vanish with the old file. So the two files are *exchanged*: the old one
is still there, under our hidden name, and what was written to it in that window, or is written to
it later through an old handle, is found and grafted onto the live file.

The protocol was found by running every interleaving of such a swap with five kinds of writers,
crossed with a crash after each step. A crash at any point leaves the live file entirely old or
entirely new, and `recover` finishes from the record.
"""

from __future__ import annotations

import os
import secrets
import shutil
from enum import StrEnum
from typing import TYPE_CHECKING

from session import kernel
from session.model import FileIdentity
from session.swap import (
    LINK_SUFFIX,
    RECORD_SUFFIX,
    TEMP_SUFFIX,
    FilePrint,
    Swap,
    read_swaps,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    Lock = Callable[[], AbstractContextManager[None]]

AREA_NAME = ".compactor"
DAMAGED_NAME = "damaged"
_COMMITS_LOCK = "commits.lock"


class SwapResult(StrEnum):
    """How an attempt to swap ended."""

    SWAPPED = "swapped"
    CHANGED = "changed"  # the live file is not the one that was checked; it was left alone


class _Fate(StrEnum):
    """What became of the file under the temporary name."""

    WATCHED = "watched"  # it is the original, and stays until nobody holds it open
    DONE = "done"  # nothing is left of the swap


def prepare_area(folder: Path) -> Path:
    """Return the hidden folder of our own files in `folder`, made for its owner alone."""
    area = folder / AREA_NAME
    area.mkdir(mode=0o700, exist_ok=True)
    return area


def swap_file(
    live: Path,
    content: bytes,
    *,
    original: bytes,
    expected: FileIdentity,
    lock: Lock,
    may_replace: bool,
) -> SwapResult:
    """Put `content` in the place of the file `live`, if that is still `expected`.

    `original` is what it held. Owner, mode, times and extended attributes are kept. `may_replace`
    allows a plain replace where the file system can't exchange: right only if every writer shares
    `lock`, or none is there. Raises `OSError`, `ExchangeMissingError` among them; then `live` is as
    it was.
    """
    area = prepare_area(live.parent)
    # A recovery keeps its hands off while this is held, and an open file keeps its inode.
    with kernel.flocked(area / _COMMITS_LOCK, shared=True), live.open("rb") as held:
        if FileIdentity.of(os.fstat(held.fileno())) != expected:
            return SwapResult.CHANGED
        temp = area / (secrets.token_hex(6) + TEMP_SUFFIX)
        kernel.write_new(temp, content, owner=os.fstat(held.fileno()))
        try:
            shutil.copystat(live, temp)
            old = FilePrint.of(live, original)
            swap = Swap(temp, live, old, FilePrint.of(temp, content)).save()
        except BaseException:
            temp.unlink()  # without a record it has never been anything but ours
            raise
        with temp.open("rb"):
            return _exchange(swap, expected, lock, may_replace=may_replace)


def _exchange(swap: Swap, expected: FileIdentity, lock: Lock, *, may_replace: bool) -> SwapResult:
    fate = _Fate.DONE
    try:
        with lock():
            if FileIdentity.of(swap.live.stat(follow_symlinks=False)) == expected:
                _change_places(swap, may_replace=may_replace)
                fate = _settle(swap)
    except OSError:
        if swap.new.is_at(swap.temp):  # nothing has changed places
            swap.discard()
        raise
    if fate is _Fate.WATCHED:
        kernel.fsync_folder(swap.live.parent)
        kernel.fsync_folder(swap.temp.parent)
        return SwapResult.SWAPPED
    swap.discard()
    return SwapResult.CHANGED


def _change_places(swap: Swap, *, may_replace: bool) -> None:
    try:
        kernel.exchange(swap.temp, swap.live)
    except kernel.ExchangeMissingError:
        if not may_replace:
            raise
        link = swap.temp.with_suffix(LINK_SUFFIX)
        os.link(swap.live, link)  # the original gets a second name before it loses its own
        swap.temp.replace(swap.live)
        link.replace(swap.temp)


def _settle(swap: Swap) -> _Fate:
    """Look at what lies under the temporary name, and bring the swap to its end."""
    if swap.new.is_at(swap.temp):  # ours: never exchanged, or exchanged back
        if swap.temp.stat().st_size > swap.new.size:
            swap.harvest(swap.new)  # what a writer appended to it while it was live
        return _Fate.DONE
    if swap.old.is_at(swap.temp):
        swap.harvest(swap.old)
        return _Fate.WATCHED
    if swap.new.is_at(swap.live):
        # What came out is not what was checked: a writer was faster, and its file stands.
        kernel.exchange(swap.temp, swap.live)
        return _settle_back(swap)
    return _Fate.DONE if swap.rescue() else _put_aside(swap)


def _settle_back(swap: Swap) -> _Fate:
    if swap.new.is_at(swap.temp):
        if swap.temp.stat().st_size > swap.new.size:
            swap.harvest(swap.new)
        return _Fate.DONE
    return _Fate.DONE if swap.rescue() else _put_aside(swap)


def _put_aside(swap: Swap) -> _Fate:
    """Keep a file of which nothing can be said, for a person to look at."""
    aside = swap.temp.parent / DAMAGED_NAME
    aside.mkdir(mode=0o700, exist_ok=True)
    swap.temp.replace(aside / f"{swap.live.stem}.{swap.temp.stem}.jsonl")
    return _Fate.DONE


def recover(folder: Path, lock: Lock) -> int:
    """Finish what was interrupted, graft what came late, let go of what is quiet.

    Returns how many originals stay watched. Does nothing while somebody commits.
    """
    area = folder / AREA_NAME
    if not area.is_dir():
        return 0
    with kernel.flocked(area / _COMMITS_LOCK, wait=False) as alone:
        swaps = list(read_swaps(area, folder))
        if not alone:
            return len(swaps)
        _sweep(area)
        watched = 0
        for swap in swaps:
            with lock():
                watched += _recover_one(swap) is _Fate.WATCHED
        return watched


def _sweep(area: Path) -> None:
    """Remove temporary files that never got a record: they have never been exchanged."""
    for stray in [*area.glob(f"*{TEMP_SUFFIX}"), *area.glob(f"*{RECORD_SUFFIX}.new")]:
        record = stray.with_suffix(RECORD_SUFFIX)
        if stray.suffix != TEMP_SUFFIX or not record.exists():
            stray.unlink()


def _recover_one(swap: Swap) -> _Fate:
    link = swap.temp.with_suffix(LINK_SUFFIX)
    if link.exists() and not swap.temp.exists():
        link.replace(swap.temp)  # killed between the two steps of a plain replace
    link.unlink(missing_ok=True)
    # A session that was deleted since takes its original with it.
    if swap.temp.exists() and swap.live.exists():
        fate = _settle(swap)
        if fate is _Fate.WATCHED and kernel.is_open_elsewhere(swap.temp):
            return fate
    swap.discard()
    return _Fate.DONE
