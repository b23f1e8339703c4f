"""What a model sees of a session: the compact entry, then the kept messages, in legal order.

Strict providers refuse a tool result without its call, a call without its results, and fields that
they do not know. The rules follow nanobot's own reading of its files (releases up to 0.3.5), with
the deviations that docs/format.md lists.
"""

from __future__ import annotations

import json
import unicodedata
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from session.message import Message, pair_calls, unanswered_calls

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PROVIDER_KEYS = (
    "role",
    "content",
    "tool_calls",
    "tool_call_id",
    "name",
    "reasoning_content",
    "thinking_blocks",
    "extra_content",
)
LABEL_LENGTH = 80
_ROLES = {"user", "assistant", "system"}

_Row = tuple[Message, dict[str, Any]]


class EntryForm(StrEnum):
    """Where the compact entry stands in a history."""

    MERGED = "merged"  # in front of the text of the first kept user message
    USER = "user"  # a user message of its own
    SYSTEM = "system"  # a system message of its own
    OMITTED = "omitted"  # nowhere: the agent puts it into its own system prompt


def build_history(
    messages: Sequence[Message],
    entry: str | None = None,
    *,
    form: EntryForm = EntryForm.MERGED,
    max_messages: int | None = None,
    max_tokens: int | None = None,
    count_tokens: Callable[[dict[str, Any]], int] | None = None,
) -> list[dict[str, Any]]:
    """Return what an agent sends: `entry` and the kept `messages`, oldest first.

    `messages` are those from the cursor on. The limits are applied from the newest message back and
    then moved to a user message, so that fewer may come; the last user turn always comes whole.
    `max_tokens` needs `count_tokens`, which counts one finished message.
    """
    rows = [(message, _render(message)) for message in _legal_rows(messages)]
    start = 0 if entry else _first_start(rows)
    rows = _newest(rows[start:], max_messages, max_tokens, count_tokens)
    history = [row for _, row in rows]
    if entry is None or form is EntryForm.OMITTED:
        return history
    if form is EntryForm.SYSTEM:
        return [{"role": "system", "content": entry}, *history]
    first = _first_start(rows) if form is EntryForm.MERGED else None
    user = None if first is None else _user_at(rows, first)
    if first != 0 or user is None:
        return [{"role": "user", "content": entry}, *history]
    history[user] = history[user] | {"content": _in_front(entry, history[user]["content"])}
    return history


