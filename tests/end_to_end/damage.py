"""Damaged session files: real ones with bytes flipped, cut and spliced, the same each time."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Iterator
from pathlib import Path

from tests.end_to_end.support import DATA, SAMPLES, filler

_FOLDERS = (SAMPLES, DATA / "v0.3.5" / "ok", DATA / "v0.3.5" / "bad", DATA / "v0.2.2" / "sessions")
_LONGEST = 24_000  # bytes that are taken of a real file, up to the end of a line
# What a slip of a writer, a disk or a person leaves, and what our own readers look for.
_SHARDS = (
    b"\n",
    b"\r\n",
    b"\x00" * 64,
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xe2\x80\xa8",
    b'{"_type":"metadata"}\n',
    b'{"_type":"metadata","metadata":{"_compaction":{"covers":2,"kept_at":1}}}\n',
    b'{"_type":"provider_state","state":"x"}\n',
    b'{"role":"user"}\n',
    b'{"role":"tool","tool_call_id":null,"content":7}\n',
    b'"last_archived":999999999999999999999,',
    b"-",
    b"[" * 900,
    b"\\ud800",
    b"NaN",
    b"null",
)


def real_sessions() -> list[bytes]:
    """Every real session file, not too long, and twice more with turns that make it worth it."""
    found = []
    behind = b"".join(json.dumps(row).encode() + b"\n" for row in filler(12, "2026-12-01", "t"))
    for path in (path for folder in _FOLDERS for path in sorted(folder.glob("*.jsonl"))):
        data = path.read_bytes()
        data = data[: data.rfind(b"\n", 0, _LONGEST) + 1] if len(data) > _LONGEST else data
        found += [data, data + behind, data + behind]
    return found


def damaged_files(count: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """Yield names and contents of so many damaged files."""
    chance = random.Random(seed)
    sources = real_sessions()
    for number in range(count):
        data = bytearray(chance.choice(sources))
        for _ in range(chance.choice((1, 1, 1, 2, 4))):
            _damage(data, chance, sources)
        yield _name(number, chance), bytes(data)


def write_damaged(folder: Path, count: int, seed: int) -> dict[str, bytes]:
    """Write so many damaged files to a folder; return what they hold by their names."""
    files = dict(damaged_files(count, seed))
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return files


def _name(number: int, chance: random.Random) -> str:
    """Most files have the name that spells their key, some the older one that doesn't."""
    if chance.random() < 0.1:
        return f"telegram_fuzz-{number}.jsonl"
    stem = base64.urlsafe_b64encode(f"telegram:fuzz-{number}".encode()).rstrip(b"=").decode()
    return f"{stem}.jsonl"


def _damage(data: bytearray, chance: random.Random, sources: list[bytes]) -> None:
    """Do one thing to a file; often to its header, on which most depends."""
    header = data.find(b"\n") + 1 or len(data)
    limit = header if chance.random() < 0.3 else len(data)
    at = chance.randint(0, limit)
    end = min(len(data), at + chance.choice((1, 2, 16, 200, 3000)))
    match chance.randrange(7):
        case 0:  # bits
            for _ in range(chance.choice((1, 3, 30))):
                if limit:
                    data[chance.randrange(limit)] ^= 1 << chance.randrange(8)
        case 1:  # any byte at all
            data[at : at + 1] = bytes([chance.randrange(256)])
        case 2:  # a piece is gone
            del data[at:end]
        case 3:  # the end is gone, as after a power cut
            del data[at:]
        case 4:  # a piece of another file is in its place
            other = chance.choice(sources)
            begin = chance.randint(0, len(other))
            data[at:end] = other[begin : begin + chance.choice((1, 40, 700, 5000))]
        case 5:  # a piece stands there twice
            data[at:at] = data[at:end]
        case _:
            data[at:at] = chance.choice(_SHARDS)
