"""The end of a pass before its work is done: first nothing new is begun, then nothing goes on.

A pass ends so when its deadline is over, or when the worker is told to stop. Calls that are under
way get a grace period; then they are given up, and leave no trace.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import timedelta

OVER = "the pass is over its deadline"


class Halt:
    """Whether a pass must come to its end, and why; safe to use from several threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._reason = ""
        self._is_done = False

    @property
    def reason(self) -> str:
        """Why nothing new may be begun; empty while it may."""
        return self._reason

    def request(self, reason: str) -> None:
        """Begin nothing new from now on; the first reason counts."""
        with self._changed:
            self._reason = self._reason or reason
            self._changed.notify_all()

    @contextmanager
    def watching(
        self, deadline: timedelta, grace: timedelta, give_up: Callable[[], None]
    ) -> Iterator[None]:
        """Watch over a pass while this lasts.

        A halt is requested when the `deadline` is over; `give_up` is called, from another thread,
        a grace period after whatever was the reason.
        """

        def watch() -> None:
            with self._changed:
                self._changed.wait_for(lambda: self._is_done or self._reason, _seconds(deadline))
                if self._is_done:
                    return
                self._reason = self._reason or OVER
                if self._changed.wait_for(lambda: self._is_done, _seconds(grace)):
                    return
            give_up()

        watcher = threading.Thread(target=watch, name="halt", daemon=True)
        watcher.start()
        try:
            yield
        finally:
            with self._changed:
                self._is_done = True
                self._changed.notify_all()
            watcher.join()


def _seconds(span: timedelta) -> float:
    return min(span.total_seconds(), threading.TIMEOUT_MAX)
