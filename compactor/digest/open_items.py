"""Who waits for whom: the *Open* section of a digest.

A task that is finished and comes back as open does more harm than one that is forgotten here and
still stands in the messages, so an item leaves as soon as a later message speaks of it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from compactor.digest.budget import Item
from compactor.digest.lines import dated, gist_of_said
from compactor.digest.phrases import asks_for, names_next_step
from compactor.digest.sections import BEFORE
from compactor.entry import Heading
from compactor.readable import clip

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from compactor.digest.lines import Exchange
    from compactor.digest.sections import Sources

USER_WAITS = "The user waits for an answer: "
AGENT_WAITS = "The agent asked and has no answer yet: "
NEXT = "Said to come: "

_DATED = re.compile(r"\d{4}-\d{2}-\d{2} ")
_WORD = re.compile(r"[A-Za-z0-9_\u00c0-\u024f\u0370-\u052f]{3,}|[\u3040-\u30ff\u3400-\u9fff]{2}")
_NEWEST = 500  # later exchanges in which an old item is looked for
_LAST_SENTENCES = 6  # of an answer, in which a question still waits


def open_items(sources: Sources) -> Iterator[Item]:
    """Yield what is open at the end of the covered messages and not settled in the kept ones."""
    yield from _old_items(sources)
    if sources.exchanges:
        yield from _waiting_items(sources.exchanges[-1], sources)
    for exchange in sources.exchanges[-2:]:
        yield from _next_items(exchange, sources)


def _old_items(sources: Sources) -> Iterator[Item]:
    since = [*sources.exchanges, *sources.later]
    words = [_words(exchange.text) for exchange in since[-_NEWEST:]]
    lines = sources.old.of(Heading.OPEN)
    for at, line in enumerate(lines):
        bare = _DATED.sub("", line, count=1)
        is_ours = bare.startswith((USER_WAITS, AGENT_WAITS))
        if not (since and is_ours) and not _is_settled(bare, words):
            text = clip(line, 3 * sources.width)
            yield Item(Heading.OPEN, text, 1.0 + at / len(lines), BEFORE + at)


def _waiting_items(last: Exchange, sources: Sources) -> Iterator[Item]:
    """Yield the user's unanswered request, or the question that the agent ended with."""
    turn, width = last.turn, 2 * sources.width
    if turn.said and not turn.is_final:
        if not any(exchange.turn.is_final for exchange in sources.later):
            text = USER_WAITS + gist_of_said(last, width)
            yield Item(Heading.OPEN, dated(turn.date, text), 9.0, 1.0)
        return
    asked = [sentence for sentence in last.answer[-_LAST_SENTENCES:] if asks_for(sentence)]
    if asked and not any(exchange.turn.said for exchange in sources.later):
        text = AGENT_WAITS + clip(" ".join(asked[-2:]), width)
        yield Item(Heading.OPEN, dated(turn.date, text), 8.0, 2.0)


def _next_items(exchange: Exchange, sources: Sources) -> Iterator[Item]:
    """Yield the sentences of an exchange that plainly say what is still to be done."""
    later = [_words(later.text) for later in sources.later]
    for who, sentences in (("User", exchange.telling_said), ("Agent", exchange.telling_answer)):
        for sentence in sentences:
            if names_next_step(sentence) and not _is_settled(sentence, later):
                text = f"{NEXT}{who}: {clip(sentence, 2 * sources.width)}"
                yield Item(Heading.OPEN, dated(exchange.turn.date, text), 5.0, 3.0)


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))


def _is_settled(text: str, later: Sequence[frozenset[str]]) -> bool:
    """Whether one later exchange speaks of at least half of what `text` speaks of."""
    words = _words(text)
    return bool(words) and any(2 * len(words & said) >= len(words) for said in later)
