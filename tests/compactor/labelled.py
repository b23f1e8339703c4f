"""Reads the labelled lines, and scores a find against its label."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from compactor.identifiers.find import find_identifiers

LABELLED_LINES = Path(__file__).parent / "labelled_lines.txt"
_LABEL = re.compile("⟦([a-z]+):([^⟧]*)⟧")
_SECTION = re.compile(r"\[(held out|tuned)\]")


@dataclass(frozen=True, slots=True)
class LabelledLine:
    """A line, and how often each (kind, text) is to be found in it."""

    text: str
    wanted: Counter[tuple[str, str]]


@dataclass(slots=True)
class Score:
    """Right, wrong and missed finds over many lines, with the lines that went wrong."""

    right: int = 0
    wrong: int = 0
    missed: int = 0
    faults: list[str] = field(default_factory=list)

    @property
    def precision(self) -> float:
        """The share of the finds that are right."""
        return self.right / (self.right + self.wrong)

    @property
    def recall(self) -> float:
        """The share of the labels that are found."""
        return self.right / (self.right + self.missed)


def read_lines() -> dict[str, list[LabelledLine]]:
    """Return the labelled lines by section."""
    sections: dict[str, list[LabelledLine]] = {}
    current: list[LabelledLine] = []
    for line in LABELLED_LINES.read_text(encoding="utf-8").splitlines():
        section = _SECTION.fullmatch(line)
        if section:
            current = sections.setdefault(section[1], [])
        elif line and not line.startswith("//"):
            wanted = Counter((match[1], match[2]) for match in _LABEL.finditer(line))
            current.append(LabelledLine(_LABEL.sub(r"\2", line), wanted))
    return sections


def score_lines(lines: list[LabelledLine]) -> Score:
    """Return how well the labels are met, by kind and by every character of the text."""
    score = Score()
    for line in lines:
        found = Counter((str(one.kind), one.text) for one in find_identifiers(line.text))
        missed, wrong = line.wanted - found, found - line.wanted
        score.right += (line.wanted & found).total()
        score.missed += missed.total()
        score.wrong += wrong.total()
        if missed or wrong:
            score.faults.append(f"{line.text}\n  missed {[*missed]}\n  wrong {[*wrong]}")
    return score
