"""The parts of a request as they arrived, and conversations to be sent."""

from __future__ import annotations

import re
from typing import Any

from tests.endpoint.server import Request

PARTS = re.compile(r"===== (.+) ([0-9a-f]{16}) =====\n([\s\S]*?)\n===== END \2 =====")


def parts_of(request: Request) -> dict[str, str]:
    """The parts of the material by their names."""
    return {name: text for name, _, text in PARTS.findall(request.user)}


def row(role: str, content: object, number: int = 0, **more: Any) -> dict[str, Any]:
    """A message as an agent writes it."""
    at = f"2026-03-02T10:{number // 60:02}:{number % 60:02}"
    return {"role": role, "content": content, "timestamp": at} | more


def turns(count: int, topic: str) -> list[dict[str, Any]]:
    """Plain turns of some length."""
    return [
        row(role, f"{topic}-{number} " + "and so on " * 20, number)
        for number in range(count)
        for role in ("user", "assistant")
    ]
