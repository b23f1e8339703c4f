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
# What models call them, too.
_ASKED |= {
    "decisions & constraints": Heading.DECISIONS,
    "decisions": Heading.DECISIONS,
    "constraints": Heading.DECISIONS,
    "next steps": Heading.OPEN,
    "open items": Heading.OPEN,
    "open questions": Heading.OPEN,
    "facts": Heading.FACTS,
}
_NAMES = "|".join(map(re.escape, sorted(_ASKED, key=len, reverse=True)))
# As a heading of any depth, or alone on its line in bold or with a colon.
_NEARLY = re.compile(
    rf"(?im)^(?:#{{1,6}}[ \t\xa0]*(?:[^\w\s]+[ \t]*)?(?:\d[.)][ \t]*)?(?P<deep>{_NAMES})[*_]*"
    rf"(?::[*_]*[ \t]*(?P<rest>\S.*))?[*_:# \t]*"
    rf"|[*_]{{2}}(?P<bold>{_NAMES})(?:[*_]{{2}}:?|:[*_]{{2}})[ \t]*|(?P<bare>{_NAMES}):[ \t]*)$"
)
_FOREIGN = re.compile(r"(?m)^##[ \t]+(.+)$")


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
    """Return `text` with the headings that a model writes as they are written (`### goal:`)."""

    def tidy(found: re.Match[str]) -> str:
        name = found["deep"] or found["bold"] or found["bare"]
        rest = f"\n{found['rest']}" if found["rest"] else ""
        return f"## {_ASKED[name.casefold()]}{rest}"

    return _NEARLY.sub(tidy, text)


def demote_headings(text: str) -> str:
    """Return `text` with the headings that are not ours as lines of the section they stand in."""
    ours = {f"## {heading}" for heading in Heading if heading not in QUOTED}
    return _FOREIGN.sub(lambda found: found[0] if found[0].rstrip() in ours else found[1], text)


def frame(body: str) -> str:
    """Return the entry as it is stored."""
    return f"{FRAME}\n\n{body}"


def clean_text(text: str) -> str:
    """Return `text` without what can't be stored or shown: control characters, lone surrogates.

    Whatever ends a line becomes a newline.
    """
    return _UNWRITABLE.sub("", _LINE_END.sub("\n", text))
