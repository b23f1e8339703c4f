"""What an entry quotes word for word, because no kept message says it.

A request whose turn had to be cut inside; and, where nothing is kept at all, the last exchange and
what was delivered and not answered. Tool output is left out, secrets are redacted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compactor.entry import Heading, clean_text
from compactor.redact import redact
from session.history import build_history
from session.message import spoken_flags

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compactor.model import Plan, PlanPolicy
    from compactor.tokens import TokenCounter
    from session.message import Message

_MARGIN = 12  # tokens that headings and the joints between quotes may take


def quote_sections(
    messages: Sequence[Message], plan: Plan, policy: PlanPolicy, counter: TokenCounter
) -> dict[Heading, str]:
    """Return the quoted sections of a plan's entry, together at most `keep_tokens` long."""
    sections: dict[Heading, list[str]] = {}
    if plan.quoted is not None:
        sections[Heading.REQUEST] = [_text(messages[plan.quoted])]
    if not policy.keep_messages:
        user, answers, delivered = _last_exchange(messages)
        sections[Heading.LAST_EXCHANGE] = [
            *(f"User: {text}" for text in user),
            *(f"Agent: {text}" for text in answers),
        ]
        sections[Heading.DELIVERED] = delivered
    used = {heading: texts for heading, texts in sections.items() if any(texts)}
    if not used:
        return {}
    return _within(used, policy.keep_tokens, counter)


def _within(
    sections: dict[Heading, list[str]], limit: int, counter: TokenCounter
) -> dict[Heading, str]:
    """Trim the longest texts until all of them together fit."""
    count = sum(len(texts) for texts in sections.values())
    share = limit
    while True:
        quoted = {
            heading: "\n".join(_quote(counter.trim(text, share)) for text in texts if text)
            for heading, texts in sections.items()
        }
        total = sum(counter.count(text) + _MARGIN for text in quoted.values())
        if total <= limit or share <= 1:
            return quoted if total <= limit else {}
        share = min(share * limit // (total + 1), share - 1, limit // count * 4)


def _last_exchange(messages: Sequence[Message]) -> tuple[list[str], list[str], list[str]]:
    """The last thing that the user said, what was answered, and what was delivered since."""
    flags = list(spoken_flags(messages))
    spoken_users = [i for i, m in enumerate(messages) if m.role == "user" and flags[i]]
    start = spoken_users[-1] if spoken_users else 0
    user = [_text(messages[start])] if spoken_users else []
    answers = [
        _text(message)
        for message, flag in zip(messages[start:], flags[start:], strict=True)
        if flag and message.role == "assistant"
    ]
    delivered = [_text(message) for message in messages[start:] if message.is_delivery]
    return user, [text for text in answers if text], [text for text in delivered if text]


def _text(message: Message) -> str:
    """Return the text of a message as its reader saw it, prefix and media lines included."""
    rows = build_history([_without_calls(message)])
    content = rows[0]["content"] if rows else ""
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, dict))
        content = "\n".join(part for part in parts if isinstance(part, str))
    return redact(clean_text(content).strip()) if isinstance(content, str) else ""


def _without_calls(message: Message) -> Message:
    data = {k: v for k, v in message.data.items() if k not in {"tool_calls", "thinking_blocks"}}
    return type(message)(message.raw, data)


def _quote(text: str) -> str:
    """Mark every line, so that none of them can pass for a heading."""
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))
