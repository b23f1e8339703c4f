"""What a service manager told us when it started us: systemd, by way of the environment."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

NOTIFY_VARIABLE = "NOTIFY_SOCKET"
WATCHDOG_VARIABLE = "WATCHDOG_USEC"
WATCHED_VARIABLE = "WATCHDOG_PID"
JOURNAL_VARIABLE = "JOURNAL_STREAM"
_STANDARD_ERROR = 2


@dataclass(frozen=True, slots=True)
class Service:
    """What a service manager wants of us.

    `notify_socket` is where it listens, `watchdog` how often it must hear of us, None where it does
    not ask; `journal` is whether standard error goes to its journal.
    """

    notify_socket: str | None
    watchdog: timedelta | None
    journal: bool


def read_service() -> Service:
    """Return what the service manager said, if one started us (sd_notify(3), systemd.exec(5))."""
    environment = os.environ  # noqa: TID251 - what no configuration holds
    watched = environment.get(WATCHED_VARIABLE, str(os.getpid()))
    asked = environment.get(WATCHDOG_VARIABLE, "") if watched == str(os.getpid()) else ""
    return Service(
        notify_socket=environment.get(NOTIFY_VARIABLE) or None,
        watchdog=_read_microseconds(asked),
        journal=_standard_error_is(environment.get(JOURNAL_VARIABLE, "")),
    )


def _read_microseconds(text: str) -> timedelta | None:
    with suppress(ValueError, OverflowError):  # more digits than Python reads, or than time has
        if text.isascii() and text.isdigit():
            return timedelta(microseconds=int(text)) or None
    return None


def _standard_error_is(stream: str) -> bool:
    """Whether standard error still is the `device:inode` that it was started with."""
    with suppress(OSError):  # it may be closed
        status = os.fstat(_STANDARD_ERROR)
        return stream == f"{status.st_dev}:{status.st_ino}"
    return False
