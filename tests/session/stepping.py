"""Stopping at every system call that our code makes, to let something else happen there.

Python's own profiler tells of every call of a C function, and of `kernel.exchange`, right before it
is made. So the code under test runs as it is, with no hook of its own.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from session import kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

_MODULES = {"posix", "_io", "io", "fcntl"}
_HARMLESS = {"fspath", "getpid", "geteuid", "strerror", "__exit__", "__enter__", "readable"}
_HARMLESS |= {"_path_normpath", "text_encoding"}
_EXCHANGE = kernel.exchange.__code__


def _system_call(frame: FrameType, event: str, arg: Any) -> str | None:
    if event == "call" and frame.f_code is _EXCHANGE:
        return "exchange"
    if event != "c_call":
        return None
    owner = type(arg.__self__).__module__ if arg.__module__ is None else arg.__module__
    name: str = arg.__name__
    return name if owner in _MODULES and name not in _HARMLESS else None


@contextmanager
def stopping(at: Callable[[int, str], None]) -> Iterator[None]:
    """Call `at` with a number and a name right before each system call within the block.

    What `at` does itself is not stopped. What it raises is raised in the place of the call.
    """
    count = 0

    def look(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal count
        name = _system_call(frame, event, arg)
        if name is not None:
            count += 1
            at(count - 1, name)

    sys.setprofile(look)
    try:
        yield
    finally:
        sys.setprofile(None)
