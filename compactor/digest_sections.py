"""What a digest may say: items for each section, from a transcript and the entry before it.

A score tells how much an item is worth beside the others of its section; what is new begins where
what is old ends, so that where space is short the newer wins.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from compactor.digest_budget import Item
from compactor.digest_facts import FactKind, find_facts
from compactor.digest_phrases import (
    asks_for,
    equates,
    error_line,
    is_filler,
    is_unknown,
    names_next_step,
    rule_strength,
    speaks_of_self,
    subject_of,
)
from compactor.digest_previous import ACTS, EARLIER, TOOLS, Failure
from compactor.digest_text import clip, one_line, split_sentences
from compactor.digest_turns import PASTE
from compactor.entry import Heading

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from compactor.digest_previous import Previous
    from compactor.digest_turns import Reading, Turn

_BEFORE = -1_000_000.0  # where the lines of an earlier entry begin: ahead of all new ones
_SENTENCES = 30  # of one text; more is a paste
_DATED = re.compile(r"(?:\d{4}-\d{2}-\d{2} )?")
_WORD = re.compile(r"[A-Za-z0-9_\u00c0-\u024f\u0370-\u052f]{3,}|[\u3040-\u30ff\u3400-\u9fff]{2}")
_TELLING = {FactKind.IDS, FactKind.MAIL, FactKind.PHONES, FactKind.MONEY, FactKind.LINKS}
_SAID = 400  # rules or statements that are looked at for their fit
_ACTS = 3  # calls that are named in a line
_LISTED = 120  # identifiers of one kind that may be listed
_FIGURES = {FactKind.MONEY, FactKind.DATES}
_LISTED_FIGURES = 12

USER_WAITS = "The user waits for an answer: "
AGENT_WAITS = "The agent asked and has no answer yet: "
NEXT = "Said to come: "


def goal_items(new: Reading, old: Previous, width: int) -> Iterator[Item]:
    """Yield the first request of all; an earlier entry's goal stays."""
    lines = old.of(Heading.GOAL)
    if lines:
        for at, line in enumerate(lines):
            yield Item(Heading.GOAL, clip(line, 3 * width), 9.0 - at, at)
        return
    turns = [turn for turn in new.turns if turn.said and turn.source is None]
    real = [turn for turn in turns if _is_request(turn)] or turns
    if real:
        label = "Request" if old.foreign else "First request"
        when = f" ({real[0].date})" if real[0].date else ""
        yield Item(Heading.GOAL, f"{label}{when}: {_gist_of_said(real[0], 2 * width)}", 9.0)


def done_items(new: Reading, old: Previous, width: int) -> Iterator[Item]:
    """Yield a line per turn, what was used and what failed."""
    lines = old.of(Heading.DONE)
    for at, line in enumerate(lines):
        score = 5.0 if line.startswith(EARLIER) else 1.0 + at / len(lines)
        yield Item(Heading.DONE, line, score, _BEFORE + at)
    turns = [turn for turn in new.turns if turn.source is None]
    for at, turn in enumerate(turns):
        is_last = at >= len(turns) - 2
        text = _turn_line(turn, 2 * width if is_last else width, is_last=is_last)
        if text:
            last = 3.0 if is_last else 0.0
            score = _weight_of(turn) + 2.0 * (at + 1) / len(turns) + last
            yield Item(Heading.DONE, text, score, float(at))
    yield from _period_items(new, old)
    yield from _act_items(turns, old)
    yield from _tool_items(new, old, width)


