"""Conversations, policies and counters that are made for tests."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import compactor
from compactor.model import IdlePolicy, PlanPolicy
from compactor.tokens import TokenCounter
from session.message import Message
from session.model import SessionRef
from session.record import Header
from session.store import SessionTail, StoredSession

Row = dict[str, Any]

SAMPLES = Path(compactor.__file__).parent / "samples"
NANOBOT = Path(__file__).parent.parent / "data" / "nanobot" / "v0.3.5" / "ok"
REF = SessionRef("/sessions", "sessions", "telegram:42")
NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def ago(span: timedelta) -> str:
    """Return the time that long before NOW, as an agent in UTC writes it."""
    return (NOW - span).replace(tzinfo=None).isoformat()


def row(role: str, content: object = "", **more: object) -> Row:
    """Return a message as a file holds it."""
    return {"role": role, "content": content} | more


def words(count: int) -> str:
    """Return a text of as many tokens as the `WordCounter` counts."""
    return "word " * count


def user(content: object = "hello", **more: object) -> Row:
    """Return what a user says."""
    return row("user", content, **more)


def agent(content: object = "good day", **more: object) -> Row:
    """Return what an agent answers."""
    return row("assistant", content, **more)


def calls(*ids: str, content: object = "", **more: object) -> Row:
    """Return an agent's message that makes a batch of tool calls."""
    made = [{"id": name, "function": {"name": "look", "arguments": "{}"}} for name in ids]
    return row("assistant", content, tool_calls=made, **more)


def result(call_id: str, content: object = "found", **more: object) -> Row:
    """Return the result of a tool call."""
    return row("tool", content, tool_call_id=call_id, **more)


def delivery(content: object = "your report", **more: object) -> Row:
    """Return what an agent sent on its own account."""
    marks = {"_cross_channel": True, "_source_session": "cron:report"}
    return row("assistant", content, **marks | more)


def automation(content: object = "wake up", **more: object) -> Row:
    """Return the row with which a timer begins a turn."""
    return row("user", content, _automation_turn=True, **more)


def hidden(**more: object) -> Row:
    """Return a marker that an agent leaves for itself."""
    return row("user", "[checkpoint]", _hidden_history=True, **more)


def command(content: object = "/status", **more: object) -> Row:
    """Return a slash command."""
    return row("user", content, _command=True, **more)


def messages_of(*rows: Row) -> tuple[Message, ...]:
    """Return rows as messages of a file."""
    return tuple(Message(json.dumps(data).encode()) for data in rows)


def session_of(*rows: Row, **fields: Any) -> StoredSession:
    """Return a session; `fields` are those of its header."""
    header = Header({"_type": "metadata", "key": REF.key, "metadata": {}} | fields)
    return stored(header, messages_of(*rows))


def stored(header: Header, messages: tuple[Message, ...]) -> StoredSession:
    """Return a session of a header and messages, whose file is days old."""
    days_ago = NOW - timedelta(days=9)
    return StoredSession(REF, header, messages, in_flight=False, modified=days_ago, version=None)


def tail_of(*rows: Row, **fields: Any) -> SessionTail:
    """Return a session as a scan sees it; `fields` are those of its header."""
    return session_of(*rows, **fields).tail


def idle_policy(**changed: Any) -> IdlePolicy:
    """Return the default policy, in UTC, with some things changed."""
    policy = IdlePolicy(
        ttl=timedelta(minutes=10),
        channels={},
        exclude=("dream:*", "heartbeat*", "cron:*"),
        stuck_after=timedelta(hours=24),
        zone=UTC,
        zone_is_local=False,
    )
    return replace(policy, **changed)


def plan_policy(**changed: Any) -> PlanPolicy:
    """Return a policy with low floors, with some things changed."""
    policy = PlanPolicy(
        keep_messages=4,
        keep_tokens=100,
        min_tokens=1,
        min_new_tokens=1,
        entry_tokens=10,
        min_gain=0.0,
    )
    return replace(policy, **changed)


class WordCounter(TokenCounter):
    """Counts words, so that a test can be read: `words(30)` has 30 tokens."""

    def count(self, text: str) -> int:
        """Return the number of words."""
        return len(text.split())


class NoCounter(TokenCounter):
    """Stands where nothing must be counted."""

    def count(self, text: str) -> int:
        """Refuse."""
        message = f"counted {text[:20]!r}"
        raise AssertionError(message)
