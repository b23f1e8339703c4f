"""What the worker tells the service manager that started it: systemd's notification protocol.

A word is one datagram of `NAME=value` lines. It helps the operator and is no part of the work, so
nothing here waits and nothing here raises. See sd_notify(3).
"""

from __future__ import annotations

import socket
import time
from contextlib import suppress

# Bytes of one value: systemd ignores a whole datagram that has more than 4096.
_LONGEST = 1024


class Notifier:
    """Tells a service manager how we are; `address` is its `$NOTIFY_SOCKET`, None for nobody."""

    def __init__(self, address: str | None) -> None:
        self._address = address and _spell_address(address)

    def ready(self, status: str) -> None:
        """Say that the start, or the reload, is done."""
        self._tell(READY="1", STATUS=status)

    def status(self, text: str) -> None:
        """Say in one line what is being done, for `systemctl status`."""
        self._tell(STATUS=text)

    def watchdog(self) -> None:
        """Say that we are alive; to be called at least once in each `$WATCHDOG_USEC`."""
        self._tell(WATCHDOG="1")

    def reloading(self, status: str) -> None:
        """Say that the configuration is read anew; `ready` must follow."""
        # The moment, by CLOCK_MONOTONIC, tells this reload from one that was asked for earlier.
        self._tell(RELOADING="1", MONOTONIC_USEC=str(time.monotonic_ns() // 1000), STATUS=status)

    def stopping(self, status: str) -> None:
        """Say that the end has begun."""
        self._tell(STOPPING="1", STATUS=status)

    def _tell(self, **fields: str) -> None:
        if not self._address:
            return
        lines = [name.encode() + b"=" + _encode(value) for name, value in fields.items()]
        # A manager that is gone or too busy to listen is no reason to stop, or to wait.
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.settimeout(0)
            sender.sendto(b"\n".join(lines), self._address)


def _spell_address(address: str) -> str:
    """Return the address as the kernel knows it: a leading `@` is the NUL of an abstract one."""
    return "\0" + address[1:] if address.startswith("@") else address


def _encode(text: str) -> bytes:
    """Return a value as one line of whole UTF-8 characters, in as many bytes as are heeded.

    A newline would begin another field.
    """
    line = " ".join(text.split()).encode(errors="replace")
    return line[:_LONGEST].decode(errors="ignore").encode()