def open_items(new: Reading, old: Previous, kept: Reading, width: int) -> Iterator[Item]:
    """Yield who waits for whom, unless a later message or a kept one has settled it."""
    turns = [turn for turn in new.turns if turn.source is None]
    later = [*turns, *kept.turns]
    said_later = [_words(" ".join([*turn.said, turn.answer])) for turn in later[-500:]]
    lines = old.of(Heading.OPEN)
    for at, line in enumerate(lines):
        bare = _DATED.sub("", line, count=1)
        if later and bare.startswith((USER_WAITS, AGENT_WAITS)):
            continue
        if not _is_settled(bare, said_later):
            yield Item(Heading.OPEN, clip(line, 3 * width), 1.0 + at / len(lines), _BEFORE + at)
    if not turns:
        return
    last = turns[-1]
    if last.said and not last.is_final:
        if not any(turn.is_final for turn in kept.turns):
            text = USER_WAITS + _gist_of_said(last, 2 * width)
            yield Item(Heading.OPEN, _dated(last.date, text), 9.0, 1.0)
    elif not any(turn.said for turn in kept.turns):
        asked = [s for s in _sentences([last.answer])[-6:] if asks_for(s)]
        if asked:
            text = AGENT_WAITS + clip(" ".join(asked[-2:]), 2 * width)
            yield Item(Heading.OPEN, _dated(last.date, text), 8.0, 2.0)
    kept_words = [_words(" ".join([*turn.said, turn.answer])) for turn in kept.turns]
    for turn in turns[-2:]:
        for who, texts in (("User", turn.said), ("Agent", [turn.answer])):
            for sentence in _sentences(texts):
                if names_next_step(sentence) and not _is_settled(sentence, kept_words):
                    text = f"{NEXT}{who}: {clip(sentence, 2 * width)}"
                    yield Item(Heading.OPEN, _dated(turn.date, text), 5.0, 3.0)


def said_items(new: Reading, old: Previous, kept: Reading, width: int) -> Iterator[Item]:
    """Yield the user's rules, for *Decisions and constraints*, and statements, for *Exact facts*.

    Of statements on the same subject the newest stands; where a kept message makes one, none does.
    """
    gone = {subject for _, s in _user_sentences(kept) if (subject := subject_of(s))}
    rules = [(_rank(line, Heading.DECISIONS), line) for line in old.of(Heading.DECISIONS)]
    facts = [(_rank(line, Heading.FACTS), line) for line in old.of(Heading.FACTS)]
    for date, sentence in _user_sentences(new):
        line = _dated(date, f"User: {clip(sentence, 2 * width)}")
        if strength := _rank(sentence, Heading.DECISIONS, strict=True):
            rules.append((strength, line))
        elif rank := _rank(sentence, Heading.FACTS, strict=True):
            facts.append((rank, line))
    newest = {subject_of(line): at for at, (_, line) in enumerate(facts)}
    facts = [
        (rank, line)
        for at, (rank, line) in enumerate(facts)
        if (subject := subject_of(line)) is None or (newest[subject] == at and subject not in gone)
    ]
    for heading, found in ((Heading.DECISIONS, rules), (Heading.FACTS, facts)):
        best = sorted(enumerate(found), key=lambda entry: (-entry[1][0], -entry[0]))
        for place, (at, (_, line)) in enumerate(best[:_SAID]):
            yield Item(heading, line, 9.0 - 0.8 * place, float(at))


def listed_items(new: Reading, old: Previous) -> Iterator[Item]:
    """Yield the identifiers, kind by kind, those of the earlier entry among the new ones."""
    changed = {value for value, _ in new.facts.ranked(FactKind.CHANGED, new.length)}
    changed.update(old.listed.get(FactKind.CHANGED, ()))
    for order, kind in enumerate(FactKind):
        scores: dict[str, float] = {}
        before = old.listed.get(kind, [])
        for at, value in enumerate(before):
            scores[value] = 5.5 - 4.0 * at / len(before)
        for value, score in new.facts.ranked(kind, new.length):
            scores[value] = max(score, min(scores.get(value, 0.0) + 1.0, score + 3.0))
        if kind is FactKind.FILES:
            scores = {value: scores[value] for value in scores if value not in changed}
        most = _LISTED_FIGURES if kind in _FIGURES else _LISTED
        best = sorted(scores.items(), key=lambda pair: -pair[1])[:most]
        for place, (value, score) in enumerate(best):
            yield Item(Heading.FACTS, value, score - 0.1 * place, order, group=kind)


