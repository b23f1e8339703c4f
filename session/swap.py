"""One exchange of two files: the record that says what it does, and the names it uses.

After an exchange the temporary name holds the *original*. So no file in the hidden folder is
rubbish before its record says so, and the record is durable before anything changes places.
"""

from __future__ import annotations

import errno
import json
import os
from collections import Counter
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from itertools import count
from typing import TYPE_CHECKING, Self

from session import kernel
from session.message import decode_line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TEMP_SUFFIX = ".tmp"
RECORD_SUFFIX = ".json"
LINK_SUFFIX = ".old"


@dataclass(frozen=True, slots=True)
class FilePrint:
    """How to recognize a file later: `digest` is over its first `size` bytes."""

    ino: int
    size: int
    mtime_ns: int
    digest: str

    @classmethod
    def of(cls, status: os.stat_result, content: bytes) -> FilePrint:
        """Describe the file whose status was `status` when it held `content`."""
        return cls(status.st_ino, len(content), status.st_mtime_ns, sha256(content).hexdigest())

    def is_at(self, path: Path) -> bool:
        """Whether `path` is that file, with all that it held then at its beginning.

        An inode alone proves little, since it is reused as soon as its file is gone.
        """
        try:
            status = path.stat(follow_symlinks=False)
        except FileNotFoundError:
            return False
        if status.st_ino != self.ino or status.st_size < self.size:
            return False
        if (status.st_size, status.st_mtime_ns) == (self.size, self.mtime_ns):
            return True
        return self.begins(path.read_bytes())

    def begins(self, data: bytes) -> bool:
        """Whether `data` begins with what the file held."""
        return sha256(data[: self.size]).hexdigest() == self.digest


@dataclass(frozen=True, slots=True)
class Swap:
    """A swap that is being made, or was made and whose original is watched."""

    temp: Path
    live: Path
    old: FilePrint
    new: FilePrint

    @property
    def link(self) -> Path:
        """The second name of the original during a plain replace, and of a file given back."""
        return self.temp.with_suffix(LINK_SUFFIX)

    @property
    def _record(self) -> Path:
        return self.temp.with_suffix(RECORD_SUFFIX)

    def save(self, *, durable: bool = True) -> Self:
        """Write the record."""
        fields = {"name": self.live.name, "old": asdict(self.old), "new": asdict(self.new)}
        kernel.replace_file(self._record, json.dumps(fields).encode(), durable=durable)
        return self

    def discard(self) -> None:
        """Remove the temporary file, whichever it is by now, and its record last of all."""
        self.link.unlink(missing_ok=True)
        self.temp.unlink(missing_ok=True)
        self._record.unlink(missing_ok=True)

    def print_of_temp(self) -> FilePrint | None:
        """Which of the two lies under the temporary name; None where it is a third one."""
        return next((known for known in (self.new, self.old) if known.is_at(self.temp)), None)

    def is_settled(self) -> bool:
        """Whether the file under the temporary name has nothing that the live one may lack."""
        known = self.print_of_temp()
        return known is not None and known.size == self.temp.stat().st_size

    def harvest(self, source: FilePrint) -> bool:
        """See to it that the live file has what was written to the temporary one beyond `source`.

        False, and nothing done, if somebody has just written the temporary file anew.
        """
        status = self.temp.stat()
        if status.st_size == source.size:
            return True
        data = self.temp.read_bytes()
        if not source.begins(data):
            return False
        data = data[: max(source.size, len(data) - len(_open_line(data)))]
        self._append_missing(data, source.size)
        # So what is there now is not looked for again: the agent may clear the session later.
        seen = FilePrint.of(status, data)
        (replace(self, old=seen) if source is self.old else replace(self, new=seen)).save()
        return True

    def rescue(self, source: Path) -> int | None:
        """Append what the file `source` has and the live one lacks, if they are one conversation.

        Returns how many times it appended something: until that is 0 a writer may have overtaken
        it. None, and nothing done, where the live file holds nothing of it: it was cleared.
        """
        data = source.read_bytes()
        data = data[: len(data) - len(_open_line(data))]
        everything = missing_lines(data, 0, b"")
        if everything and everything == missing_lines(data, 0, self.live.read_bytes()):
            return None
        return self._append_missing(data, 0)

    def _append_missing(self, data: bytes, start: int) -> int:
        """Append what `data` has from `start` on and the live file lacks.

        What was appended before a kill is not missing any more, so this can be repeated. Raises
        `BlockingIOError`, and nothing was done, while somebody is in the middle of a line.
        """
        for times in count():
            live = self.live.read_bytes()
            lines = missing_lines(data, start, live)
            # The writer may be done by the time it is asked for: then the file is another one.
            mid_line = is_mid_line(self.live, live) or self.live.read_bytes() != live
            if lines and mid_line:
                raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN), str(self.live))
            # If a writer has replaced the live file under our hands, the lines may be gone again.
            if not lines:
                return times
            if kernel.append(self.live, _completing(live, lines)):
                return times + 1
        raise AssertionError  # pragma: no cover - `count` never ends


def read_swaps(area: Path, folder: Path) -> Iterator[Swap]:
    """Yield the swaps that have a record; a record that can't be read is left alone."""
    for path in sorted(area.glob(f"*{RECORD_SUFFIX}")):
        if not path.is_file():
            continue
        try:
            fields = json.loads(path.read_bytes())
            old, new = FilePrint(**fields["old"]), FilePrint(**fields["new"])
            live = folder / fields["name"]
        except (ValueError, TypeError, KeyError, RecursionError):
            continue
        if live.parent == folder:
            yield Swap(path.with_suffix(TEMP_SUFFIX), live, old, new)


def missing_lines(data: bytes, start: int, live: bytes) -> bytes:
    """Return the lines of `data` that end after `start` and that `live` does not hold.

    They are counted, since people say the same thing twice, and compared by what they say, since a
    save may spell them anew. Headers and blank lines are no content.
    """
    held = Counter(_line_id(line) for line in live.split(b"\n"))
    missing: list[bytes] = []
    position = 0
    for line in data.split(b"\n"):
        said = _line_id(line)
        if held[said]:
            held[said] -= 1
        elif said is not None and position + len(line) > start:
            missing.append(line + b"\n")
        position += len(line) + 1
    return b"".join(missing)


def _line_id(line: bytes) -> str | bytes | None:
    """What a line says, however it is spelled; None for blank lines and for what is no content."""
    value = decode_line(line)
    if value is None:
        return line.strip() or None
    kind = value.get("_type")  # of any type, lists included
    is_content = kind != "metadata" and kind != "provider_state"  # noqa: PLR1714
    return json.dumps(value, sort_keys=True) if is_content else None


def _open_line(data: bytes) -> bytes:
    """The beginning of a line at the end of `data`; an object that is complete is no beginning."""
    rest = data[data.rfind(b"\n") + 1 :]
    return rest if decode_line(rest) is None else b""


def is_mid_line(path: Path, data: bytes) -> bool:
    """Whether somebody is about to write more of the last line of the file, which held `data`.

    Then what comes in between would tear that line, and who reads the file anew has half of it. An
    object that is complete still lacks its newline, and an empty file all that it will hold.
    """
    return not data.endswith(b"\n") and kernel.is_written_elsewhere(path)


def _completing(live: bytes, lines: bytes) -> bytes:
    """Return what makes `live` end with `lines`, of which it may hold half of the first."""
    begun = _open_line(live)
    if begun and lines.startswith(begun):
        return lines[len(begun) :]
    return lines if not live or live.endswith(b"\n") else b"\n" + lines
