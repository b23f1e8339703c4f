"""From a plan to an entry: what an engine is asked, and what of its answer is accepted."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from compactor.entry import (
    clean_text,
    demote_headings,
    frame,
    parse_sections,
    render_sections,
    tidy_headings,
)
from compactor.errors import FailureKind, SummaryError
from compactor.quote import quote_sections
from compactor.refusals import find_fault
from session.projection import digest_content, digest_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compactor.model import Plan, PlanPolicy
    from compactor.tokens import TokenCounter
    from session.message import Message
    from session.store import StoredSession


_SMALLER = 0.6  # share of the window
_FENCE = "```"
_FIRST_HEADING = re.compile(r"(?m)^## ")


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """What is to be summarized, and in how many tokens.

    `previous` is the entry that stands now, its frame included; `covered` are the messages that it
    doesn't cover yet, `kept` those that the agent's model will see as they are. `max_tokens` is for
    the sections alone, without the frame. `goes_on` says that this is a part of a longer history,
    and more of it follows. With `is_measured` it was found too long, and cut to what fits; `share`
    is how much of the model's window may be used.

    Of a second question `complaint` is what was wrong with the first answer, and `missing` are the
    identifiers that it left out.
    """

    key: str
    previous: str | None
    covered: tuple[Message, ...]
    kept: tuple[Message, ...]
    max_tokens: int
    goes_on: bool = False
    is_measured: bool = False
    share: float = 1.0
    complaint: str | None = None
    missing: tuple[str, ...] = ()

    @property
    def is_second(self) -> bool:
        """Whether this was asked before, and the answer was not good enough."""
        return self.complaint is not None or bool(self.missing)


@dataclass(frozen=True, slots=True)
class Summary:
    """What an engine wrote: the sections of an entry, under the headings of `entry.Heading`.

    `calls` is how many calls it took, `usage` the tokens of the last (see `journal.LedgerEntry`).
    """

    text: str
    usage: Mapping[str, int] = field(default_factory=dict)
    calls: int = 0


Question = Callable[[], Summary]
"""Writes the entry's sections; raises `SummaryError` where nothing usable came of it."""


class Summarizer(Protocol):
    """An engine that writes entries. It may be called from several threads at once."""

    @property
    def name(self) -> str:
        """The engine as the configuration names it."""

    @property
    def model(self) -> str | None:
        """The model that it asks, if it asks one."""

    @property
    def prompt(self) -> str:
        """The version of its instructions: another one is another answer."""

    def measure(self, request: SummaryRequest) -> int:
        """Return how many of the covered messages can go into one question, at least one.

        Asked where all of them turned out to be too long (`context_overflow`); the rest is asked
        about with the answer as what is `previous`.
        """

    def prepare(self, request: SummaryRequest) -> Question:
        """Do what can be done ahead of asking; raises `SummaryError` where that can't be."""

    def close(self) -> None:
        """Let go of what the engine holds open."""


def build_request(
    session: StoredSession, plan: Plan, policy: PlanPolicy, counter: TokenCounter
) -> SummaryRequest:
    """Return what to ask an engine for a plan."""
    return SummaryRequest(
        key=session.ref.key,
        previous=session.projection.entry,
        covered=session.messages[plan.start : plan.covers],
        kept=session.messages[plan.covers :],
        max_tokens=policy.entry_tokens - counter.count(frame("")) - 1,
    )


def fingerprint_of(request: SummaryRequest, engine: Summarizer) -> str:
    """Digest the question: the session, what is covered, the entry before it, who is asked, how.

    The kept messages are not in it: an answer that was paid for stays good while they grow.
    """
    parts = [
        request.key,
        digest_content(request.covered),
        request.previous,
        engine.name,
        engine.model,
        engine.prompt,
        request.max_tokens,
    ]
    if request.goes_on:
        parts.append("part")
    return digest_text(json.dumps(parts))


def shorten(request: SummaryRequest, error: SummaryError) -> SummaryRequest | None:
    """Return what to ask in place of what was too long; None where that was not it, or is all.

    The engine cuts a long history into parts; where the endpoint counts more tokens than we do,
    the parts are made smaller, once.
    """
    if error.kind is not FailureKind.CONTEXT_OVERFLOW or request.share < 1:
        return None
    if error.calls:
        return replace(request, is_measured=True, share=_SMALLER)
    return None if request.is_measured else replace(request, is_measured=True)


def accept_summary(
    summary: str, request: SummaryRequest, counter: TokenCounter, *, leniently: bool = False
) -> str:
    """Return the cleaned sections of a summary; raises `SummaryError` where it breaks a rule.

    Of a second answer less is asked (`leniently`): what can be a fair way to write was told once.
    """
    text = clean_text(summary).strip()
    if not text:
        raise SummaryError(FailureKind.BAD_SUMMARY, "there is no text")
    text = _notes_alone(tidy_headings(text))
    fault = find_fault(text, leniently=leniently)
    if fault is not None:
        raise SummaryError(FailureKind.BAD_SUMMARY, fault)
    text = render_sections(parse_sections(demote_headings(text)))
    if counter.exceeds(text, request.max_tokens):
        raise SummaryError(
            FailureKind.BAD_SUMMARY, f"it is longer than {request.max_tokens} tokens"
        )
    return text


def _notes_alone(text: str) -> str:
    """Return notes without what models put around them: a greeting ahead, a fence."""
    first = _FIRST_HEADING.search(text)
    if first is None:
        return text
    ahead, text = text[: first.start()], text[first.start() :]
    if ahead.count(_FENCE) % 2:  # it was opened ahead of them; what is behind its end is no notes
        return text[: text.rfind(f"\n{_FENCE}")] if f"\n{_FENCE}" in text else text
    return text.removesuffix(_FENCE).rstrip() if text.count(_FENCE) % 2 else text


def close_entry(
    body: str,
    session: StoredSession,
    plan: Plan,
    policy: PlanPolicy,
    counter: TokenCounter,
) -> str:
    """Return the entry as it is stored: framed, and with what must be quoted word for word.

    Quoted are the request of a turn that was cut inside and, where no message is kept, the last
    exchange and what was delivered unanswered; all redacted, within `keep_tokens`.
    """
    quoted = quote_sections(session.messages, plan, policy, counter)
    return frame("\n\n".join(part for part in (body, render_sections(quoted)) if part))


def check_gain(entry: str, plan: Plan, policy: PlanPolicy, counter: TokenCounter) -> int:
    """Return the tokens after; raises `SummaryError` where the session would not shrink enough."""
    after = counter.count(entry) + plan.tokens_kept
    if (plan.tokens_before - after) / plan.tokens_before < policy.min_gain:
        raise SummaryError(
            FailureKind.BAD_SUMMARY,
            f"{plan.tokens_before} tokens would become {after}, "
            f"which is less than the least gain of {policy.min_gain:.0%}",
        )
    return after
