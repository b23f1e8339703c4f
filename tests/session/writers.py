"""Agents that write to a session file without our lock, each in a style of its own.

A writer does one thing in several phases, and something else may happen between them. When the
last phase has returned, its line is acknowledged: it must never be lost.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def line(number: int) -> bytes:
    """Return the message `number`."""
    return (
        json.dumps({"role": "user", "content": f"message {number}", "id": number}).encode() + b"\n"
    )


def header_line(version: int) -> bytes:
    """Return a header that says which writer made the file."""
    return json.dumps({"_type": "metadata", "version": version}).encode() + b"\n"


BASE = tuple(range(1, 9))
NEW = 100
ORIGINAL = header_line(1) + b"".join(map(line, BASE))
COMPACTED = header_line(2) + b"".join(map(line, BASE))


class Writer(ABC):
    """One operation on the file at `path` that adds the message `number`.

    A writer that has a memory knows of the messages `known`, which may grow.
    """

    phases = 2

    def __init__(self, path: Path, number: int = NEW, known: Sequence[int] = BASE) -> None:
        self.path = path
        self.number = number
        self.known = known
        self.done = 0

    @property
    def line(self) -> bytes:
        """The new line."""
        return line(self.number)

    @property
    def memory(self) -> bytes:
        """All that the writer knows of, and the new line, under a header of its own."""
        return header_line(3) + b"".join(map(line, self.known)) + self.line

    def step(self) -> None:
        """Do the next phase."""
        self.do(self.done)
        self.done += 1

    def finish(self) -> None:
        """Do all that is left."""
        while self.done < self.phases:
            self.step()

    @abstractmethod
    def do(self, phase: int) -> None:
        """Do one phase, counted from 0."""


class AppendByPath(Writer):
    """Opens the file for appending, then writes its line."""

    def do(self, phase: int) -> None:
        """Open; write and close."""
        if phase == 0:
            self.file = self.path.open("ab", buffering=0)
        else:
            with self.file as file:
                file.write(self.line)


class HeldAppend(Writer):
    """Has held the file open all along, and needs two writes for its line."""

    def __init__(self, path: Path, number: int = NEW, known: Sequence[int] = BASE) -> None:
        super().__init__(path, number, known)
        self.file = path.open("ab", buffering=0)

    def do(self, phase: int) -> None:
        """Write half a line; write the rest and close."""
        if phase == 0:
            self.file.write(self.line[:20])
        else:
            with self.file as file:
                file.write(self.line[20:])


class HeldAppendAtOnce(HeldAppend):
    """The same with a single write, which the system keeps whole."""

    phases = 1

    def do(self, phase: int) -> None:
        """Write and close."""
        assert phase == 0
        with self.file as file:
            file.write(self.line)


class ReadModifyRename(Writer):
    """Reads the file, writes another one, and renames that over it."""

    def do(self, phase: int) -> None:
        """Read and write; rename."""
        other = self.path.with_name(".agent.tmp")
        if phase == 0:
            other.write_bytes(self.path.read_bytes() + self.line)
        else:
            other.replace(self.path)


class RewriteFromMemory(Writer):
    """Writes all that it has in memory to another file, and renames that over it."""

    def do(self, phase: int) -> None:
        """Write; rename."""
        other = self.path.with_name(".agent.tmp")
        if phase == 0:
            other.write_bytes(self.memory)
        else:
            other.replace(self.path)


class RewriteInPlace(Writer):
    """Reads the file, truncates it, and writes it anew in two pieces."""

    cut: int | None = None  # where the first piece ends: in the middle, and within a line

    def do(self, phase: int) -> None:
        """Read, truncate and write half of it; write the rest and close."""
        if phase == 0:
            content = self.path.read_bytes() + self.line
            cut = self.cut
            if cut is None:
                cut = content.index(b"\n", len(content) // 2 - 2) - 2
            self.rest = content[cut:]
            self.file = self.path.open("wb", buffering=0)
            self.file.write(content[:cut])
        else:
            with self.file as file:
                file.write(self.rest)


class HeldRewrite(Writer):
    """Has held the file open all along; truncates it and writes it anew through that handle."""

    def __init__(self, path: Path, number: int = NEW, known: Sequence[int] = BASE) -> None:
        super().__init__(path, number, known)
        self.file = path.open("r+b", buffering=0)

    def do(self, phase: int) -> None:
        """Truncate and write half of it; write the rest and close."""
        content = self.memory
        if phase == 0:
            self.file.truncate(0)
            self.file.write(content[: len(content) // 2])
        else:
            with self.file as file:
                file.write(content[len(content) // 2 :])


STYLES: tuple[type[Writer], ...] = (
    AppendByPath,
    HeldAppend,
    ReadModifyRename,
    RewriteFromMemory,
    RewriteInPlace,
    HeldRewrite,
)
