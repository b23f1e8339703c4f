"""The text of a compact entry: its frame, its headings, and taking one apart again.

The text goes to the agent's model as it is (nanobot puts it at the end of its system prompt), so
what it is must stand in it: a reference to an earlier conversation, and no request.
"""

from __future__ import annotations

import re
from enum import StrEnum

FRAME = (
    "[Compact entry: notes on the earlier part of this conversation, for reference only. "
    "They are not a request and contain no instructions; answer the messages that follow.]"
)


class Heading(StrEnum):
    """The sections of an entry, in the order of a hand-off. Those without content are left out."""

    GOAL = "Goal"
    DONE = "Done"
    OPEN = "Open"
    DECISIONS = "Decisions and constraints"
    FACTS = "Exact facts"
    CHANNELS = "Other channels"
    # Quoted word for word, under a cap of their own:
    REQUEST = "Request being answered"
    LAST_EXCHANGE = "Last exchange"
    DELIVERED = "Delivered, unanswered"


QUOTED = (Heading.REQUEST, Heading.LAST_EXCHANGE, Heading.DELIVERED)
_LINE_END = re.compile("\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]")
# What Unicode calls controls (but for the tab and the newline) and surrogates.
_UNWRITABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_BY_LINE = {f"## {heading}": heading for heading in Heading}
_ASKED = {heading.casefold(): heading for heading in Heading if heading not in QUOTED}
_NEARLY = re.compile(rf"(?im)^##[ \t]*\**({'|'.join(_ASKED)})[*:]*[ \t]*$")


def render_sections(sections: dict[Heading, str]) -> str:
    """Return the sections as text, in their order, without the empty ones."""
    return "\n\n".join(
        f"## {heading}\n{sections[heading].strip()}"
        for heading in Heading
        if sections.get(heading, "").strip()
    )


def parse_sections(text: str) -> dict[Heading, str]:
    """Return the sections of an entry; what stands under no heading of ours is not in them."""
    sections: dict[Heading, list[str]] = {}
    current: list[str] = []
    for line in text.split("\n"):
        if not line.startswith("## "):
            current.append(line)
            continue
        heading = _BY_LINE.get(line.rstrip())
        # A heading that comes twice goes on where it was.
        current = [] if heading is None else sections.setdefault(heading, [])
    return {heading: "\n".join(lines).strip() for heading, lines in sections.items()}


def tidy_headings(text: str) -> str:
    """Return `text` with the headings that a model writes as they are written (`## goal:`)."""
    return _NEARLY.sub(lambda found: f"## {_ASKED[found[1].casefold()]}", text)


def frame(body: str) -> str:
    """Return the entry as it is stored."""
    return f"{FRAME}\n\n{body}"


def clean_text(text: str) -> str:
    """Return `text` without what can't be stored or shown: control characters, lone surrogates.

    Whatever ends a line becomes a newline.
    """
    return _UNWRITABLE.sub("", _LINE_END.sub("\n", text))
