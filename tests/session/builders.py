"""Sessions made for tests: rows, files and the real ones that nanobot wrote."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from session.message import Message
from session.projection import (
    Projection,
    ProjectionChange,
    digest_content,
    digest_lines,
    digest_text,
)
from session.record import Header, StampDict

DATA = Path(__file__).parent.parent / "data" / "nanobot"
SAMPLES = Path(__file__).parent.parent.parent / "compactor" / "samples"


@dataclass(frozen=True)
class RealFile:
    """A session file of a nanobot release, and what that release's own code reads from it."""

    name: str
    path: Path
    expected: dict[str, Any]

    @property
    def history(self) -> list[list[Any]] | None:
        """Rows as `[role, content length, extra keys]`; None where nanobot loads nothing."""
        rows = self.expected.get("history")
        return None if rows is None else [[role, size, sorted(keys)] for role, size, keys in rows]


def real_files() -> list[RealFile]:
    """Return every session file of the test data, good and bad."""
    found = []
    for version in ("v0.2.2", "v0.3.5"):
        manifest = json.loads((DATA / version / "manifest.json").read_bytes())
        expected = json.loads((DATA / version / "expected.json").read_bytes())
        found += [
            RealFile(f"{version}/{key}", DATA / version / about["file"], expected[key])
            for key, about in manifest.items()
        ]
    return found


def sample_paths() -> list[Path]:
    """Return the real conversations that the product ships."""
    return sorted(SAMPLES.glob("*.jsonl"))


def row(role: str, content: object = None, **more: object) -> dict[str, Any]:
    """Return a message as a file holds it, without the content where that is not given."""
    return {"role": role} | ({} if content is None else {"content": content}) | more


def calling(*ids: str, content: object = "", **more: object) -> dict[str, Any]:
    """Return an assistant's message that makes the calls `ids` in one batch."""
    calls = [
        {"id": name, "type": "function", "function": {"name": "look", "arguments": "{}"}}
        for name in ids
    ]
    return row("assistant", content, tool_calls=calls, **more)


def answering(call_id: str, content: object = "done") -> dict[str, Any]:
    """Return the result of a call."""
    return row("tool", content, tool_call_id=call_id, name="look")


def messages_of(*rows: dict[str, Any]) -> list[Message]:
    """Return rows as messages of a file."""
    return [Message(json.dumps(data).encode()) for data in rows]


def header_fields(key: str = "telegram:42", **more: object) -> dict[str, Any]:
    """Return a metadata record as nanobot writes it."""
    fields: dict[str, Any] = {
        "_type": "metadata",
        "key": key,
        "created_at": "2026-01-01T10:00:00.000001",
        "updated_at": "2026-01-02T11:00:00.000002",
        "metadata": {},
        "last_archived": 0,
        "last_consolidated": 0,
    }
    return fields | more


def file_bytes(*records: dict[str, Any]) -> bytes:
    """Return records as a file in nanobot's spelling."""
    return b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records)


def conversation(turns: int, start: int = 1) -> list[dict[str, Any]]:
    """Return `turns` exchanges, numbered from `start`."""
    rows = []
    for number in range(start, start + turns):
        rows += [row("user", f"question {number}"), row("assistant", f"answer {number} / né")]
    return rows


def session_bytes(turns: int = 4, key: str = "telegram:42", **header: object) -> bytes:
    """Return a whole session file of `turns` exchanges."""
    return file_bytes(header_fields(key, **header), *conversation(turns))


def change_for(
    messages: list[Message] | tuple[Message, ...],
    covers: int,
    entry: str = "What was said so far.",
    *,
    current: Projection | None = None,
) -> ProjectionChange:
    """Return a change that covers the first `covers` messages, with a complete stamp."""
    covered = messages[:covers]
    stamp = StampDict(
        version=1,
        covers=covers,
        messages=len(messages),
        digest=digest_lines(covered),
        content=digest_content(covered),
        text=digest_text(entry),
        kept_at=0,
        generation=1,
        summarized_at="2026-01-03T00:00:00Z",
        engine="digest",
        model=None,
        prompt="test",
        tokens_before=100,
        tokens_after=10,
        counter="o200k_base",
        first_at=None,
        last_at=None,
        sources=[],
        previous=current.as_previous() if current else None,
    )
    last_active = "2026-01-02T11:00:00.000002"
    return ProjectionChange(Projection(covers, entry, last_active, stamp), stamp)


def header(**metadata: object) -> Header:
    """Return a header with `metadata`."""
    return Header(header_fields(metadata=metadata))
