"""Reading a transcript into what a hand-off is made of: turns, tools, deliveries, facts.

One pass, in which each text is cut to a length that shrinks as messages grow in number, so that
the whole takes a few million characters at most.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from compactor.digest.calls import calls_of, paths_in, tool_name
from compactor.digest.facts import FactBook, FactKind
from compactor.digest.phrases import looks_failed
from compactor.readable import readable_text
from session.history import clean_label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compactor.digest.calls import Call
    from session.message import Message

PASTE = 12  # lines: a longer text was pasted, and what it names the user didn't say

_ALL_TEXT = 3_000_000  # characters that are read of all messages, at least roughly
_USER_TEXT, _AGENT_TEXT, _TOOL_TEXT = 6_000, 3_000, 1_500  # characters of one message, at most
_LEAST_TEXT = 160
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_COMMAND = re.compile(r"/[A-Za-z_-]*")

# What a mention is worth by who said it; being late adds up to 2, being frequent up to 1.
_BY_USER, _BY_AGENT, _BY_CHANGE, _BY_CALL, _BY_TOOL = 4.0, 2.0, 2.5, 1.0, 0.0


@dataclass(slots=True)
class Turn:
    """What was said at one time and what was answered; `source` names a timer that began it.

    `answer` is the agent's last text; `is_final` tells that no tool call came with it. Of the
    `calls`, `acts` are those that change something, judged by the tool's name, and whether they
    worked (`cancel_order(A17)`: True).
    """

    date: str
    source: str | None = None
    said: list[str] = field(default_factory=list)
    answer: str = ""
    is_final: bool = False
    calls: int = 0
    acts: dict[str, bool] = field(default_factory=dict)


@dataclass(slots=True)
class Delivery:
    """A message to another channel (`to telegram:42`) or from one (`from cron:report`)."""

    date: str
    way: str
    text: str
    failed: bool = False


@dataclass(slots=True)
class ToolUse:
    """How often a tool was called and failed; `works` tells that its last result was good."""

    calls: int = 0
    failures: int = 0
    error: str = ""
    date: str = ""
    works: bool = True


@dataclass(slots=True)
class Reading:
    """All that was read; `length` is the number of messages, `stray` the last text of nobody's."""

    length: int
    turns: list[Turn] = field(default_factory=list)
    deliveries: list[Delivery] = field(default_factory=list)
    tools: dict[str, ToolUse] = field(default_factory=dict)
    facts: FactBook = field(default_factory=FactBook)
    first_date: str = ""
    last_date: str = ""
    stray: str = ""


def read_transcript(messages: Sequence[Message], key: str) -> Reading:
    """Return what `messages` of the session `key` say; commands and hidden rows say nothing."""
    reader = _Reader(messages, key)
    for at, message in enumerate(messages):
        if message.role and not message.is_command and not message.is_hidden:
            reader.take(at, message)
    return reader.reading


