"""What a digest may say: items for each section, from a transcript and the entry before it.

A score tells how much an item is worth beside the others of its section; what is new begins where
what is old ends, so that where space is short the newer wins.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from compactor.digest.budget import Item
from compactor.digest.facts import FactKind, find_facts
from compactor.digest.lines import Exchange, dated, exchange_line, gist_of_said, take_apart
from compactor.digest.phrases import (
    equates,
    error_line,
    is_question,
    is_unknown,
    rule_strength,
    speaks_of_self,
    subject_of,
)
from compactor.digest.previous import ACTS, EARLIER, TIMES, TOOLS, Failure
from compactor.entry import Heading
from compactor.readable import clip, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from compactor.digest.previous import Previous
    from compactor.digest.turns import Reading

BEFORE = -1_000_000.0  # where the lines of an earlier entry begin: ahead of all new ones
_DATED = re.compile(r"(?:\d{4}-\d{2}-\d{2} )?")
_TELLING = {FactKind.IDS, FactKind.MAIL, FactKind.PHONES, FactKind.MONEY, FactKind.LINKS}
_LISTED = 120  # members that a list may have
_FIGURES = {FactKind.MONEY, FactKind.DATES}
_LISTED_FIGURES = 12
_PARAGRAPH = 5  # widths that a line of an earlier entry may have: a model writes longer ones
_SAID = 400  # rules or statements that are looked at for their fit


@dataclass(frozen=True, slots=True)
class Sources:
    """All that a digest is made of; `width` is about how many characters an extract may have.

    `exchanges` are the newly covered turns that the user began, `later` those that are kept.
    """

    old: Previous
    new: Reading
    exchanges: tuple[Exchange, ...]
    automated: tuple[Exchange, ...]
    later: tuple[Exchange, ...]
    width: int


def gather_sources(old: Previous, new: Reading, kept: Reading, width: int) -> Sources:
    """Return the sources, the turns taken apart."""
    exchanges = [take_apart(turn) for turn in new.turns]
    return Sources(
        old,
        new,
        tuple(exchange for exchange in exchanges if exchange.turn.source is None),
        tuple(exchange for exchange in exchanges if exchange.turn.source is not None),
        tuple(take_apart(turn) for turn in kept.turns),
        width,
    )


def goal_items(sources: Sources) -> Iterator[Item]:
    """Yield the first request of all; an earlier entry's goal stays."""
    old, width = sources.old, sources.width
    lines = old.of(Heading.GOAL)
    for at, line in enumerate(lines):
        yield Item(Heading.GOAL, clip(line, 3 * width), 9.0 - at, float(at))
    said = [exchange for exchange in sources.exchanges if exchange.turn.said]
    first = next((exchange for exchange in said if exchange.is_request), next(iter(said), None))
    if first is not None and not lines:
        label = "Request" if old.foreign or old.lines else "First request"
        when = f" ({first.turn.date})" if first.turn.date else ""
        yield Item(Heading.GOAL, f"{label}{when}: {gist_of_said(first, 2 * width)}", 9.0)


def done_items(sources: Sources) -> Iterator[Item]:
    """Yield a line per exchange, what was done and used, and what failed."""
    lines = sources.old.of(Heading.DONE)
    for at, line in enumerate(lines):
        if line.startswith(EARLIER):
            yield Item(Heading.DONE, line, 5.0, BEFORE + at)
        else:
            text = clip(line, _PARAGRAPH * sources.width)
            yield Item(Heading.DONE, text, 1.0 + at / len(lines), BEFORE + at)
    count = len(sources.exchanges)
    for at, exchange in enumerate(sources.exchanges):
        is_last = at >= count - 2
        width = 2 * sources.width if is_last else sources.width
        text = exchange_line(exchange, width, names_acts=is_last)
        if text:
            score = exchange.weight + 2.0 * (at + 1) / count + 3.0 * is_last
            yield Item(Heading.DONE, dated(exchange.turn.date, text), score, float(at))
    yield from _period_items(sources)
    yield from _act_items(sources)
    yield from _tool_items(sources)


def said_items(sources: Sources) -> Iterator[Item]:
    """Yield the user's rules, for *Decisions and constraints*, and statements, for *Exact facts*.

    Of statements on the same subject the newest stands; where a kept message makes one, none does.
    """
    old = sources.old
    rules = [(_rank(line, Heading.DECISIONS), line) for line in old.of(Heading.DECISIONS)]
    facts = [(_rank(line, Heading.FACTS), line) for line in old.of(Heading.FACTS)]
    for exchange in sources.exchanges:
        for sentence in exchange.statements:
            text = f"User: {clip(sentence, 2 * sources.width)}"
            line = dated(exchange.turn.date, text)
            if strength := _rank(sentence, Heading.DECISIONS, strict=True):
                rules.append((strength, line))
            elif rank := _rank(sentence, Heading.FACTS, strict=True):
                facts.append((rank, line))
    gone = {subject_of(sentence) for exchange in sources.later for sentence in exchange.statements}
    newest = {subject_of(line): at for at, (_, line) in enumerate(facts)}
    facts = [
        (rank, line)
        for at, (rank, line) in enumerate(facts)
        if (subject := subject_of(line)) is None or (newest[subject] == at and subject not in gone)
    ]
    for heading, found in ((Heading.DECISIONS, rules), (Heading.FACTS, facts)):
        best = sorted(enumerate(found), key=lambda entry: (-entry[1][0], -entry[0]))
        for place, (at, (_, line)) in enumerate(best[:_SAID]):
            text = clip(line, _PARAGRAPH * sources.width)
            yield Item(heading, text, 9.0 - 0.8 * place, float(at))