def estimate_tokens(row: dict[str, Any]) -> int:
    """Estimate the tokens of a finished message, on the safe side for prose of any script.

    A token has about four bytes of English and three of Chinese in UTF-8.
    """
    return -(-len(json.dumps(row, ensure_ascii=False).encode("utf-8", "replace")) // 3)


def _legal_rows(messages: Sequence[Message]) -> list[Message]:
    """Return the messages that are sent, each call directly followed by all its results."""
    pairs = pair_calls(messages)
    unanswered = unanswered_calls(messages, pairs)
    results: dict[int, list[int]] = {}
    for result, caller in pairs.items():
        results.setdefault(caller, []).append(result)
    rows: list[Message] = []
    for index, message in enumerate(messages):
        if message.role not in _ROLES or message.is_command:
            continue  # results follow their call below; an orphan is left out alone
        if index in unanswered:
            message = _without_calls(message)  # noqa: PLW2901 - the same message, less its calls
        if not _says_something(message):
            continue
        rows.append(message)
        if index not in unanswered:
            rows.extend(messages[result] for result in results.get(index, ()))
    return rows


def _without_calls(message: Message) -> Message:
    kept = {key: value for key, value in message.data.items() if key != "tool_calls"}
    # Without its call the reasoning has nothing to justify; with text it stays.
    if not _text_of(message):
        kept.pop("reasoning_content", None)
        kept.pop("thinking_blocks", None)
    return Message(message.raw, kept)


def _says_something(message: Message) -> bool:
    if message.role != "assistant":
        return True
    data = message.data
    return bool(
        _text_of(message)
        or message.makes_calls
        or data.get("reasoning_content")
        or data.get("thinking_blocks")
        or (message.is_delivery and _media_of(data))
    )


def _text_of(message: Message) -> str:
    content = message.data.get("content")
    if isinstance(content, list):
        return "x" if content else ""
    return content.strip() if isinstance(content, str) else ""


def _render(message: Message) -> dict[str, Any]:
    """Return the message as a provider accepts it."""
    data = message.data
    row = {key: data[key] for key in PROVIDER_KEYS if key in data}
    if not message.makes_calls:
        row.pop("tool_calls", None)  # strict providers refuse an empty list
    content = row.setdefault("content", "")
    if content is None and not message.makes_calls:
        content = row["content"] = ""
    if content is not None and not isinstance(content, str | list):  # of no type that is accepted
        content = row["content"] = json.dumps(content, ensure_ascii=False)
    media = _media_of(data)
    if message.is_delivery:
        lines = [f"[media: {_one_line(path)}]" for path in media]
        prefix = f"[Sent from {clean_label(message.source)}] " if _is_foreign(message) else ""
        row["content"] = _around(prefix, content, lines)
    elif message.role == "user" and media:
        row["content"] = _around("", content, [f"[image: {_one_line(path)}]" for path in media])
    return row


def _is_foreign(message: Message) -> bool:
    return bool(message.data.get("_cross_channel")) and message.source is not None


def clean_label(source: str | None) -> str:
    """Return `source` as a label that can't end its own brackets.

    One line, no brackets, no control or formatting characters, at most 80 characters: a session key
    comes from outside and must not be able to forge a prefix.
    """
    kept = "".join(
        " " if char.isspace() else char
        for char in source or ""
        if char not in "[]" and (char.isspace() or unicodedata.category(char)[0] != "C")
    )
    return " ".join(kept.split())[:LABEL_LENGTH].rstrip() or "unknown"


def _one_line(path: str) -> str:
    return " ".join(path.split())


def _media_of(data: dict[str, Any]) -> list[str]:
    media = data.get("_media") or data.get("media")
    return (
        [path for path in media if isinstance(path, str) and path]
        if isinstance(media, list)
        else []
    )


def _around(prefix: str, content: object, lines: list[str]) -> object:
    if isinstance(content, list):
        before = [{"type": "text", "text": prefix}] if prefix else []
        after = [{"type": "text", "text": "\n".join(lines)}] if lines else []
        return [*before, *content, *after]
    text = content if isinstance(content, str) else ""
    return "\n".join(part for part in (f"{prefix}{text}", *lines) if part)


def _in_front(entry: str, content: object) -> object:
    if isinstance(content, list):
        return [{"type": "text", "text": entry}, *content]
    return f"{entry}\n\n{content}" if isinstance(content, str) and content else entry


def _first_start(rows: Sequence[_Row]) -> int:
    """Position of the first user message, or of the deliveries directly before it; else 0."""
    for index, (message, _) in enumerate(rows):
        if message.role == "user":
            while index and rows[index - 1][0].is_delivery:
                index -= 1  # noqa: PLW2901 - the reply belongs to what it replies to
            return index
    return 0


def _user_at(rows: Sequence[_Row], start: int) -> int | None:
    """Position of the user message that a history beginning at `start` begins with."""
    for index, (message, _) in enumerate(rows[start:], start):
        if message.role == "user":
            return index
        if not message.is_delivery:
            return None
    return None


def _newest(
    rows: list[_Row],
    max_messages: int | None,
    max_tokens: int | None,
    count_tokens: Callable[[dict[str, Any]], int] | None,
) -> list[_Row]:
    """Return the newest rows within the limits, beginning at a user turn."""
    if max_messages is None and max_tokens is None:
        return rows
    if max_tokens is not None and count_tokens is None:
        message = "max_tokens needs count_tokens"
        raise ValueError(message)
    start, used = len(rows), 0
    while start and (max_messages is None or len(rows) - start < max_messages):
        if max_tokens is not None and count_tokens is not None:
            used += count_tokens(rows[start - 1][1])
            if used > max_tokens:
                break
        start -= 1
    return rows[_begin_at(rows, start) :] if start else rows


def _begin_at(rows: Sequence[_Row], start: int) -> int:
    """Position from which a history may begin that should begin at `start`."""
    users = [index for index, (message, _) in enumerate(rows) if message.role == "user"]
    if users:
        begin = next((index for index in users if index >= start), users[-1])
        while begin > start and rows[begin - 1][0].is_delivery:
            begin -= 1  # the user replied to it
        return begin
    # The rest of a turn that was cut inside: its results follow their call.
    calls = [index for index, (message, _) in enumerate(rows) if message.role != "tool"]
    return next((index for index in calls if index >= start), calls[-1])