class _Reader:
    """The reading so far, and which call of it a result belongs to."""

    def __init__(self, messages: Sequence[Message], key: str) -> None:
        self.reading = Reading(len(messages))
        self._key = key
        self._limit = max(_LEAST_TEXT, _ALL_TEXT // max(len(messages), 1))
        self._names: dict[str, str] = {}
        self._sent: dict[str, Delivery] = {}
        self._acts: dict[str, tuple[Turn, str]] = {}

    def take(self, at: int, message: Message) -> None:
        reading = self.reading
        date = _date_of(message)
        if date:
            reading.first_date = min(reading.first_date or date, date)
            reading.last_date = max(reading.last_date, date)
        if message.is_delivery:
            self._take_delivery(at, message, date)
        elif message.role == "user":
            self._take_user(at, message, date)
        elif message.role == "assistant":
            self._take_agent(at, message, date)
        elif message.role == "tool":
            self._take_result(at, message, date)
        else:
            reading.stray = self._text(message, _AGENT_TEXT) or reading.stray

    def _take_user(self, at: int, message: Message, date: str) -> None:
        turns = self.reading.turns
        text = _with_media(self._text(message, _USER_TEXT), _media_of(message))
        if not text or _COMMAND.fullmatch(text):
            self.reading.stray = text or self.reading.stray
            return
        source = clean_label(message.source or "automation") if message.is_automation else None
        if source is None:
            weight = _BY_AGENT if text.count("\n") >= PASTE else _BY_USER
            self.reading.facts.read(text, weight, at)
        previous = turns[-1] if turns else None
        if previous and not previous.answer and not previous.calls and previous.source == source:
            previous.said.append(text)
        else:
            turns.append(Turn(date, source, [text]))

    def _take_agent(self, at: int, message: Message, date: str) -> None:
        text = self._text(message, _AGENT_TEXT)
        calls = list(calls_of(message))
        if not text and not calls:
            return
        if not self.reading.turns:
            self.reading.turns.append(Turn(date))
        turn = self.reading.turns[-1]
        if text:
            turn.answer, turn.is_final = text, not message.makes_calls
            self.reading.facts.read(text, _BY_AGENT, at)
        for call in calls:
            self._take_call(at, call, turn, date)

    def _take_call(self, at: int, call: Call, turn: Turn, date: str) -> None:
        turn.calls += 1
        turn.is_final = False
        self.reading.tools.setdefault(call.name, ToolUse()).calls += 1
        self._names[call.call_id] = call.name
        if call.name == "message":
            self._take_message_call(call, turn, date)
        elif call.acts:
            turn.acts[call.label] = True
            self._acts[call.call_id] = (turn, call.label)
        kind = FactKind.CHANGED if call.writes else FactKind.FILES
        for path in call.paths:
            self.reading.facts.add(kind, path, _BY_CHANGE if call.writes else _BY_CALL, at)

    def _take_message_call(self, call: Call, turn: Turn, date: str) -> None:
        """Take a `message` call: a delivery if it names another conversation, else an answer."""
        values = call.parsed()
        channel, _, chat = self._key.partition(":")
        target = f"{values.get('channel') or channel}:{values.get('chat_id') or chat}"
        content = values.get("content") or values.get("text") or values.get("message")
        text = readable_text(content, min(_AGENT_TEXT, self._limit))
        text = _with_media(text, paths_in(values.get("media")))
        if not text:
            return
        if target == self._key:
            turn.answer, turn.is_final = text, True
            return
        delivery = Delivery(date, f"to {clean_label(target)}", text)
        self.reading.deliveries.append(delivery)
        self._sent[call.call_id] = delivery

    def _take_result(self, at: int, message: Message, date: str) -> None:
        text = self._text(message, _TOOL_TEXT)
        self.reading.facts.read(text, _BY_TOOL, at)
        self.reading.stray = text or self.reading.stray
        call_id = message.answers or ""
        name = message.data.get("name")
        name = tool_name(name) if name else self._names.get(call_id, "tool")
        use = self.reading.tools.setdefault(name, ToolUse())
        use.works = not looks_failed(text)
        if use.works:
            return
        use.failures += 1
        use.error, use.date = text, date
        if call_id in self._sent:
            self._sent[call_id].failed = True
        if call_id in self._acts:
            turn, label = self._acts[call_id]
            turn.acts[label] = False

    def _take_delivery(self, at: int, message: Message, date: str) -> None:
        text = _with_media(self._text(message, _AGENT_TEXT), _media_of(message))
        if not text:
            return
        self.reading.facts.read(text, _BY_AGENT, at)
        way = f"from {clean_label(message.source)}" if message.source else "sent unasked"
        self.reading.deliveries.append(Delivery(date, way, text))

    def _text(self, message: Message, limit: int) -> str:
        """Return the text of a message, without what the agent added to it by itself."""
        content = message.data.get("content")
        context = message.data.get("_runtime_context")
        suffix = context.get("suffix") if isinstance(context, dict) else None
        if isinstance(content, str) and isinstance(suffix, str):
            content = content.removesuffix(suffix)
        return readable_text(content, min(limit, self._limit))


def _date_of(message: Message) -> str:
    """Return the day of a message as its timestamp has it (`2026-02-27`), or nothing."""
    stamp = message.timestamp
    return stamp[:10] if isinstance(stamp, str) and _DATE.match(stamp) else ""


def _media_of(message: Message) -> list[str]:
    return [*paths_in(message.data.get("_media")), *paths_in(message.data.get("media"))]


def _with_media(text: str, paths: list[str]) -> str:
    return "\n".join([*([text] if text else []), *(f"[file: {path}]" for path in paths if path)])
