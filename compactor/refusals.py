"""The forms by which notes are refused, each with a name that a report can give.

What was written in obedience to a transcript, or as a part of it, must not become an agent's
memory. A false refusal leaves a session uncompacted, so a form must be plain: an order counts at
the start of a line or of a sentence, not within quotes, behind a colon, in a quoted line or in a
block of code. What only tells of an order is none.
"""

from __future__ import annotations

import re
import unicodedata
from enum import StrEnum
from typing import TYPE_CHECKING

from compactor.entry import QUOTED, Heading, parse_sections
from compactor.orders import is_order, is_role, is_spoken

if TYPE_CHECKING:
    from collections.abc import Iterator


class Refusal(StrEnum):
    """What is wrong with notes, as it goes on behind "your last answer was not usable"."""

    EMPTY = "none of the headings has anything under it"
    HEADING = "it has headings that are not asked for"
    CONVERSATION = "it goes on with the conversation"
    FIRST_PERSON = "it speaks as the user or the agent, not about them"
    ORDERS = "it gives orders to its reader"


_OURS = {f"## {heading}" for heading in Heading if heading not in QUOTED}
_VOICE = r"(?im)^(?:\[(?:{who})\b[^\]\n]*\]|\**(?:{who})\**\s*:)"
_VOICES = tuple(
    re.compile(_VOICE.replace("{who}", who)) for who in ("user|human", "agent|assistant|ai|bot")
)
_SPOKEN_SHARE = 1 / 2  # of the lines
_QUOTE = re.compile(
    r"""`+[^`]*`+|"[^"]*"|[“”„][^“”„]*[“”]|[«‹][^«»‹›]*[»›]|»[^«»]*«|「[^「」]*」|『[^『』]*』"""
    r"""|‘[^‘’]*’|(?<!\w)'[^']*'(?!\w)"""
)
_MARKUP = re.compile(
    r"(?:[-*+•·–—][ \t]+|\d{1,3}[.)][ \t]+|\[[ xX]\][ \t]+|#{1,6}[ \t]+)*[*_]{0,3}"
)
_SENTENCE = re.compile(r"(?<=[.!?؟])[\"')*_]*[ \t]+(?=[^a-zäöüа-я])|(?<=[。!?])(?=[^\x00-\x7f])")
_REPORT = re.compile(r":(?:\s|[^\x00-\x7f]|$)")


def find_fault(text: str, *, leniently: bool = False) -> Refusal | None:
    """Return by which form notes are refused, None where by none.

    Some forms can be a fair way to write: they are told, once. Seen `leniently` they are no fault.
    """
    sections = parse_sections(text)
    if not any(body for heading, body in sections.items() if heading not in QUOTED):
        return Refusal.EMPTY
    # In a block of code, too: it is read as one.
    if not leniently and any(map(_is_foreign, text.split("\n"))):
        return Refusal.HEADING
    if all(voice.search(text) for voice in _VOICES):
        return Refusal.CONVERSATION
    lines = list(_plain_lines(_without_blocks(text)))
    if any(map(is_role, lines)) or any(
        is_order(one, for_certain=leniently) for line in lines for one in _sentences(line)
    ):
        return Refusal.ORDERS
    spoken = sum(is_spoken(_MARKUP.sub("", line, count=1)) for line in lines)
    if not leniently and spoken and spoken >= _SPOKEN_SHARE * len(lines):
        return Refusal.FIRST_PERSON
    return None


def _is_foreign(line: str) -> bool:
    return line.startswith("## ") and line.rstrip() not in _OURS


def _without_blocks(text: str) -> str:
    """Return the lines outside of blocks of code; a fence that nothing ends begins none."""
    lines: list[str] = []
    opened: int | None = None
    for line in text.split("\n"):
        lines.append(line)
        if line.lstrip().startswith("```"):
            if opened is None:
                opened = len(lines) - 1
            else:
                del lines[opened:]
                opened = None
    return "\n".join(lines)


def _plain_lines(text: str) -> Iterator[str]:
    """Yield the lines that say something, without what is quoted in them; headings are ours."""
    seen = "".join(char for char in text if unicodedata.category(char) != "Cf")
    for line in unicodedata.normalize("NFKC", seen).split("\n"):
        bare = _QUOTE.sub("“”", line.strip())
        if bare and not bare.startswith((">", "## ")):
            yield bare


def _sentences(line: str) -> Iterator[str]:
    """Yield from where on an order might stand: the line, and its sentences ahead of a colon.

    What stands behind one is mostly what somebody said.
    """
    said = _MARKUP.sub("", line, count=1)
    yield said
    report = _REPORT.search(said)
    yield from _SENTENCE.split(said[: report.start()] if report else said)[1:]
