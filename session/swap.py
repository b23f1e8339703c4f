"""One exchange of two files: the record that says what it does, and the names it uses.

After an exchange the temporary name holds the *original*. So no file in the hidden folder is
rubbish before its record says so, and the record is durable before anything changes places.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Self

from session import kernel
from session.message import decode_line

if TYPE_CHECKING:
    import os
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
    """A swap that is being made, or was made and whose original is watched.

    `graft` is there while lines are being appended to the live file: its inode, and its size before
    the first of them. So a kill in between is told from a kill before.
    """

    temp: Path
    live: Path
    old: FilePrint
    new: FilePrint
    graft: tuple[int, int] | None = None

    @property
    def link(self) -> Path:
        """The second name of the original during a plain replace."""
        return self.temp.with_suffix(LINK_SUFFIX)

    @property
    def _record(self) -> Path:
        return self.temp.with_suffix(RECORD_SUFFIX)

    def save(self) -> Self:
        """Make the record durable."""
        fields = {
            "name": self.live.name,
            "old": asdict(self.old),
            "new": asdict(self.new),
            "graft": self.graft,
        }
        kernel.replace_durably(self._record, json.dumps(fields).encode())
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
        if known is None or self.graft is not None:
            return False
        return known.size == self.temp.stat().st_size

    def harvest(self, source: FilePrint) -> bool:
        """Append to the live file the whole lines that the temporary one has beyond `source`.

        Lines are appended once, whatever happens in between. False, and nothing done, if somebody
        has just written the temporary file anew.
        """
        status = self.temp.stat()
        if self.graft is None and status.st_size == source.size:
            return True
        data = self.temp.read_bytes()
        if not source.begins(data):
            return False
        data = data[: max(source.size, len(data) - len(_open_line(data)))]
        while not self._graft(data, source.size):
            pass  # a writer replaced the live file under our hands
        seen = FilePrint.of(status, data)
        done = replace(self, old=seen) if source is self.old else replace(self, new=seen)
        replace(done, graft=None).save()
        return True

    def _graft(self, data: bytes, start: int) -> bool:
        """Append to the live file what it lacks of `data` from `start` on.

        False if it is not the live file any more to which the lines went.
        """
        inode, live = self.live.stat().st_ino, self.live.read_bytes()
        if not (self.new.is_at(self.live) or self.old.is_at(self.live)):
            # A writer has replaced it since, and may have known these lines.
            lines = _following(live, missing_lines(data, start, live), 0)
        elif self.graft is None:
            lines = _following(live, data, start)
        else:
            begun_in, size = self.graft
            whole, begun = _following(live[:size], data, start), live[size:]
            if inode == begun_in and whole.startswith(begun):
                # Killed while appending, perhaps in the middle of a line.
                rest = whole[len(begun) :]
                return not rest or kernel.append(self.live, rest)
            lines = _following(live, missing_lines(data, start, live), 0)
        if not lines.strip():
            return True
        replace(self, graft=(inode, len(live))).save()
        return kernel.append(self.live, lines)

    def rescue(self) -> bool:
        """Append what the temporary file has and the live one lacks, if they are one conversation.

        False, and nothing done, where the live file holds nothing of it: it was cleared.
        """
        data, live = self.temp.read_bytes(), self.live.read_bytes()
        data = data[: len(data) - len(_open_line(data))]
        missing = missing_lines(data, 0, live)
        if missing and missing == missing_lines(data, 0, b""):
            return False
        if missing:
            kernel.append(self.live, _following(live, missing, 0))
        return True


def read_swaps(area: Path, folder: Path) -> Iterator[Swap]:
    """Yield the swaps that have a record; a record that can't be read is left alone."""
    for path in sorted(area.glob(f"*{RECORD_SUFFIX}")):
        try:
            fields = json.loads(path.read_bytes())
            old, new = FilePrint(**fields["old"]), FilePrint(**fields["new"])
            live = folder / fields["name"]
            graft = tuple(fields["graft"]) if fields["graft"] else None
        except (ValueError, TypeError, KeyError):
            continue
        if live.parent == folder:
            yield Swap(path.with_suffix(TEMP_SUFFIX), live, old, new, graft)


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
    is_content = value.get("_type") not in {"metadata", "provider_state"}
    return json.dumps(value, sort_keys=True) if is_content else None


def _open_line(data: bytes) -> bytes:
    """The beginning of a line at the end of `data`; an object that is complete is no beginning."""
    rest = data[data.rfind(b"\n") + 1 :]
    return rest if decode_line(rest) is None else b""


def _following(live: bytes, data: bytes, start: int) -> bytes:
    """Return what must be appended to `live` so that it goes on as `data` does from `start`."""
    if start >= len(data):
        return b""
    # Said from the start of its line, unless just that beginning is what the live file ends with.
    lines = data[start - len(_open_line(data[:start])) :]
    begun = _open_line(live)
    if begun and lines.startswith(begun):
        lines = lines[len(begun) :]
    elif live and not live.endswith(b"\n") and not lines.startswith(b"\n"):
        lines = b"\n" + lines
    return lines if lines.endswith(b"\n") else lines + b"\n"