def channel_items(new: Reading, old: Previous, width: int) -> Iterator[Item]:
    """Yield what went to other conversations or came from them, and what timers began."""
    lines = old.of(Heading.CHANNELS)
    for at, line in enumerate(lines):
        yield Item(Heading.CHANNELS, line, at / len(lines), _BEFORE + at)
    for at, sent in enumerate(new.deliveries):
        failed = " (failed)" if sent.failed else ""
        text = f"{sent.way}{failed}: {clip(one_line(sent.text), 2 * width)}"
        yield Item(Heading.CHANNELS, _dated(sent.date, text), 2.0 + at / len(new.deliveries), at)
    automated = [turn for turn in new.turns if turn.source is not None]
    for at, turn in enumerate(automated):
        text = f"begun by {turn.source}: {_spoken(turn, width, 'Task')}"
        yield Item(Heading.CHANNELS, _dated(turn.date, text), 1.0 + at / len(automated), at)


def stray_items(new: Reading, width: int) -> Iterator[Item]:
    """Yield the last text that nobody can be said to have said: better than nothing."""
    if any(char.isalnum() for char in new.stray):
        yield Item(Heading.DONE, f"Last text: {clip(one_line(new.stray), 2 * width)}", 1.0)


def unique_items(items: Iterable[Item]) -> list[Item]:
    """Return `items` without those that say again what a better one of the section says."""
    best: dict[tuple[Heading, str, str], Item] = {}
    for item in items:
        bare = _DATED.sub("", item.text, count=1).casefold().rstrip(".!…")
        key = (item.heading, item.group, bare if not item.group else item.text)
        if key not in best or best[key].score <= item.score:
            best[key] = item
    return list(best.values())


def _period_items(new: Reading, old: Previous) -> Iterator[Item]:
    first, last, count = old.period
    dates = [date for date in (first, last, new.first_date, new.last_date) if date]
    count += sum(len(turn.said) for turn in new.turns if turn.source is None)
    if dates and count:
        text = f"Period: {min(dates)} to {max(dates)}, {count} user messages"
        yield Item(Heading.DONE, text, 7.0, 2 * _BEFORE)


def _act_items(turns: list[Turn], old: Previous) -> Iterator[Item]:
    """Yield what was done with which result, as a list; edited files have a list of their own."""
    acts = [
        _dated(turn.date, label.replace(", ", " "))
        for turn in reversed(turns)
        for label, works in reversed(turn.acts.items())
        if works and not any(kind is FactKind.FILES for kind, _ in find_facts(label))
    ]
    for place, act in enumerate([*acts, *old.acts][:_LISTED]):
        yield Item(Heading.DONE, act, 6.0 - 0.06 * place, 1.0, group=ACTS)


def _tool_items(new: Reading, old: Previous, width: int) -> Iterator[Item]:
    counts = dict(old.tools)
    failures = dict(old.failures)
    for name, use in new.tools.items():
        counts[name] = counts.get(name, 0) + max(use.calls, use.failures, 1)
        before = failures.pop(name, None)
        if use.failures:
            count = use.failures + (before.count if before else 0)
            error = clip(error_line(use.error), width)
            failures[name] = Failure(count, use.date, error)
    ranked = sorted(counts.items(), key=lambda pair: -pair[1])[:_LISTED]
    for place, (name, count) in enumerate(ranked):
        yield Item(Heading.DONE, f"{name} ×{count}", 5.5 - 0.25 * place, 2.0, group=TOOLS)
    for at, (name, failure) in enumerate(failures.items()):
        use = new.tools.get(name)
        lasting = use is not None and not use.works
        text = f"Failed: {name} ×{failure.count} ({failure.date}): {failure.error}"
        yield Item(Heading.DONE, text, 7.0 if lasting else 3.5, -_BEFORE + at)


def _turn_line(turn: Turn, width: int, *, is_last: bool) -> str:
    text = _spoken(turn, width, "User", names_acts=is_last)
    return _dated(turn.date, text) if text else ""