def listed_items(sources: Sources) -> Iterator[Item]:
    """Yield the identifiers, kind by kind, those of the earlier entry among the new ones."""
    facts, length = sources.new.facts, sources.new.length
    listed = sources.old.listed
    changed = {value for value, _ in facts.ranked(FactKind.CHANGED, length)}
    changed.update(listed.get(FactKind.CHANGED, ()))
    for order, kind in enumerate(FactKind):
        before = listed.get(kind, [])
        scores = {value: 5.5 - 4.0 * at / len(before) for at, value in enumerate(before)}
        for value, score in facts.ranked(kind, length):
            scores[value] = max(score, min(scores.get(value, 0.0) + 1.0, score + 3.0))
        if kind is FactKind.FILES:
            scores = {value: score for value, score in scores.items() if value not in changed}
        most = _LISTED_FIGURES if kind in _FIGURES else _LISTED
        best = sorted(scores.items(), key=lambda pair: -pair[1])[:most]
        for place, (value, score) in enumerate(best):
            yield Item(Heading.FACTS, value, score - 0.1 * place, order, group=kind)


def channel_items(sources: Sources) -> Iterator[Item]:
    """Yield what went to other conversations or came from them, and what timers began."""
    lines = sources.old.of(Heading.CHANNELS)
    for at, line in enumerate(lines):
        text = clip(line, _PARAGRAPH * sources.width)
        yield Item(Heading.CHANNELS, text, at / len(lines), BEFORE + at)
    deliveries = sources.new.deliveries
    for at, sent in enumerate(deliveries):
        failed = " (failed)" if sent.failed else ""
        text = f"{sent.way}{failed}: {clip(one_line(sent.text), 2 * sources.width)}"
        score = 2.0 + (at + 1) / len(deliveries)
        yield Item(Heading.CHANNELS, dated(sent.date, text), score, float(at))
    for at, exchange in enumerate(sources.automated):
        line = exchange_line(exchange, sources.width, names_acts=True)
        text = dated(exchange.turn.date, f"begun by {exchange.turn.source}: {line}")
        score = 1.0 + (at + 1) / len(sources.automated)
        yield Item(Heading.CHANNELS, text, score, float(at))


def stray_items(sources: Sources) -> Iterator[Item]:
    """Yield the last text that nobody can be said to have said: better than nothing."""
    if any(char.isalnum() for char in sources.new.stray):
        text = clip(one_line(sources.new.stray), 2 * sources.width)
        yield Item(Heading.DONE, f"Last text: {text}", 1.0)


def unique_items(items: Iterable[Item]) -> list[Item]:
    """Return `items` without those that say again what a better one of the section says."""
    best: dict[tuple[Heading, str, str], Item] = {}
    for item in items:
        bare = _DATED.sub("", item.text, count=1).casefold().rstrip(".!…")
        key = (item.heading, item.group, item.text if item.group else bare)
        if key not in best or best[key].score <= item.score:
            best[key] = item
    return list(best.values())


def _period_items(sources: Sources) -> Iterator[Item]:
    first, last, count = sources.old.period
    known = (first, last, sources.new.first_date, sources.new.last_date)
    dates = [date for date in known if date]
    count += sum(len(exchange.turn.said) for exchange in sources.exchanges)
    if dates and count:
        text = f"Period: {min(dates)} to {max(dates)}, messages by the user: {count}"
        yield Item(Heading.DONE, text, 7.0, 2 * BEFORE)


def _act_items(sources: Sources) -> Iterator[Item]:
    """Yield what was done and worked, as a list; changed files have a list of their own."""
    acts = [
        dated(exchange.turn.date, label.replace(", ", " "))
        for exchange in reversed(sources.exchanges)
        for label, worked in reversed(exchange.turn.acts.items())
        if worked and not any(kind is FactKind.FILES for kind, _ in find_facts(label))
    ]
    for place, act in enumerate([*acts, *sources.old.acts][:_LISTED]):
        yield Item(Heading.DONE, act, 6.0 - 0.06 * place, 1.0, group=ACTS)


def _tool_items(sources: Sources) -> Iterator[Item]:
    """Yield how often tools were called, and the last failure of each that failed of late."""
    counts = dict(sources.old.tools)
    failures = dict(sources.old.failures)
    for name, use in sources.new.tools.items():
        counts[name] = counts.get(name, 0) + max(use.calls, use.failures, 1)
        before = failures.pop(name, None)
        if use.failures:
            count = use.failures + (before.count if before else 0)
            error = clip(error_line(use.error), sources.width)
            failures[name] = Failure(count, use.date, error)
    ranked = sorted(counts.items(), key=lambda pair: -pair[1])[:_LISTED]
    for place, (name, count) in enumerate(ranked):
        text = f"{name} {TIMES}{count}"
        yield Item(Heading.DONE, text, 5.5 - 0.25 * place, 2.0, group=TOOLS)
    for at, (name, failure) in enumerate(failures.items()):
        last = sources.new.tools.get(name)
        score = 7.0 if last is not None and not last.works else 3.5
        text = f"Failed: {name} {TIMES}{failure.count} ({failure.date}): {failure.error}"
        yield Item(Heading.DONE, text, score, -BEFORE + at)


def _rank(sentence: str, heading: Heading, *, strict: bool = False) -> int:
    """Return what a sentence is worth under a heading: 2, 1 or, where it is `strict`, 0."""
    if heading is Heading.DECISIONS:
        rank = rule_strength(sentence)
    elif is_question(sentence) or is_unknown(sentence):
        rank = 0
    elif subject_of(sentence) or speaks_of_self(sentence):
        rank = 2
    else:
        telling = any(kind in _TELLING for kind, _ in find_facts(sentence))
        rank = int(telling and equates(sentence))
    return rank if strict else max(rank, 1)
