"""A worker that runs in a process of its own, and what it tells."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Self

PATIENCE = 60.0  # seconds that anything here waits at most


class Worker:
    """`compactor run`, with a log of JSON lines; it is killed when this is left."""

    def __init__(self, folder: Path, *arguments: str, **environment: str) -> None:
        self.events: list[dict[str, Any]] = []
        self.said: list[str] = []  # what was no event
        self._changed = threading.Condition()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "compactor", "run", "--verbose", *arguments],
            cwd=folder,
            env=dict(os.environ) | environment,  # noqa: TID251 - a child needs one
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._changed:
                try:
                    self.events.append(json.loads(line))
                except ValueError:
                    self.said.append(line)
                self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()

    def count(self, event: str, **fields: object) -> int:
        """Return how often it has told that."""
        wanted = {"event": event} | fields
        return sum(wanted.items() <= told.items() for told in self.events)

    def wait_for(self, event: str, count: int = 1, **fields: object) -> dict[str, Any]:
        """Wait until it has told that so many times; return the last of these events."""
        with self._changed:
            found = self._changed.wait_for(
                lambda: self.count(event, **fields) >= count or not self._reader.is_alive(),
                PATIENCE,
            )
        if not found or self.count(event, **fields) < count:
            message = f"no {event} {fields}: {self.events[-5:]} {self.said}"
            raise AssertionError(message)
        wanted = {"event": event} | fields
        return [told for told in self.events if wanted.items() <= told.items()][count - 1]

    def wait_for_passes(self, count: int) -> None:
        """Wait until so many more passes have ended well."""
        self.wait_for("pass_finished", self.count("pass_finished") + count)

    def send(self, number: int) -> None:
        """Send a signal."""
        self.process.send_signal(number)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and wait for the end; returns the exit code."""
        self.send(number)
        return self.wait()

    def wait(self) -> int:
        """Wait for the end; returns the exit code."""
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        return code

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()
        self._reader.join(PATIENCE)
