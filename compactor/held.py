"""Facts of the entry before that still hold, and which of them new notes have lost.

Whoever revises notes may let go of a fact that is finished or was corrected; either is told by the
new messages. A fact about which these say nothing has no reason to go.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from compactor.audit import find_missing
from compactor.entry import Heading, parse_sections
from compactor.identifiers.find import find_identifiers
from compactor.readable import joined_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from session.message import Message

# Words that say something: of four letters, or two where a script needs fewer.
_WORD = re.compile(r"[a-z\u00c0-\u052f]{4,}|[\u0590-\uffff]{2}")
_TOLD = 0.5  # of the words of a fact: then the new messages speak of it


class HeldFacts:
    """The facts with identifiers in an entry, of which `messages` say nothing."""

    def __init__(self, entry: str | None, messages: Sequence[Message]) -> None:
        self._facts = _read_facts(entry or "")
        self._messages = messages
        self._told: str | None = None

    def find_lost(self, notes: str) -> dict[str, tuple[str, ...]]:
        """Return the lines of which `notes` name nothing, and their identifiers."""
        return {
            line: names
            for line, names in self._facts.items()
            if len(find_missing(names, notes)) == len(names) and not self._is_told(line, names)
        }

    def _is_told(self, line: str, names: Sequence[str]) -> bool:
        if self._told is None:  # most notes lose nothing
            texts = (joined_text(message.data.get("content")) for message in self._messages)
            self._told = "\n".join(texts).casefold()
        if any(name.casefold() in self._told for name in names):
            return True
        words = set(_WORD.findall(line.casefold()))
        told = sum(word in self._told for word in words)
        return bool(words) and told >= _TOLD * len(words)


def _read_facts(entry: str) -> dict[str, tuple[str, ...]]:
    """Return the lines that say something of an identifier.

    One that stands alone was appended: whether it still matters nobody has said, so it may go.
    """
    facts = {}
    for line in parse_sections(entry).get(Heading.FACTS, "").split("\n"):
        names = tuple(one.text for one in find_identifiers(line))
        if names and line.strip("-` ") not in names:
            facts[line] = names
    return facts
