"""Where a message came from: the marks of a delivery, and the deliveries that a turn made.

An agent that writes to somebody from another conversation leaves the proof in its own one: a call
of the `message` tool, and a result that confirms it. From these two a row is made for the session
in which the answer will arrive. The marks are ours, but for `_channel_delivery`, by which nanobot
knows a delivery.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from session.message import Message, pair_calls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

TOOL = "message"
DELIVERY_ID_KEY = "_delivery_id"
# As Slack's own answers do, as nanobot ends a call that it swallowed ("Message acknowledged for
# telegram:42 (not delivered)"), and as people put it.
_SAYS_NO = re.compile(
    r"""["'](?:ok|success|sent)["']\s*:\s*(?:false|0)\b|["']status["']\s*:\s*["'](?:error|fail)"""
    r"|not (?:be )?(?:delivered|sent)|failed to (?:send|deliver)|delivery failed|\bhttp [45]\d\d\b"
)
_FIRST_WORD = re.compile(r"[^\W\d_]+")
_ERROR_WORD = re.compile(
    r".*error|.*exception|abort(ed)?|bad|cancell?ed|cannot|couldn?|denied|errno|errors"
    r"|fail(ed|ure)?|false|forbidden|internal|invalid|missing|no|not|null|refused|rejected"
    r"|timed|timeout|traceback|unable|unauthorized|unavailable|unknown|warning"
)


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message that went out. `id` makes it one and the same however often it is recorded.

    `source` is the key of the session or automation that sent it; None for the session's own.
    `media` are paths or addresses. `id` is empty where nothing tells it from another.
    """

    content: str
    media: tuple[str, ...] = ()
    source: str | None = None
    id: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether it says nothing at all."""
        return not self.content.strip() and not self.media

    def fields(self, key: str, recipient: str | None) -> dict[str, Any]:
        """Return the marks of its row in the session `key`, without role, content and time."""
        marks: dict[str, Any] = {"_channel_delivery": True}
        if self.source and self.source != key:
            marks |= {"_cross_channel": True, "_source_session": self.source}
        if self.media:
            marks["_media"] = list(self.media)
        if self.id:
            marks[DELIVERY_ID_KEY] = self.id
        if recipient:
            marks["_recipient"] = recipient
        return marks

    def is_in(self, messages: Iterable[dict[str, Any]]) -> bool:
        """Whether one of the messages is its row."""
        return bool(self.id) and any(row.get(DELIVERY_ID_KEY) == self.id for row in messages)


@dataclass(frozen=True, slots=True)
class ToolSend:
    """A confirmed call of the `message` tool.

    `channel` and `chat` are empty where the call left them out and so meant its own conversation.
    `arguments` are all that the call had, `result` the text that confirmed it: a channel's own id
    of the message may stand there.
    """

    call_id: str
    channel: str
    chat: str
    content: str
    media: tuple[str, ...]
    arguments: dict[str, Any]
    result: str

    def delivery_from(self, source: str, turn: str = "") -> Delivery:
        """Return it as a delivery from the session `source`; see `digest_call` for its id."""
        said = [self.channel, self.chat, self.content, *self.media]
        return Delivery(
            self.content, self.media, source, digest_call(source, turn, self.call_id, *said)
        )


def digest_call(*parts: str) -> str:
    """Return a stable id made of `parts`: 32 hexadecimal digits.

    A call's id alone would not do, since some servers begin with `call_1` in every turn.
    """
    # As JSON no part runs into another, and a lone surrogate is an escape.
    return sha256(json.dumps(parts).encode()).hexdigest()[:32]


def confirms_delivery(result: str) -> bool:
    """Whether a tool's result says that the message is out.

    nanobot's begins with `Message sent to`. Anything is taken for a confirmation that is not empty,
    does not begin with an error word (`Error`, `TimeoutError`), and says nowhere that it was not
    delivered (`"ok": false`, `(not delivered)`, `failed to send`, `HTTP 500`).
    """
    text = result.casefold().strip()
    if not text or _SAYS_NO.search(text):
        return False
    found = _FIRST_WORD.search(text)
    return found is None or not _ERROR_WORD.fullmatch(found.group())


def find_tool_sends(
    messages: Sequence[dict[str, Any]], confirms: Callable[[str], bool] = confirms_delivery
) -> Iterator[ToolSend]:
    """Yield the deliveries that assistant rows among `messages` made, in their order.

    A call counts if it is well-formed, says something, and its result is among the messages and
    confirmed by `confirms`. All else is passed over in silence: it delivered nothing.
    """
    rows = [Message(b"", row) for row in messages if isinstance(row, dict)]
    results: dict[tuple[int, str], str] = {}
    for index, caller in pair_calls(rows).items():
        results[caller, rows[index].answers or ""] = _text_of(rows[index].data.get("content"))
    for index, row in enumerate(rows):
        calls = row.data.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            # Of two calls with one id in one batch, the result can confirm only one.
            call_id = call.get("id") if isinstance(call, dict) else None
            result = results.pop((index, call_id), "") if isinstance(call_id, str) else ""
            send = _read_call(call, result) if result and confirms(result) else None
            if send is not None:
                yield send


def _read_call(call: dict[str, Any], result: str) -> ToolSend | None:
    function = call.get("function")
    if not isinstance(function, dict) or function.get("name") != TOOL:
        return None
    arguments = _read_arguments(function.get("arguments"))
    if arguments is None:
        return None
    media = arguments.get("media")
    if media is not None and not isinstance(media, list):
        return None
    channel, chat = _read_text(arguments.get("channel")), _read_id(arguments.get("chat_id"))
    content = _read_text(arguments.get("content"))
    paths = [_read_text(path) for path in media or ()]
    if channel is None or chat is None or content is None or None in paths:
        return None
    named = tuple(path for path in paths if path)
    if not content.strip() and not named:
        return None
    return ToolSend(call["id"], channel.strip(), chat.strip(), content, named, arguments, result)


def _read_text(value: object) -> str | None:
    """Return a text, empty where there is none; None where it is something else."""
    return "" if value is None else value if isinstance(value, str) else None


def _read_id(value: object) -> str | None:
    # Telegram's ids are numbers, and nanobot's tool takes them so.
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if is_number else _read_text(value)


def _read_arguments(arguments: object) -> dict[str, Any] | None:
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return None
    return arguments if isinstance(arguments, dict) else None


def _text_of(content: object) -> str:
    """Return the text of a result, which some agents keep as a list of blocks."""
    if isinstance(content, list):
        blocks = [block.get("text") for block in content if isinstance(block, dict)]
        return "\n".join(text for text in blocks if isinstance(text, str))
    return content if isinstance(content, str) else ""
