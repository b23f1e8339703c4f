"""Fitting items into a number of tokens: each section gets a fair share, the best items first."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from compactor.entry import Heading, render_sections
from compactor.readable import clip
from compactor.redact import redact

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from compactor.tokens import TokenCounter

# Shares of the tokens, in the order in which sections are left out where there are too few.
_SHARES = {
    Heading.GOAL: 2,
    Heading.OPEN: 3,
    Heading.DECISIONS: 4,
    Heading.DONE: 10,
    Heading.FACTS: 6,
    Heading.CHANNELS: 2,
}
_LEAST_SHARE = 36  # tokens: a section with fewer says nothing
_LEAST_CLIP = 12  # tokens: a shorter rest of a line says nothing
_MISSES = 12  # items that don't fit, one after the other, until a section is given up


@dataclass(frozen=True, slots=True)
class Item:
    """A line of a section or, with a `group`, a member of the list that has this label.

    The items of the highest `score` are taken; lines stand by `at`, members by score.
    """

    heading: Heading
    text: str
    score: float
    at: float = 0.0
    group: str = ""


def fit_items(items: Iterable[Item], limit: int, counter: TokenCounter) -> str:
    """Return the sections that the best of `items` make, in at most `limit` tokens.

    Empty only where there are no items, or where `limit` has no room for a heading and a word.
    """
    waiting: dict[Heading, list[Item]] = defaultdict(list)
    for item in sorted(items, key=lambda item: -item.score):
        waiting[item.heading].append(item)
    present = [heading for heading in _SHARES if heading in waiting]
    fitting = _Fitting(counter)
    # The goal is one line and worth a whole one; what is left is shared.
    room = limit - fitting.fill(waiting[Heading.GOAL], max(limit // 12, min(limit, _LEAST_SHARE)))
    first = present[: max(1, limit // _LEAST_SHARE)]
    headings = [heading for heading in first if waiting[heading]]
    while room > 0 and headings:
        total = sum(_SHARES[heading] for heading in headings)
        spent = sum(
            fitting.fill(waiting[heading], room * _SHARES[heading] // total) for heading in headings
        )
        headings = [heading for heading in headings if waiting[heading]]
        room -= spent
        if not spent:
            break
    for heading in present:  # what no share was large enough for
        room -= fitting.fill(waiting[heading], room)
    if room == limit and present:
        fitting.take(waiting[present[0]][0])  # and is shortened by `finish`
    return fitting.finish(limit)


class _Fitting:
    """The items that were taken, in the order in which they were."""

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._taken: list[Item] = []
        self._begun: set[tuple[Heading, str]] = set()

    def fill(self, waiting: list[Item], share: int) -> int:
        """Move from `waiting` what fits into `share` tokens; return the tokens that it takes."""
        spent = misses = 0
        left: list[Item] = []
        for at, item in enumerate(waiting):
            if misses > _MISSES:
                left.extend(waiting[at:])
                break
            cost = self._cost(item)
            if spent + cost > share:
                misses += 1
                left.append(item)
                continue
            misses = 0
            self.take(item)
            spent += cost
        if not spent and waiting and (waiting[0].heading, "") not in self._begun:
            spent = self._take_clipped(waiting[0], share)
            left = left[1:] if spent else left
        waiting[:] = left
        return spent

    def finish(self, limit: int) -> str:
        """Return the text; what was taken last goes first while it is too long."""
        while self._taken:
            text = redact(_render(self._taken))
            excess = self._counter.count(text) - limit
            if excess <= 0:
                return text
            last = self._taken.pop()
            if not self._taken:
                room = self._counter.count(last.text) - excess
                shorter = clip_to_tokens(last.text, room, self._counter)
                if shorter:
                    self._taken.append(replace(last, text=shorter))
        return ""

    def _cost(self, item: Item) -> int:
        cost = 0
        if (item.heading, "") not in self._begun:
            cost += self._counter.count(f"\n\n## {item.heading}\n")
        if not item.group:
            return cost + self._counter.count(f"- {item.text}\n")
        if (item.heading, item.group) not in self._begun:
            cost += self._counter.count(f"- {item.group}: \n")
        return cost + self._counter.count(f", {item.text}")

    def take(self, item: Item) -> None:
        """Take an item, whether it fits or not."""
        self._taken.append(item)
        self._begun |= {(item.heading, ""), (item.heading, item.group)}

    def _take_clipped(self, item: Item, share: int) -> int:
        """Take the beginning of a line that is too long, so that its section is not empty."""
        room = share - self._counter.count(f"\n\n## {item.heading}\n- \n")
        if item.group or room < _LEAST_CLIP:
            return 0
        shorter = clip_to_tokens(item.text, room, self._counter)
        clipped = replace(item, text=shorter)
        cost = self._cost(clipped)
        if not shorter or cost > share:
            return 0
        self.take(clipped)
        return cost


def clip_to_tokens(text: str, limit: int, counter: TokenCounter) -> str:
    """Return the beginning of `text` in at most `limit` tokens, with an `…` where it was cut."""
    if not counter.exceeds(text, limit):
        return text
    low, high, best = 0, min(len(text), limit * 16), ""
    while low <= high:
        size = (low + high) // 2
        shorter = clip(text, size)
        if counter.exceeds(shorter, limit):
            high = size - 1
        else:
            best, low = shorter, size + 1
    return best


def _render(items: Sequence[Item]) -> str:
    sections: dict[Heading, list[str]] = defaultdict(list)
    groups: dict[tuple[Heading, str], list[Item]] = defaultdict(list)
    for item in sorted(items, key=lambda item: item.at):
        if item.group:
            groups[item.heading, item.group].append(item)
        else:
            sections[item.heading].append(f"- {item.text}")
    for (heading, group), members in groups.items():
        members.sort(key=lambda item: -item.score)
        sections[heading].append(f"- {group}: {', '.join(item.text for item in members)}")
    return render_sections({heading: "\n".join(lines) for heading, lines in sections.items()})
