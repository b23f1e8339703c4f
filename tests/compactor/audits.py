"""Conversations to audit."""

from __future__ import annotations

import json

from compactor.audit import LIMIT, select_wanted
from session.message import Message
from tests.compactor.builders import Row, agent


def messages_of(*rows: Row) -> list[Message]:
    """Return messages as a session holds them."""
    return [Message(json.dumps(one).encode(), one) for one in rows]


def wanted_of(*rows: Row, limit: int = LIMIT) -> tuple[str, ...]:
    """Return what a summary of these messages should name."""
    return select_wanted(messages_of(*rows), limit=limit)


def call(arguments: object) -> Row:
    """Return an agent's message that calls a tool with these arguments."""
    function = {"name": "work", "arguments": json.dumps(arguments)}
    return agent("", tool_calls=[{"id": "c1", "function": function}])
