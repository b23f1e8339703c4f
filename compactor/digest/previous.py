"""Taking the entry that stands apart, so that the next one revises it and does not nest it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from compactor.digest.facts import FactKind
from compactor.entry import FRAME, Heading, parse_sections
from compactor.readable import one_line, readable_text

EARLIER = "Earlier summary: "
TOOLS = "Tools used"
TIMES = "\u00d7"
ACTS = "Actions, newest first"

_MARK = re.compile(r"(?:[-*•>]\s+|#{1,6}\s+|\d{1,3}[.)]\s+)+")
_DAY = r"(\d{4}-\d{2}-\d{2})"
_PERIOD = re.compile(rf"Period: {_DAY} to {_DAY}, messages by the user: (\d{{1,9}})")
_TOOL = re.compile(rf"(.{{1,60}}) {TIMES}(\d{{1,9}})")
_FAILED = re.compile(rf"Failed: (.{{1,60}}) {TIMES}(\d{{1,9}}) \({_DAY}?\): (.*)")
_LABELS = {kind.value: kind for kind in FactKind}
_LONGEST = 60_000  # characters of an entry that are read
_NOTHING = "(nothing)"  # what nanobot stores when there was nothing to say


@dataclass(slots=True)
class Failure:
    """How often a tool failed, and what it said last."""

    count: int
    date: str
    error: str


@dataclass(slots=True)
class Previous:
    """What an earlier entry says: its lines by section, and what is counted or listed in them.

    `foreign` is a summary that somebody else wrote, as one line; `period` is first day, last day
    and the number of the user's messages.
    """

    lines: dict[Heading, list[str]] = field(default_factory=dict)
    listed: dict[FactKind, list[str]] = field(default_factory=dict)
    acts: list[str] = field(default_factory=list)
    tools: dict[str, int] = field(default_factory=dict)
    failures: dict[str, Failure] = field(default_factory=dict)
    period: tuple[str, str, int] = ("", "", 0)
    foreign: str = ""

    def of(self, heading: Heading) -> list[str]:
        """Return the lines of a section that are none of the lists and counts."""
        return self.lines.get(heading, [])


def parse_previous(text: str | None) -> Previous:
    """Return what `text`, an entry with its frame, says."""
    previous = Previous()
    if not text:
        return previous
    readable = readable_text(text.removeprefix(FRAME), _LONGEST)
    sections = parse_sections(readable)
    if not sections:
        foreign = one_line(readable)
        previous.foreign = "" if foreign == _NOTHING else foreign
        return previous
    for heading, body in sections.items():
        for line in body.split("\n"):
            plain = one_line(_MARK.sub("", line.strip(), count=1))
            if any(char.isalnum() for char in plain):
                _take_line(previous, heading, plain)
    return previous


def _take_line(previous: Previous, heading: Heading, line: str) -> None:
    label, _, rest = line.partition(": ")
    if heading is Heading.FACTS and label in _LABELS and rest:
        previous.listed.setdefault(_LABELS[label], []).extend(rest.split(", "))
    elif heading is Heading.DONE and label == ACTS:
        previous.acts.extend(rest.split(", "))
    elif heading is Heading.DONE and label == TOOLS:
        for match in map(_TOOL.fullmatch, rest.split(", ")):
            if match:
                previous.tools[match[1]] = previous.tools.get(match[1], 0) + int(match[2])
    elif heading is Heading.DONE and (match := _FAILED.fullmatch(line)):
        previous.failures[match[1]] = Failure(int(match[2]), match[3] or "", match[4])
    elif heading is Heading.DONE and (match := _PERIOD.fullmatch(line)):
        previous.period = (match[1], match[2], int(match[3]))
    else:
        previous.lines.setdefault(heading, []).append(line)
