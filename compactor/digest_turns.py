"""Reading a transcript into what a hand-off is made of: turns, tools, deliveries, facts.

One pass, in which each text is cut to a length that shrinks as messages grow in number, so that
the whole takes a few million characters at most.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from compactor.digest_facts import FactBook, FactKind
from compactor.digest_phrases import looks_failed
from compactor.digest_text import clip, one_line, readable_text
from session.history import clean_label

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from session.message import Message

_ALL_TEXT = 6_000_000  # characters that are read of a speaker's messages in sum, at least roughly
_USER_TEXT, _AGENT_TEXT, _TOOL_TEXT = 6_000, 3_000, 1_500  # characters of one message, at most
_LEAST_TEXT = 300
_ARGUMENTS = 3_000
_MESSAGE_ARGUMENTS = 100_000
_LABEL = 60
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_PATH_ARGUMENT = re.compile(
    r'"(?:path|file_path|filepath|file|filename|notebook_path|target_file)"\s*:\s*"([^"]{1,300})"'
)
_SHORT_ARGUMENT = re.compile(r':\s*"([^"\\]{1,60})"')
_WRITES = re.compile(r"write|edit|create|patch|save|replace|append|delete|remove|move|rename")
_ACTS = re.compile(
    r"book|cancel|update|send|transfer|modify|add|set|post|schedule|order|pay|buy|commit|publish"
    r"|submit|upload|deploy|message"
)
_COMMAND = re.compile(r"/[A-Za-z_-]*")
PASTE = 12  # lines: a longer text was pasted, and what it names the user didn't say

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
    """All that was read; `length` is the number of messages, `dates` all that are known."""

    length: int
    turns: list[Turn] = field(default_factory=list)
    deliveries: list[Delivery] = field(default_factory=list)
    tools: dict[str, ToolUse] = field(default_factory=dict)
    facts: FactBook = field(default_factory=FactBook)
    first_date: str = ""
    last_date: str = ""
    stray: str = ""  # the last text that belongs to nobody: used where nothing else was said


def read_transcript(messages: Sequence[Message], key: str) -> Reading:
    """Return what `messages` of the session `key` say; commands and hidden rows say nothing."""
    reader = _Reader(messages, key)
    for at, message in enumerate(messages):
        if message.role and not message.is_command and not message.is_hidden:
            reader.take(at, message)
    return reader.reading


class _Reader:
    def __init__(self, messages: Sequence[Message], key: str) -> None:
        self.reading = Reading(len(messages))
        self._key = key
        self._limit = max(_LEAST_TEXT, _ALL_TEXT // max(len(messages), 1))
        self._names: dict[str, str] = {}
        self._sent: dict[str, Delivery] = {}
        self._acts: dict[str, tuple[Turn, str]] = {}

    def take(self, at: int, message: Message) -> None:
        reading = self.reading
        date = date_of(message)
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
        text = self._text(message, _USER_TEXT)
        media = _media_of(message)
        text = "\n".join(part for part in (text, *(f"[file: {path}]" for path in media)) if part)
        if not text or _COMMAND.fullmatch(text):
            self.reading.stray = text or self.reading.stray
            return
        source = None
        if message.is_automation:
            source = clean_label(message.source or "automation")
        elif not turns or turns[-1].source is None:
            weight = _BY_AGENT if text.count("\n") > PASTE else _BY_USER
            self.reading.facts.read(text, weight, at)
        previous = turns[-1] if turns else None
        if previous and not previous.answer and not previous.calls and previous.source == source:
            previous.said.append(text)
            return
        turns.append(Turn(date, source, [text]))

    def _take_agent(self, at: int, message: Message, date: str) -> None:
        turn = self._turn(date)
        text = self._text(message, _AGENT_TEXT)
        if text:
            turn.answer, turn.is_final = text, not message.makes_calls
            self.reading.facts.read(text, _BY_AGENT, at)
        for name, call_id, arguments in _calls_of(message):
            turn.calls += 1
            self.reading.tools.setdefault(name, ToolUse()).calls += 1
            if call_id:
                self._names[call_id] = name
            writes = bool(_WRITES.search(name.lower()))
            if writes or _ACTS.search(name.lower()):
                label = _act_label(name, arguments[:_ARGUMENTS])
                turn.acts[label] = True
                self._acts[call_id] = (turn, label)
            kind = FactKind.CHANGED if writes else FactKind.FILES
            weight = _BY_CHANGE if kind is FactKind.CHANGED else _BY_CALL
            for match in _PATH_ARGUMENT.finditer(arguments[:_ARGUMENTS]):
                path = one_line(readable_text(match[1].replace("\\\\", "\\"), 300))
                if path and ", " not in path:
                    self.reading.facts.add(kind, path, weight, at)
            if name == "message":
                self._take_message_call(arguments, call_id, date, turn)

    def _take_message_call(self, arguments: str, call_id: str, date: str, turn: Turn) -> None:
        """A `message` call: a delivery if it names another conversation, an answer if not."""
        values = _parsed(arguments)
        own_channel, _, own_chat = self._key.partition(":")
        channel, chat = (
            values.get(name) or own
            for name, own in (("channel", own_channel), ("chat_id", own_chat))
        )
        content = values.get("content") or values.get("text") or values.get("message")
        text = readable_text(content, min(_AGENT_TEXT, self._limit))
        media = _paths(values.get("media"))
        text = " ".join([text, *(f"[file: {path}]" for path in media)]).strip()
        target = f"{channel}:{chat}"
        if not text:
            return
        if target == self._key:
            turn.answer, turn.is_final = text, True
            return
        delivery = Delivery(date, f"to {clean_label(target)}", text)
        self.reading.deliveries.append(delivery)
        if call_id:
            self._sent[call_id] = delivery

    def _take_result(self, at: int, message: Message, date: str) -> None:
        text = self._text(message, _TOOL_TEXT)
        call_id = message.answers or ""
        name = _tool_name(message.data.get("name")) if message.data.get("name") else ""
        name = name or self._names.get(call_id, "tool")
        self.reading.facts.read(text, _BY_TOOL, at)
        self.reading.stray = text or self.reading.stray
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
        text = self._text(message, _AGENT_TEXT)
        text = " ".join([text, *(f"[file: {path}]" for path in _media_of(message))]).strip()
        if not text:
            return
        self.reading.facts.read(text, _BY_AGENT, at)
        way = f"from {clean_label(message.source)}" if message.source else "sent unasked"
        self.reading.deliveries.append(Delivery(date, way, text))

    def _turn(self, date: str) -> Turn:
        if not self.reading.turns:
            self.reading.turns.append(Turn(date))
        return self.reading.turns[-1]

    def _text(self, message: Message, limit: int) -> str:
        return message_text(message, min(limit, self._limit))


def message_text(message: Message, limit: int) -> str:
    """Return the readable text of a message, without what the agent added to it by itself."""
    content = message.data.get("content")
    context = message.data.get("_runtime_context")
    suffix = context.get("suffix") if isinstance(context, dict) else None
    if isinstance(content, str) and isinstance(suffix, str):
        content = content.removesuffix(suffix)
    return readable_text(content, limit)


def date_of(message: Message) -> str:
    """Return the day of a message as its timestamp has it (`2026-02-27`), or nothing."""
    stamp = message.timestamp
    return stamp[:10] if isinstance(stamp, str) and _DATE.match(stamp) else ""


def _calls_of(message: Message) -> Iterator[tuple[str, str, str]]:
    """Yield the name, the id and the arguments, as JSON text, of each tool call."""
    calls = message.data.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        if not isinstance(call, dict):
            continue
        function = call.get("function")
        function = function if isinstance(function, dict) else call
        call_id = call.get("id")
        yield (
            _tool_name(function.get("name")),
            call_id if isinstance(call_id, str) else "",
            _as_json(function.get("arguments")),
        )


def _as_json(arguments: object) -> str:
    if isinstance(arguments, str):
        return arguments
    try:
        return json.dumps(arguments, ensure_ascii=False) if arguments else ""
    except RecursionError:
        return ""


def _act_label(name: str, arguments: str) -> str:
    """Return a call with the first short value that it was given: mostly what it was done to."""
    match = _SHORT_ARGUMENT.search(arguments)
    value = one_line(readable_text(match[1], _LABEL)) if match else ""
    return f"{name}({value})" if value else name


def _tool_name(name: object) -> str:
    cleaned = one_line(readable_text(name, _LABEL)).replace(",", " ") if name else ""
    return clip(cleaned, _LABEL) or "tool"


def _parsed(arguments: str) -> dict[str, Any]:
    if len(arguments) > _MESSAGE_ARGUMENTS:
        return {}
    try:
        values = json.loads(arguments)
    except (ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}


def _media_of(message: Message) -> list[str]:
    return [*_paths(message.data.get("_media")), *_paths(message.data.get("media"))]


def _paths(value: object) -> list[str]:
    paths: Iterable[object] = value if isinstance(value, list) else ()
    return [one_line(readable_text(path, 300)) for path in paths if isinstance(path, str) and path]
