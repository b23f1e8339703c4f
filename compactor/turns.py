"""Who may go ahead when many sessions are worked on at once."""

from __future__ import annotations

from threading import BoundedSemaphore, Lock
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


class Turns:
    """Sessions are prepared one after the other, and at most `limit` of them ask at once.

    Several threads prepare no faster than one, so the first question is out early.
    """

    def __init__(self, limit: int) -> None:
        self._preparing = Lock()
        self._asking = BoundedSemaphore(limit)

    def prepare(self) -> Preparation:
        """Return the turn of one session, to be entered."""
        return Preparation(self._preparing)

    def ask(self) -> AbstractContextManager[object]:
        """Return the turn of one question, to be entered."""
        return self._asking


class Preparation:
    """The time in which one session alone is prepared: until it is done, or left."""

    def __init__(self, lock: Lock) -> None:
        self._lock = lock
        self._is_held = False

    def __enter__(self) -> Self:
        self._lock.acquire()
        self._is_held = True
        return self

    def __exit__(self, *_: object) -> None:
        self.done()

    def done(self) -> None:
        """Let the next one go ahead."""
        if self._is_held:
            self._is_held = False
            self._lock.release()
