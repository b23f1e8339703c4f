"""The words that a model is sent: instructions, and the transcript as material between marks."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from itertools import accumulate
from typing import TYPE_CHECKING

from compactor.arguments import shorten_arguments
from compactor.clusters import cut_before
from compactor.entry import FRAME, QUOTED, clean_text
from compactor.readable import one_line, readable_text
from compactor.redact import redact
from compactor.thinking import drop_thoughts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compactor.summarize import SummaryRequest
    from session.message import Message

VERSION = "handoff-2"
_WORDS_PER_TOKEN = 0.4  # of Russian 0.5; the rest is for what may have to be appended
_FULL = 12_000  # characters of one message at most, before anything has to be made shorter
_NAME = 120  # characters of a name, a time or a path
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ][\d:.+Z-]{1,26}")
_ROLES = {"assistant": "agent", "user": "user", "tool": "tool", "system": "system"}
_INDENT = "  "  # of whatever a message says, so that no line of it can pass for one of ours
_SUBAGENT = "subagent_result"  # as nanobot marks it
_CALLS_SHARE = 4  # all calls and attachments of a message get this many times that
_TOOL_SHARE = 6  # tool output gets this part of what a message gets
_QUOTED = re.compile(rf"(?m)^## ({'|'.join(map(re.escape, QUOTED))})[ \t\r]*$")


def build_messages(
    request: SummaryRequest, *, mark: str, limit: int = _FULL, kept_limit: int = _FULL
) -> list[dict[str, str]]:
    """Return the system and the user message of a request.

    `mark` is random, so that nothing in the transcript can pass for the end of a part. No message
    takes more than `limit` characters (`kept_limit`, where it stays), tool output a sixth of that.
    """
    template = _read_template()
    words = str(int(request.max_tokens * _WORDS_PER_TOKEN))
    system = template.replace("{mark}", mark).replace("{words}", words)
    parts = [
        ("PREVIOUS NOTES", render_previous(request.previous or "")),
        ("OLDER MESSAGES", render_messages(request.covered, limit)),
        (
            "LEFT OUT OF YOUR LAST NOTES",
            "\n".join(one_line(redact(name)) for name in request.missing),
        ),
        ("MESSAGES THAT STAY", render_messages(request.kept, kept_limit)),
    ]
    blocks = [
        f"===== {name} {mark} =====\n{text.replace(mark, '')}\n===== END {mark} ====="
        for name, text in parts
        if text.strip()
    ]
    if request.complaint:
        blocks.append(f"Your last answer was not usable: {request.complaint}.")
    if request.goes_on:
        blocks.append("The conversation goes on after these messages; you get the rest later.")
    blocks.append("Write the notes now.")
    return [
        {"role": "system", "content": system},
        {"role": "user", "content": clean_text("\n\n".join(blocks))},
    ]


def render_previous(entry: str) -> str:
    """Return the entry before as material: without its frame, its quotes under labels.

    As headings they would invite the model to write them again; they are quoted anew, not by it.
    """
    return redact(_QUOTED.sub(r"[quoted then: \1]", entry.removeprefix(FRAME).strip()))


@cache
def _read_template() -> str:
    return files("compactor").joinpath("prompts", f"{VERSION}.txt").read_text(encoding="utf-8")


def render_messages(messages: Sequence[Message], limit: int) -> str:
    """Return messages as text: who, when and where from, without reasoning, images or secrets.

    What a message says is indented. A line that is not is ours: a label, a call, an attachment.
    """
    return "\n".join(filter(None, (_render(message, limit) for message in messages)))


def _render(message: Message, limit: int) -> str:
    if not message.role or message.is_command or message.is_hidden:
        return ""
    share = limit // _TOOL_SHARE if message.role == "tool" else limit
    content = message.data.get("content")
    if message.role == "assistant" and isinstance(content, str):
        content = drop_thoughts(content)
    text = readable_text(content, share)
    said = [_INDENT + _indented(text)] if text else []
    lines = [f"calls {call}" for call in _calls(message, limit // _TOOL_SHARE)]
    media = message.data.get("media") or message.data.get("_media")
    if isinstance(media, list):
        lines += [
            f"[attached: {_plain(readable_text(path, _NAME))}]"
            for path in media
            if isinstance(path, str)
        ]
    told = [*said, *_first_of(lines, limit * _CALLS_SHARE)]
    return "\n".join([f"[{_label(message)}]", *told]) if told else ""


def _first_of(lines: Sequence[str], limit: int) -> list[str]:
    """Return the first lines, in `limit` characters, and how many more there are."""
    fitting = sum(total <= limit for total in accumulate(map(len, lines)))
    left = len(lines) - fitting
    return [*lines[:fitting], *([f"[and {left} more]"] if left else [])]


def _indented(text: str) -> str:
    """Return `text` with every line but the first indented."""
    return text.replace("\n", f"\n{_INDENT}")


def _label(message: Message) -> str:
    """Return who says it, when and where it is from; what somebody chose is in quotes."""
    at, source = message.timestamp, message.source
    parts = [
        " ".join(filter(None, (_ROLES.get(message.role) or _quoted(message.role), _name(message)))),
        at if isinstance(at, str) and _TIME.fullmatch(at) else _quoted(at),
        f"from {_quoted(source)}" if source else "",
        "begun by a timer or a trigger" if message.is_automation else "",
        "result of a subagent" if message.data.get("injected_event") == _SUBAGENT else "",
        "sent on the agent's own account" if message.is_delivery and not source else "",
    ]
    return ", ".join(filter(None, parts))


def _name(message: Message) -> str:
    """Return the tool's or the speaker's name; the id too, since two people may share a name."""
    data = message.data
    names = [data.get("name")] if message.role in {"tool", "user"} else []
    names += [data.get("sender_name"), data.get("sender_id")]
    first, *others = dict.fromkeys(filter(None, map(_quoted, names))) or [""]
    return f"{first} ({', '.join(others)})" if others else first


def _quoted(name: object) -> str:
    """Return a name in quotes that nothing within it can end; empty where there is none."""
    text = str(name) if isinstance(name, int) and not isinstance(name, bool) else name
    plain = _plain(text).replace('"', "'") if isinstance(text, str) else ""
    return f'"{plain}"' if plain else ""


def _plain(text: str) -> str:
    plain = " ".join(redact(text).replace("[", "(").replace("]", ")").split())
    return plain[: cut_before(plain, _NAME)]


def _calls(message: Message, limit: int) -> list[str]:
    calls = message.data.get("tool_calls")
    found: list[str] = []
    for call in calls if isinstance(calls, list) else []:
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            told = _indented(shorten_arguments(function.get("arguments"), limit))
            found.append(f"{_plain(str(function.get('name')))}({told})")
    return found
