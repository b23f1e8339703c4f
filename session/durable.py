"""The commit: put a new file in the place of another, and lose nothing that anybody wrote.

Not every writer takes a lock. Between the last check of a file and a plain replace lies a window in
which a writer's line would vanish with the old file. So the two files are *exchanged*: the old one
is still there, under our hidden name, and what was written to it in that window, or is written to
it later through an old handle, is found and grafted onto the live file.

The protocol was found by running every interleaving of such a swap with several kinds of writers,
crossed with a crash after each step. A crash at any point leaves the live file entirely old or
entirely new, and `recover` finishes from the record.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from typing import TYPE_CHECKING

from session import kernel
from session.model import FileIdentity
from session.swap import RECORD_SUFFIX, TEMP_SUFFIX, FilePrint, Swap, is_mid_line, read_swaps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    Lock = Callable[[], AbstractContextManager[None]]

AREA_NAME = ".compactor"
DAMAGED_NAME = "damaged"
_COMMITS_LOCK = "commits.lock"
_OWNER = stat.S_IWUSR | stat.S_IXUSR
_EFFECTIVE = os.access in os.supports_effective_ids  # root may have taken the owner's identity


def prepare_area(folder: Path) -> Path:
    """Return the hidden folder of our own files in `folder`, made for its owner alone."""
    area = folder / AREA_NAME
    try:
        area.mkdir(mode=0o700)
    except FileExistsError:
        if area.is_symlink() or not area.is_dir():  # originals must not end up elsewhere
            told = f"{AREA_NAME} must be a folder of our own; move it aside"
            raise NotADirectoryError(errno.ENOTDIR, told, str(area)) from None
    return area


def check_folder(folder: Path) -> None:
    """Raise `OSError` where a file of `folder` could not be replaced, as far as can be seen."""
    area = folder / AREA_NAME
    for place in (folder, area):
        if place is area and not area.exists():
            return
        if not place.is_dir():
            prepare_area(folder)  # says what is in the way
        if not os.access(place, os.W_OK | os.X_OK, effective_ids=_EFFECTIVE):
            code = _find_obstacle(place)
            raise OSError(code, os.strerror(code), str(place))


def _find_obstacle(place: Path) -> int:
    """Return the code of the error that keeps us from writing to a folder: nobody tells it."""
    if hasattr(os, "statvfs") and os.statvfs(place).f_flag & os.ST_RDONLY:
        return errno.EROFS
    status = place.stat()
    may = kernel.current_user() == 0 or (
        status.st_uid == kernel.current_user() and status.st_mode & _OWNER == _OWNER
    )
    return errno.EPERM if may else errno.EACCES  # whose mode allows it is kept off by an attribute


@contextlib.contextmanager
def committing(area: Path) -> Iterator[None]:
    """Keep recoveries away from files that are being made in the hidden folder."""
    with kernel.flocked(area / _COMMITS_LOCK, shared=True):
        yield


def swap_file(
    live: Path,
    content: bytes,
    *,
    original: bytes,
    expected: FileIdentity,
    lock: Lock,
    may_replace: bool,
    by_agent: bool = False,
    durable: bool = True,
) -> FileIdentity | None:
    """Put `content` in the place of the file `live`, if that is still `expected`.

    Returns the identity of the new file, or None, and `live` was left alone, if it has changed or
    somebody is in the middle of a line.
    `original` is what it held. Owner, mode, times and extended attributes are kept; a save
    `by_agent` is a change in time, and its original is let go of as soon as nobody holds it open.
    `may_replace` allows a plain replace where the file system can't exchange: right only if every
    writer shares `lock`, or none is there. Raises `OSError`, `ExchangeMissingError` among them;
    then `live` is as it was, or, if not even that could be arranged, whole all the same and
    `recover` ends it.
    """
    area = prepare_area(live.parent)
    # An open file keeps its inode.
    with committing(area), live.open("rb") as held:
        status = os.fstat(held.fileno())
        if FileIdentity.of(status) != expected or is_mid_line(live, original):
            return None
        temp = area / (secrets.token_hex(6) + TEMP_SUFFIX)
        kernel.write_new(temp, content, like=live, keep_times=not by_agent, durable=durable)
        if not durable:
            kernel.settle_data(temp)
        swap = Swap(temp, live, FilePrint.of(status, original), FilePrint.of(temp.stat(), content))
        with temp.open("rb") as fresh:
            try:
                swap.save(durable=durable)
                if not _exchange(swap, expected, lock, may_replace=may_replace, durable=durable):
                    return None
                identity = FileIdentity.of(os.fstat(fresh.fileno()))
            except OSError:
                _back_out(swap)
                raise
        if by_agent:
            _recover_one(swap, lock)
        return identity


def _exchange(
    swap: Swap, expected: FileIdentity, lock: Lock, *, may_replace: bool, durable: bool
) -> bool:
    """Exchange the two files; False if the live one was not `expected`."""
    swapped = False
    with lock():
        unchanged = FileIdentity.of(swap.live.stat(follow_symlinks=False)) == expected
        if unchanged:
            _change_places(swap, may_replace=may_replace)
            swapped = _settle(swap)
    if not unchanged:
        swap.discard()
        return False
    # From here on the temporary file stays for `recover`, whichever of the two it is: both were
    # live, and somebody may have opened them then and write later.
    if durable:
        kernel.fsync_folder(swap.live.parent)
        kernel.fsync_folder(swap.temp.parent)
    return swapped


def _change_places(swap: Swap, *, may_replace: bool) -> None:
    try:
        kernel.exchange(swap.temp, swap.live)
    except kernel.ExchangeMissingError:
        if not may_replace:
            raise
        os.link(swap.live, swap.link)  # the original gets a second name before it loses its own
        swap.temp.replace(swap.live)
        swap.link.replace(swap.temp)


def _settle(swap: Swap) -> bool:
    """Look at what lies under the temporary name, and see to it that all its lines are live.

    Returns whether it is the original, so that what was to be written is live.
    """
    while True:
        source = swap.print_of_temp()
        if source is None and swap.new.is_at(swap.live):
            _give_back(swap)
            source = swap.print_of_temp()
        if source is None:
            if swap.rescue(swap.temp) is None:
                _put_aside(swap)
            return False
        if swap.harvest(source):
            return source is swap.old


def _give_back(swap: Swap) -> None:
    """What came out is not what was checked: a writer was faster, and its file stands.

    It keeps a second name until the next look: who has read our file meanwhile, and renames what
    came of that over the writer's, has not seen the writer's last lines.
    """
    swap.link.unlink(missing_ok=True)
    os.link(swap.temp, swap.link)
    kernel.exchange(swap.temp, swap.live)
    if not swap.new.is_at(swap.temp):
        kernel.exchange(swap.temp, swap.live)  # one that replaced ours just now is newer still


def _put_aside(swap: Swap) -> None:
    """Keep a file of which nothing can be said, for a person to look at."""
    # In a folder of its own: a session's name may already be as long as names can be.
    aside = swap.temp.parent / DAMAGED_NAME / swap.temp.stem
    aside.mkdir(mode=0o700, parents=True, exist_ok=True)
    swap.temp.replace(aside / swap.live.name)


def _back_out(swap: Swap) -> None:
    """After a failure, give the original its name back; where that fails too, `recover` ends it."""
    with contextlib.suppress(OSError):
        if swap.new.is_at(swap.live):
            kernel.exchange(swap.temp, swap.live)
        ours = swap.new.is_at(swap.temp) and not kernel.is_written_elsewhere(swap.temp)
        if ours and swap.is_settled():
            swap.discard()


def recover(folder: Path, lock: Lock) -> int:
    """Finish what was interrupted, graft what came late, let go of what is quiet.

    Returns how many originals stay watched. Does nothing while somebody commits. What can't be
    finished now, for want of space for example, stays as it is until the next time.
    """
    area = folder / AREA_NAME
    if not area.is_dir():
        return 0
    with kernel.flocked(area / _COMMITS_LOCK, wait=False) as alone:
        swaps = list(read_swaps(area, folder))
        if not alone:
            return len(swaps)
        _sweep(area, folder)
        return sum(_recover_one(swap, lock) for swap in swaps)


def _sweep(area: Path, folder: Path) -> None:
    """Remove what is nobody's: files that were never exchanged, and those of deleted sessions."""
    for stray in [*area.glob(f"*{TEMP_SUFFIX}"), *area.glob(f"*{kernel.NEW_SUFFIX}")]:
        unknown = stray.suffix != TEMP_SUFFIX or not stray.with_suffix(RECORD_SUFFIX).exists()
        if unknown and stray.is_file():
            stray.unlink()
    for aside in (area / DAMAGED_NAME).glob("*/*.jsonl"):
        if not (folder / aside.name).exists():
            aside.unlink()
            aside.parent.rmdir()


def _recover_one(swap: Swap, lock: Lock) -> bool:
    """Bring one swap to its end; returns whether its original must stay watched."""
    try:
        if swap.link.exists() and not swap.temp.exists():
            swap.link.replace(swap.temp)  # killed between the two steps of a plain replace
        # A session that was deleted since takes its original with it.
        if swap.temp.exists() and swap.live.exists():
            # Asked before the last look: what nobody holds open now can't grow after it.
            is_open = kernel.is_written_elsewhere(swap.temp)
            if swap.link.exists() or not swap.is_settled():
                with lock():
                    if _rescue_strangers(swap):
                        return True
                    if not swap.is_settled():
                        _settle(swap)
            if is_open:
                return True
        swap.discard()
    except Exception:  # noqa: BLE001 - one swap never stops the others; it stays watched
        return True
    return False


def _rescue_strangers(swap: Swap) -> bool:
    """Append what the files of other writers have; True if it must be looked for once more.

    A writer that read the live file before it was appended may yet write over it.
    """
    strangers = [swap.link] if swap.link.exists() else []
    if swap.print_of_temp() is None and not swap.new.is_at(swap.live):
        strangers.append(swap.temp)
    return sum(swap.rescue(stranger) or 0 for stranger in strangers) > 0
