"""Messages, sessions and digests that are made for tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from compactor.digest import DigestSummarizer
from compactor.entry import Heading, parse_sections
from compactor.summarize import SummaryRequest
from compactor.tokens import TokenCounter
from session.message import Message, decode_line

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "compactor" / "samples"
MONTH = SAMPLES / "d2hhdHNhcHA6YWlybGluZS1tb250aA.jsonl"
CODING = SAMPLES / "Y2xpOnBpLWNvZGluZw.jsonl"
NANOBOT = ROOT / "tests" / "data" / "nanobot" / "v0.3.5" / "ok"
COUNTER = TokenCounter()
KEY = "telegram:42"


def load(path: Path) -> tuple[Message, ...]:
    """Return the messages of a session file."""
    rows = [(line, decode_line(line)) for line in path.read_bytes().split(b"\n")]
    return tuple(Message(line, data) for line, data in rows if data and "_type" not in data)


def message(role: str, content: object, *, day: int = 1, **more: Any) -> Message:
    """Return a message of a day in May 2026."""
    data = {"role": role, "content": content, "timestamp": f"2026-05-{day:02}T10:00:00", **more}
    return Message(json.dumps(data).encode())


def call(name: str, arguments: object, call_id: str = "c1") -> dict[str, Any]:
    """Return one tool call in the form of the chat completions API."""
    return {"id": call_id, "function": {"name": name, "arguments": json.dumps(arguments)}}


def digest(
    *covered: Message,
    previous: str | None = None,
    kept: tuple[Message, ...] = (),
    limit: int = 1200,
) -> str:
    """Return the digest of `covered`."""
    request = SummaryRequest(KEY, previous, covered, kept, limit)
    return DigestSummarizer(COUNTER).summarize(request).text


def section(text: str, heading: Heading) -> str:
    """Return the lines under a heading, or nothing."""
    return parse_sections(text).get(heading, "")