def _spoken(turn: Turn, width: int, speaker: str, *, names_acts: bool = True) -> str:
    said, answer = _gist_of_said(turn, width), _gist_of_answer(turn, width)
    parts = (
        (speaker, said),
        ("Did", _some([label for label, works in turn.acts.items() if works and names_acts])),
        ("Failed", _some([label for label, works in turn.acts.items() if not works])),
        ("Agent", answer),
    )
    return " → ".join(f"{who}: {text}" for who, text in parts if text)


def _some(labels: list[str]) -> str:
    """Return the last few labels, and how many there are more."""
    more = f" and {len(labels) - _ACTS} more" if len(labels) > _ACTS else ""
    return ", ".join(labels[-_ACTS:]) + more


def _gist_of_said(turn: Turn, width: int) -> str:
    sentences = _sentences(turn.said)
    telling = [s for s in sentences if not is_filler(s)] or sentences
    return clip(" ".join(telling) or one_line(" ".join(turn.said)), width)


def _gist_of_answer(turn: Turn, width: int) -> str:
    """Return the first things that the answer says, and its last question."""
    sentences = _sentences([turn.answer])
    telling = [s for s in sentences if not is_filler(s)]
    if sentences and not telling and turn.said:
        return ""
    questions = [s for s in telling[1:] if s.endswith(("?", "？"))][-1:]
    question = clip(questions[0], width // 2) if questions else ""
    rest = [s for s in telling if s not in questions] or sentences
    text = " ".join(rest) or one_line(turn.answer)
    return f"{clip(text, width - len(question))} {question}".strip()


def _is_request(turn: Turn) -> bool:
    """Whether a turn begins with more than a greeting, a slash command or one word."""
    text = one_line(" ".join(turn.said))
    telling = [s for s in _sentences(turn.said) if not is_filler(s)]
    return bool(telling) and not (text.startswith("/") and " " not in text) and len(text) > 3


def _weight_of(turn: Turn) -> float:
    """Return what a turn is worth beside others: one in which something was done most."""
    answered = any(not is_filler(s) for s in _sentences([turn.answer]))
    if turn.acts:
        return 4.5
    if _is_request(turn):
        return 2.5 + answered + bool(turn.calls) / 2
    return 2.0 if answered else 0.0


def _rank(sentence: str, heading: Heading, *, strict: bool = False) -> int:
    """Return what a sentence is worth under a heading: 2, 1 or, where it is `strict`, 0."""
    if heading is Heading.DECISIONS:
        rank = rule_strength(sentence)
    elif sentence.endswith(("?", "？")) or is_unknown(sentence):
        rank = 0
    elif subject_of(sentence) or speaks_of_self(sentence):
        rank = 2
    else:
        telling = any(kind in _TELLING for kind, _ in find_facts(sentence))
        rank = int(telling and equates(sentence))
    return rank if strict else max(rank, 1)


def _user_sentences(reading: Reading) -> Iterator[tuple[str, str]]:
    for turn in reading.turns:
        if turn.source is None:
            for sentence in _sentences([_told(text) for text in turn.said]):
                yield turn.date, sentence


def _told(text: str) -> str:
    """Return what the user wrote around a paste."""
    lines = text.split("\n")
    return text if len(lines) <= PASTE else "\n".join([*lines[:4], *lines[-3:]])


def _sentences(texts: list[str]) -> list[str]:
    found = [sentence for text in texts for sentence in split_sentences(text)]
    if len(found) <= _SENTENCES:
        return found
    return [*found[: _SENTENCES // 2], *found[-_SENTENCES // 2 :]]


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))


def _is_settled(text: str, later: list[frozenset[str]]) -> bool:
    """Whether one later turn speaks of at least half of what `text` speaks of."""
    words = _words(text)
    return bool(words) and any(2 * len(words & turn) >= len(words) for turn in later)


def _dated(date: str, text: str) -> str:
    return f"{date} {text}" if date else text
