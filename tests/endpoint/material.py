"""The parts of a request as they arrived, and conversations to be sent."""

from __future__ import annotations

import re
from typing import Any

from compactor.identifiers.find import find_identifiers
from tests.endpoint.server import GOOD, Reply, Request, answer

_MOST, _LONGEST = 60, 40  # facts in an answer, and characters of one
PARTS = re.compile(r"===== (.+) ([0-9a-f]{16}) =====\n([\s\S]*?)\n===== END \2 =====")


def parts_of(request: Request) -> dict[str, str]:
    """The parts of the material by their names."""
    return {name: text for name, _, text in PARTS.findall(request.user)}


def well_informed(request: Request) -> Reply:
    """Answer with notes that name what they should."""
    if len(request.json["messages"]) == 1:  # `check` asks for nothing of the kind
        return answer()
    return answer(informed_notes(request))


def informed_notes(request: Request) -> str:
    """Notes that name what the user named, the newest first, then what others did."""
    told = {True: "", False: ""}  # by the user, by others
    is_users = False
    for line in parts_of(request).get("OLDER MESSAGES", "").split("\n"):
        if not line.startswith("  "):
            is_users = line.startswith("[user")
        else:
            told[is_users] += line + "\n"
    named: list[str] = []
    for text in told.values():
        facts = dict.fromkeys(one.text for one in reversed(find_identifiers(text)))
        named += [f"- {fact}" for fact in facts if len(fact) < _LONGEST]
    return "\n".join([GOOD, *named[:_MOST]])


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
