"""One message: a line of bytes that is never rewritten, and what its marks say.

The line is the truth; its parsed form is made when somebody asks. Which marks exist, and which
rows are not conversation, was read off files of the releases of nanobot up to 0.3.5.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_scan_json = json.JSONDecoder().raw_decode
NESTING_LIMIT = 200

_AUTOMATION_MARKS = ("_automation_turn", "_cron_turn")
_AUTOMATION_PREFIXES = ("cron_", "trigger_")
# Keys that say nothing of the kind of a message, beside its role.
_PLAIN_KEYS = frozenset(
    (
        "role",
        "content",
        "timestamp",
        "tool_calls",
        "tool_call_id",
        "name",
        "reasoning_content",
        "thinking_blocks",
        "extra_content",
        "latency_ms",
        "media",
    )
)


def decode_line(line: bytes) -> dict[str, Any] | None:
    """Return the JSON object on `line`, or None where it holds anything else.

    A line that is not UTF-8, not JSON or not an object is nobody's message, but it is never an
    error: it stays where it is. So does one that is nested deeper than 200 levels: how deep Python
    itself reads depends on where it is called from, and positions must not.
    """
    try:
        text = line.decode("utf-8").strip()
        value, end = _scan_json(text)
    except (ValueError, RecursionError):
        return None
    if end != len(text) or not isinstance(value, dict):
        return None
    deep = line.count(b"[") + line.count(b"{") > NESTING_LIMIT and _is_too_deep(value)
    return None if deep else value


def _is_too_deep(value: dict[str, Any]) -> bool:
    level: list[Any] = [value]
    for _ in range(NESTING_LIMIT):
        level = [
            item
            for outer in level
            for item in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(item, (dict, list))
        ]
        if not level:
            return False
    return True


class Message:
    """A message: `raw` is its line without the newline, `data` its parsed form."""

    __slots__ = ("_data", "raw")

    def __init__(self, raw: bytes, data: dict[str, Any] | None = None) -> None:
        self.raw = raw
        self._data = data

    def __repr__(self) -> str:
        return f"Message({self.raw[:60]!r})"

    @property
    def data(self) -> dict[str, Any]:
        """The JSON object of the line; treat it as read-only."""
        if self._data is None:
            self._data = decode_line(self.raw) or {}
        return self._data

    @property
    def role(self) -> str:
        """`user`, `assistant`, `tool` or `system`; empty for an object without a role."""
        role = self.data.get("role")
        return role if isinstance(role, str) else ""

    @property
    def timestamp(self) -> object:
        """The time as it was written: an ISO 8601 string, if all is well."""
        return self.data.get("timestamp")

    @property
    def is_delivery(self) -> bool:
        """Sent by the agent on its own account, or from another session."""
        marked = self.data.get("_channel_delivery") or self.data.get("_cross_channel")
        return bool(marked) and self.role == "assistant"

    @property
    def is_hidden(self) -> bool:
        """A marker that an agent left for itself (nanobot's end of a checkpoint)."""
        return bool(self.data.get("_hidden_history"))

    @property
    def is_command(self) -> bool:
        """A slash command or its answer: not part of what a model sees."""
        return bool(self.data.get("_command"))

    @property
    def is_automation(self) -> bool:
        """Begun by a timer or a trigger and not by the user."""
        return any(self.data.get(mark) for mark in _AUTOMATION_MARKS) or any(
            key.startswith(_AUTOMATION_PREFIXES) for key in self.data
        )

    @property
    def source(self) -> str | None:
        """Where it came from, if not from this conversation (`cron:daily-report`)."""
        source = self.data.get("_source_session")
        if isinstance(source, str) and source:
            return source
        name = self.data.get("cron_job_name") or self.data.get("cron_job_id")
        return f"cron:{name}" if isinstance(name, str) and name else None

    @property
    def call_ids(self) -> tuple[str, ...]:
        """The ids of the tool calls that this message makes."""
        calls = self.data.get("tool_calls")
        if self.role != "assistant" or not isinstance(calls, list):
            return ()
        return tuple(
            call["id"]
            for call in calls
            if isinstance(call, dict) and isinstance(call.get("id"), str)
        )

    @property
    def makes_calls(self) -> bool:
        """Whether it asks for tools at all, also where the calls carry no id."""
        return self.role == "assistant" and bool(self.data.get("tool_calls"))

    @property
    def call_count(self) -> int:
        """How many tool calls it makes, those without an id included."""
        calls = self.data.get("tool_calls")
        return len(calls) if isinstance(calls, list) else 1 if calls else 0

    @property
    def answers(self) -> str | None:
        """The id of the tool call that this message answers."""
        call_id = self.data.get("tool_call_id")
        return call_id if self.role == "tool" and isinstance(call_id, str) else None


def spoken_flags(messages: Iterable[Message]) -> Iterator[bool]:
    """Tell, message by message, which ones are conversation.

    Commands, markers, deliveries and objects without a role are not; nor is a turn that a timer
    began, with all that answers it.
    """
    automated = False
    for message in messages:
        data = message.data
        if data.keys() <= _PLAIN_KEYS:  # it can bear no mark
            role = data.get("role")
            if role == "user":
                automated = False
            yield bool(role) and isinstance(role, str) and not automated
            continue
        if not message.role or message.is_command or message.is_hidden or message.is_delivery:
            yield False
            continue
        if message.is_automation:
            automated = True
        elif message.role == "user":
            automated = False
        yield not automated


def pair_calls(messages: Sequence[Message]) -> dict[int, int]:
    """Map the position of each tool result to the position of the message that made the call.

    Ids are reused (`call_1` in every turn), so a result belongs to the nearest call ahead of it
    that has its id and is not answered yet. A result that has none is an orphan and is not here.
    """
    waiting: dict[str, int] = {}
    pairs: dict[int, int] = {}
    for index, message in enumerate(messages):
        for call_id in message.call_ids:
            waiting[call_id] = index
        answered = message.answers
        if answered is not None and answered in waiting:
            pairs[index] = waiting.pop(answered)
    return pairs


def unanswered_calls(messages: Sequence[Message], pairs: dict[int, int]) -> set[int]:
    """Positions of messages with at least one tool call that has no result."""
    results = dict.fromkeys(pairs.values(), 0)
    for caller in pairs.values():
        results[caller] += 1
    return {
        index
        for index, message in enumerate(messages)
        if message.makes_calls and results.get(index, 0) < message.call_count
    }
