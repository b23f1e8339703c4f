"""Real session files, and what a test asks of them; none of it uses the product's own code."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data" / "nanobot"
SAMPLES = ROOT / "compactor" / "samples"

LOW_FLOORS = """\
[store]
url = "jsonl:sessions"
[idle]
ttl = "1s"
min_tokens = 1
min_new_tokens = 1
exclude = []
[keep]
messages = 4
[summary]
engine = "digest"
min_gain = 0.0
"""


@dataclass(frozen=True)
class Ran:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON document on standard output."""
        return json.loads(self.out)

    def session(self, key: str) -> Any:
        """The row of one session in a pass."""
        return next(row for row in self.json["sessions"] if row["key"] == key)


Invoke = Callable[..., Ran]


def copy_sessions(source: Path, target: Path) -> None:
    """Copy session files, times and all."""
    for path in sorted(source.glob("*.json*")):
        if path.name not in {"manifest.json", "expected.json"}:
            shutil.copy2(path, target / path.name)


def message_lines(data: bytes) -> list[bytes]:
    """Every line that is neither metadata nor provider state, as it stands in the file."""
    return [line for line in data.split(b"\n") if record_type(line) is None]


def record_type(line: bytes) -> str | None:
    """The `_type` of a record of nanobot's own, None for any other line."""
    try:
        value = json.loads(line.decode("utf-8-sig"))
    except ValueError:
        return None
    kind = value.get("_type") if isinstance(value, dict) else None
    known = isinstance(kind, str) and kind in {"metadata", "provider_state"}
    return kind if known else None


def read_header(path: Path) -> Any:
    """The metadata record that counts: the last one."""
    lines = [line for line in path.read_bytes().split(b"\n") if record_type(line) == "metadata"]
    return json.loads(lines[-1].decode("utf-8-sig"))


def add_messages(path: Path, *messages: dict[str, Any]) -> None:
    """Append messages as an agent would, and say so in the header's `updated_at`."""
    with path.open("ab") as file:
        for message in messages:
            file.write(json.dumps(message).encode() + b"\n")


def save_header(path: Path, header: dict[str, Any]) -> None:
    """Write another header, as an agent's save from memory would."""
    rest = path.read_bytes().split(b"\n", 1)[1]
    path.write_bytes(json.dumps(header).encode() + b"\n" + rest)


def filler(count: int, day: str, topic: str) -> list[dict[str, Any]]:
    """Turns of some length, to make a session worth compacting."""
    rows: list[dict[str, Any]] = []
    for number in range(count):
        at = f"{day}T{number // 60:02}:{number % 60:02}:00"
        words = " ".join(f"{topic}{number}-{word}" for word in range(60))
        rows += [
            {"role": "user", "content": f"Please note {words}", "timestamp": at},
            {"role": "assistant", "content": f"Noted {topic} {number}.", "timestamp": at},
        ]
    return rows


def grow(path: Path, *, before: int = 12, after: int = 12) -> None:
    """Put filler turns ahead of and behind a file's own lines, which stay as they are."""
    data = path.read_bytes()
    lines = data.split(b"\n")
    kinds = [record_type(line) for line in lines]
    # Behind what must come first: the header, if it is the first line, and the provider state.
    top = next((i for i, kind in enumerate(kinds) if kind is None), len(lines))
    ahead = [json.dumps(row).encode() for row in filler(before, "2025-01-01", "ahead")]
    behind = [json.dumps(row).encode() for row in filler(after, "2026-11-29", "behind")]
    end = lines[-1:] if lines[-1] else []
    body = lines[top:-1]
    path.write_bytes(b"\n".join([*lines[:top], *ahead, *body, *end, *behind, b""]))
