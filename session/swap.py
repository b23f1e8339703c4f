"""One exchange of two files: the record that says what it does, and the names it uses.

After an exchange the temporary name holds the *original*. So no file in the hidden folder is
rubbish before its record says so, and the record is durable before anything changes places.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
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
    def of(cls, path: Path, content: bytes) -> FilePrint:
        """Describe the file at `path`, which holds `content`."""
        status = path.stat()
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
        return sha256(path.read_bytes()[: self.size]).hexdigest() == self.digest


@dataclass(frozen=True, slots=True)
class Swap:
    """A swap that is being made, or was made and whose original is watched.

    `graft_size` is there while lines are being appended to the live file, which was that long
    before: a kill in between is then told from a kill before.
    """

    temp: Path
    live: Path
    old: FilePrint
    new: FilePrint
    graft_size: int | None = None

    def save(self) -> Self:
        """Make the record durable."""
        fields = {
            "name": self.live.name,
            "old": asdict(self.old),
            "new": asdict(self.new),
            "graft_size": self.graft_size,
        }
        kernel.replace_durably(self._record, json.dumps(fields).encode())
        return self

    def discard(self) -> None:
        """Remove the temporary file, whichever it is by now, and then the record."""
        self.temp.unlink(missing_ok=True)
        self._record.unlink(missing_ok=True)

    def harvest(self, source: FilePrint) -> Swap:
        """Append to the live file the whole lines that the temporary one has beyond `source`.

        Lines are appended once whatever happens in between. If a writer has replaced the live file
        since, it may hold them already: then only those go over that it does not hold.
        """
        data = self.temp.read_bytes()
        end = data.rfind(b"\n") + 1
        tail = data[source.size : end]
        if not tail:
            return self
        live = self.live.read_bytes()
        if self.graft_size is not None:  # killed while appending: some of it may be there
            tail = _missing_lines(tail, live[self.graft_size :])
        elif not self.new.is_at(self.live) and not self.old.is_at(self.live):
            tail = _missing_lines(tail, live)
        if tail:
            replace(self, graft_size=len(live)).save()
            kernel.append(self.live, tail)
        done = replace(self, graft_size=None)
        if source is not self.old:
            return done
        return replace(done, old=FilePrint.of(self.temp, data[:end])).save()

    def rescue(self) -> bool:
        """Append what the temporary file has and the live one lacks, if they are one conversation.

        False, and nothing done, where the live file holds nothing of it: it was cleared.
        """
        data, live = self.temp.read_bytes(), self.live.read_bytes()
        missing = _missing_lines(data, live)
        if missing and missing == _missing_lines(data, b""):
            return False
        if missing:
            kernel.append(self.live, missing)
        return True

    @property
    def _record(self) -> Path:
        return self.temp.with_suffix(RECORD_SUFFIX)


def read_swaps(area: Path, folder: Path) -> Iterator[Swap]:
    """Yield the swaps that have a record; a record that can't be read is left alone."""
    for path in sorted(area.glob(f"*{RECORD_SUFFIX}")):
        try:
            fields = json.loads(path.read_bytes())
            old, new = FilePrint(**fields["old"]), FilePrint(**fields["new"])
            live = folder / fields["name"]
            graft_size = fields["graft_size"]
        except (ValueError, TypeError, KeyError):
            continue
        if live.parent == folder:
            yield Swap(path.with_suffix(TEMP_SUFFIX), live, old, new, graft_size)


def _line_id(line: bytes) -> str | bytes | None:
    """What a line says, however it is spelled; None for blank lines and for what is no content."""
    value = decode_line(line)
    if value is None:
        return line.strip() or None
    is_content = value.get("_type") not in {"metadata", "provider_state"}
    return json.dumps(value, sort_keys=True) if is_content else None


def _missing_lines(data: bytes, live: bytes) -> bytes:
    held = {None, *(_line_id(line) for line in live.split(b"\n"))}
    return b"".join(line + b"\n" for line in data.split(b"\n") if _line_id(line) not in held)
