"""The words that a model is sent: instructions, and the transcript as material between marks."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from compactor.entry import clean_text
from compactor.readable import readable_text
from compactor.redact import redact
from compactor.thinking import drop_thoughts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compactor.summarize import SummaryRequest
    from session.message import Message

VERSION = "handoff-1"
_WORDS_PER_TOKEN = 0.6
_FULL = 12_000  # characters of one message at most, before anything has to be made shorter
_NAME = 120  # characters of a name, a time or a path
_HARMLESS = re.compile(r"[a-z]{1,12}|\d{4}-\d\d-\d\dT[\d:.+Z-]{1,26}")  # a role, a time
_TOOL_SHARE = 6  # tool output gets this part of what a message gets


def build_messages(
    request: SummaryRequest, *, mark: str, limit: int = _FULL
) -> list[dict[str, str]]:
    """Return the system and the user message of a request.

    `mark` is random, so that nothing in the transcript can pass for the end of a part. No message
    takes more than `limit` characters, tool output a sixth of that.
    """
    template = _read_template()
    words = str(int(request.max_tokens * _WORDS_PER_TOKEN))
    system = template.replace("{mark}", mark).replace("{words}", words)
    parts = [
        ("PREVIOUS NOTES", redact(request.previous or "")),
        ("OLDER MESSAGES", render_messages(request.covered, limit)),
        ("MESSAGES THAT STAY", render_messages(request.kept, limit)),
    ]
    blocks = [
        f"===== {name} {mark} =====\n{text.replace(mark, '')}\n===== END {mark} ====="
        for name, text in parts
        if text.strip()
    ]
    if request.complaint:
        blocks.append(f"Your last answer was not usable: {request.complaint}.")
    blocks.append("Write the notes now.")
    return [
        {"role": "system", "content": system},
        {"role": "user", "content": clean_text("\n\n".join(blocks))},
    ]


@cache
def _read_template() -> str:
    return files("compactor").joinpath("prompts", f"{VERSION}.txt").read_text(encoding="utf-8")


def render_messages(messages: Sequence[Message], limit: int) -> str:
    """Return messages as text: who, when and where from, without reasoning, images or secrets."""
    return "\n".join(filter(None, (_render(message, limit) for message in messages)))


def _render(message: Message, limit: int) -> str:
    if not message.role or message.is_command or message.is_hidden:
        return ""
    share = limit // _TOOL_SHARE if message.role == "tool" else limit
    content = message.data.get("content")
    if message.role == "assistant" and isinstance(content, str):
        content = drop_thoughts(content)
    lines = [readable_text(content, share)]
    lines += [f"calls {call}" for call in _calls(message, limit // _TOOL_SHARE)]
    media = message.data.get("media") or message.data.get("_media")
    if isinstance(media, list):
        lines += [
            f"[attached: {_plain(readable_text(path, _NAME))}]"
            for path in media
            if isinstance(path, str)
        ]
    text = "\n".join(filter(None, lines))
    return f"[{_label(message)}]\n{text}" if text else ""


def _label(message: Message) -> str:
    who = {"assistant": "agent"}.get(message.role, message.role)
    sender = message.data.get("sender_name") or message.data.get("sender_id")
    parts = [
        who,
        message.data.get("name") if message.role in {"tool", "user"} else None,
        sender,
        message.timestamp,
        f"from {message.source}" if message.source else None,
        "begun by a timer" if message.is_automation else None,
        "sent on its own account" if message.is_delivery and not message.source else None,
    ]
    return ", ".join(_plain(part) for part in parts if isinstance(part, str) and part)


def _plain(text: str) -> str:
    if _HARMLESS.fullmatch(text):
        return text
    return " ".join(redact(text).replace("[", "(").replace("]", ")").split())[:_NAME]


def _calls(message: Message, limit: int) -> list[str]:
    calls = message.data.get("tool_calls")
    found: list[str] = []
    for call in calls if isinstance(calls, list) else []:
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            arguments = function.get("arguments")
            text = (
                arguments
                if isinstance(arguments, str)
                else json.dumps(arguments, ensure_ascii=False)
            )
            found.append(f"{_plain(str(function.get('name')))}({readable_text(text, limit)})")
    return found
