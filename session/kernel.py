"""The few things that we ask of the operating system beyond what Python's own modules wrap."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import signal
import sys
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: the library works there, the worker does not
    fcntl = None  # type: ignore[assignment]

NEW_SUFFIX = ".new"  # of a file that takes the place of the one without it
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_MISSING = {errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP}
# Folders can't be opened on Windows, and some file systems can't sync them.
_UNSYNCABLE = {errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EACCES, errno.EPERM}


# What `link` says where a file can't have two names: FAT, some network and virtual file systems.
_UNLINKABLE = {errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.EMLINK}


class ExchangeMissingError(OSError):
    """Neither this system nor this file system can exchange two names."""


@cache
def _renameat2() -> Callable[..., int] | None:
    if not sys.platform.startswith("linux"):
        return None
    function = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)  # absent in old libcs
    if function is not None:
        path = ctypes.c_char_p
        function.argtypes = (ctypes.c_int, path, ctypes.c_int, path, ctypes.c_uint)
    return function


def exchange(one: Path, other: Path) -> None:
    """Let two files change names in one step (Linux `renameat2` with `RENAME_EXCHANGE`)."""
    rename = _renameat2()
    if rename is None:
        raise ExchangeMissingError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    args = (_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE)
    if rename(*args) != 0:
        code = ctypes.get_errno()
        kind = ExchangeMissingError if code in _MISSING else OSError
        raise kind(code, os.strerror(code), str(other))


@contextmanager
def flocked(
    path: Path, *, shared: bool = False, wait: bool = True, create: bool = True
) -> Iterator[bool]:
    """Hold `path` (made if need be) locked; yields False if others hold it and `wait` is False.

    With `create` off a file that is not there is a `FileNotFoundError`.
    """
    descriptor = os.open(path, os.O_RDWR | (os.O_CREAT if create else 0), 0o600)
    try:
        if not hasattr(fcntl, "flock"):
            yield True
            return
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        try:
            fcntl.flock(descriptor, kind if wait else kind | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


def is_written_elsewhere(path: Path) -> bool:
    """Whether anybody holds the file open for writing (a read lease is refused then).

    False where leases are not to be had: such systems can't exchange files either, so there every
    writer shares our lock.
    """
    if not hasattr(fcntl, "F_SETLEASE"):
        return False
    with path.open("rb") as file:
        # Should somebody open it just now, the kernel tells us with a signal that does no harm.
        fcntl.fcntl(file, fcntl.F_SETSIG, signal.SIGURG)
        try:
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        except OSError as error:
            if error.errno not in {errno.EAGAIN, *_MISSING}:
                raise  # nobody knows
            return error.errno == errno.EAGAIN
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        return False


def fsync_folder(folder: Path) -> None:
    """Make the names in a folder durable, where the system can."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _UNSYNCABLE:
            raise
    finally:
        os.close(descriptor)


def fsync_file(path: Path) -> None:
    """Make the data of a file durable."""
    descriptor = os.open(path, os.O_RDONLY if os.name == "posix" else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def move_new(old: Path, new: Path) -> None:
    """Give a file a new name that nobody has; raises `FileExistsError` where somebody has it.

    Where a file can't have two names a lock must keep others from taking the new one meanwhile.
    """
    try:
        os.link(old, new)
    except OSError as error:
        if error.errno not in _UNLINKABLE:
            raise
        if new.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(new)) from None
        old.replace(new)
    else:
        old.unlink()


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte; a single call may write fewer."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def write_new(
    path: Path,
    data: bytes,
    *,
    like: Path | None = None,
    keep_times: bool = True,
    durable: bool = True,
) -> None:
    """Make a new file, mode 0600, and make it durable; on failure there is none.

    It gets owner, mode, extended attributes and, with `keep_times`, the times of the file `like`,
    if one is given. A failed sync is final: the kernel may report the next one as done although the
    data is gone.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(path, flags, 0o600)
    try:
        try:
            write_all(descriptor, data)
            if like is not None:
                _copy_attributes(like, path, descriptor)
                if not keep_times:
                    os.utime(path)
            if durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except BaseException:
        path.unlink()
        raise


def _copy_attributes(source: Path, target: Path, descriptor: int) -> None:
    if hasattr(os, "fchown"):
        status = source.stat()
        os.fchown(descriptor, status.st_uid, status.st_gid)  # ahead of the mode, which it can clear
    shutil.copystat(source, target)


def settle_data(path: Path) -> None:
    """See to it that after a power cut a file has its data or not its name, without a sync.

    ext4 (`auto_da_alloc`) and btrfs give the data of a file that *replaces* another its place on
    the disk ahead of the name. An exchange is no replace for them, so the replace comes first.
    """
    full = path.with_name(path.name + NEW_SUFFIX)
    path.replace(full)
    path.touch(0o600)
    full.replace(path)


def replace_file(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Put `data` in the place of what `path` holds, if anything, and make it durable.

    If not durable it is whole all the same, or not there, after a power cut.
    """
    fresh = path.with_name(path.name + NEW_SUFFIX)
    fresh.unlink(missing_ok=True)  # left by a killed process: only we use this name
    write_new(fresh, data, durable=durable)
    if not durable:
        settle_data(fresh)
    fresh.replace(path)
    if durable:
        fsync_folder(path.parent)


def append(path: Path, data: bytes) -> bool:
    """Append `data` to an existing file and make it durable; False if that lost its name since."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        write_all(descriptor, data)
        os.fsync(descriptor)
        return os.path.samestat(os.fstat(descriptor), path.stat())
    finally:
        os.close(descriptor)


def current_user() -> int | None:
    """Return the number of the user that we run as; None where there is no such thing."""
    return os.geteuid() if hasattr(os, "geteuid") else None


def may_give_to(gid: int) -> bool:
    """Whether we may make a file of that group: one of ours, or any where we are root."""
    if not hasattr(os, "getgroups") or current_user() in {None, 0}:
        return True
    return gid == os.getegid() or gid in os.getgroups()


def user_name(uid: int) -> str:
    """Return a user's name for a person to read."""
    try:
        import pwd  # noqa: PLC0415 - absent on Windows

        return repr(pwd.getpwuid(uid).pw_name)
    except (ImportError, KeyError):
        return f"user {uid}"
