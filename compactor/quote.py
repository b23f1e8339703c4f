"""What an entry quotes word for word, because no kept message says it.

A request whose turn had to be cut inside; and, where nothing is kept at all, the last exchange and
what was delivered and not answered. Tool output is left out, secrets are redacted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from compactor.entry import Heading, clean_text, render_sections
from compactor.redact import redact
from session.history import build_history
from session.message import Message, spoken_flags

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from compactor.model import Plan, PlanPolicy
    from compactor.tokens import TokenCounter

_JOINT = 4  # tokens that may come of joining the quotes to what stands ahead of them
_LEAST = 32  # tokens in which a quote still says something; where there are fewer, old ones go


@dataclass(frozen=True, slots=True)
class _Quote:
    """What a message says, `at` its position; `speaker` is empty where the heading tells."""

    at: int
    heading: Heading
    speaker: str
    text: str


def quote_sections(
    messages: Sequence[Message], plan: Plan, policy: PlanPolicy, counter: TokenCounter
) -> dict[Heading, str]:
    """Return the quoted sections of a plan's entry, together at most `quote_tokens` long."""
    quotes: list[_Quote] = []
    if not policy.keep_messages:
        quotes = _last_exchange(messages)
    elif plan.quoted is not None:
        quotes = [_request(messages, plan.quoted)]
    return _within(quotes, plan.quote_tokens, counter)


def request_tokens(messages: Sequence[Message], position: int, counter: TokenCounter) -> int:
    """Return what it takes to quote a user's message as the request that is being answered."""
    return _size(_sections([_request(messages, position)]), counter)


def _request(messages: Sequence[Message], position: int) -> _Quote:
    return _Quote(position, Heading.REQUEST, "", _text(messages[position]))


def _last_exchange(messages: Sequence[Message]) -> list[_Quote]:
    """The last thing that the user said, what was answered, and what was delivered since.

    What matters most comes first. Steps on the way to an answer are no answer.
    """
    flags = list(spoken_flags(messages))
    spoken = [i for i, flag in enumerate(flags) if flag]
    user = next((i for i in reversed(spoken) if messages[i].role == "user"), None)
    since = range(user or 0, len(messages))
    said = {i: _text(messages[i]) for i in since if flags[i] and messages[i].role == "assistant"}
    steps = [i for i, text in said.items() if text]
    answers = [i for i in steps if not messages[i].makes_calls] or steps[-1:]
    told = [_Quote(i, Heading.LAST_EXCHANGE, "Agent: ", said[i]) for i in reversed(answers)]
    delivered = [
        _Quote(i, Heading.DELIVERED, "", _text(messages[i]))
        for i in reversed(since)
        if messages[i].is_delivery
    ]
    if user is None:
        return [*told[:1], *delivered, *told[1:]]
    asked = _Quote(user, Heading.LAST_EXCHANGE, "User: ", _text(messages[user]))
    return [asked, *told[:1], *delivered, *told[1:]]


def _within(quotes: Sequence[_Quote], limit: int, counter: TokenCounter) -> dict[Heading, str]:
    """Trim the longest quotes until all of them fit; of too many, the last are left out."""
    told = [quote for quote in quotes if quote.text][: max(1, limit // _LEAST)]
    share = limit
    while True:
        trimmed = [_Quote(q.at, q.heading, q.speaker, counter.trim(q.text, share)) for q in told]
        sections = _sections(quote for quote in trimmed if quote.text)
        size = _size(sections, counter)
        if size <= limit:
            return sections
        share = min(share - 1, share * limit // size)


def _sections(quotes: Iterable[_Quote]) -> dict[Heading, str]:
    """Return quotes under their headings, in the order in which they were said."""
    sections: dict[Heading, str] = {}
    for quote in sorted(quotes, key=lambda quote: quote.at):
        before = sections.get(quote.heading)
        text = _mark(f"{quote.speaker}{quote.text}")
        sections[quote.heading] = text if before is None else f"{before}\n{text}"
    return sections


def _size(sections: dict[Heading, str], counter: TokenCounter) -> int:
    return counter.count(render_sections(sections)) + _JOINT if sections else 0


def _text(message: Message) -> str:
    """Return the text of a message as its reader saw it, prefix and media lines included."""
    data = {k: v for k, v in message.data.items() if k not in {"tool_calls", "thinking_blocks"}}
    rows = build_history([Message(message.raw, data)])
    content = rows[0]["content"] if rows else ""
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, dict))
        content = "\n".join(part for part in parts if isinstance(part, str))
    return redact(clean_text(content).strip()) if isinstance(content, str) else ""


def _mark(text: str) -> str:
    """Mark every line that says anything, so that none of them can pass for a heading."""
    return "\n".join(f"> {line}".rstrip() if line.strip() else "" for line in text.split("\n"))
