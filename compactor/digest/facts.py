"""The identifiers in a transcript: found without a model, and ranked.

What was said by the user counts most, then what is late, then what is frequent.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class FactKind(StrEnum):
    """A kind of identifier, by the label that it is listed under, in the order of listing."""

    IDS = "Ids"
    CHANGED = "Files changed"
    FILES = "Files and paths"
    LINKS = "Links and hosts"
    MAIL = "E-mail"
    PHONES = "Phone numbers"
    MONEY = "Amounts"
    DATES = "Dates"


_SPOKEN_ONLY = {FactKind.MONEY, FactKind.DATES}
_MOST = 20_000  # different identifiers that are remembered
_OFTEN = 4  # mentions beyond which frequency counts no more
_LONGEST = 160  # characters of an identifier
_SHORTEST_ID = 5
_TELLING_DIGITS = 3  # with fewer, and all in lower case, it is a word (`utf-8`)

# A word of an identifier is anything but white space, quotes and what only separates; found runs
# are looked at one by one and are short, so the patterns below may be as loose as they like.
_RUN = re.compile(r"https?://[^\s<>\"'`|\\\uff0c。\uff09】]{1,400}|[\w@/\\.~+#:&-]{3,}", re.ASCII)
_RUN_WIDE = re.compile(
    r"https?://[^\s<>\"'`|\\\uff0c。\uff09】]{1,400}|[A-Za-z0-9_@/\\.~+#:&\u00c0-\u024f\u0370-\u052f-]{3,}"
)
_BEFORE = ",:;!?&+-"
_AFTER = ".,:;!?&-+)]}*"
_URL = re.compile(r"https?://[^\s]+")
_MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_HOST = re.compile(
    r"(?:(?:[a-z0-9-]+\.)+(?:com|org|net|io|dev|app|ai|co|local|internal|lan|de|eu|uk|cn|jp)"
    r"|localhost|\d{1,3}(?:\.\d{1,3}){3})(?::\d{2,5})?(?:/[^\s]*)?",
    re.IGNORECASE,
)
_PATH = re.compile(
    r"(?:~|\.{1,2})?/(?:[^/:]+/)*[^/:]*[A-Za-z][^/:]*/?(?::\d+)*"
    r"|(?:[\w.@+-]+/)+[\w.@+-]+\.[A-Za-z]\w{0,7}(?::\d+)*|[A-Za-z]:\\[^:]+"
)
_FILE = re.compile(
    r"[\w.@+-]*\w\.(?:py|pyi|ts|tsx|js|jsx|mjs|json|jsonl|md|txt|csv|tsv|toml|ya?ml|ini|cfg|conf|sh"
    r"|rs|go|c|h|cpp|java|kt|rb|php|sql|html|css|xml|log|lock|pdf|docx?|xlsx?|pptx?|png|jpe?g|gif"
    r"|svg|webp|mp[34]|wav|zip|tar|gz|db|sqlite|env|service|ipynb)",
    re.IGNORECASE,
)
_FRAMEWORK = re.compile(r"(?:node|next|vue|nuxt|three|express|react|d3)\.js", re.IGNORECASE)
_LINE_NUMBER = re.compile(r"(?::\d+)+$")
_HEX_COLOUR = re.compile(r"#[0-9A-Fa-f]{6}")
_NUMBER = re.compile(r"#?\d{5,20}")
_CODE = re.compile(r"#?[A-Za-z0-9][\w.-]*(?:[/:#][\w.-]+)?", re.ASCII)
# Dates, times, `256-color`, and the ids of tool calls, which nobody asks for.
_NO_ID = re.compile(
    r"\d{4}-\d{2}-\d{2}|\d{1,2}:\d{2}|\d+-[a-z]+$|(?:call|toolu|chatcmpl|msg|resp|fc)_\w{6,}$"
)

_MONEY = re.compile(
    r"[$€£¥₹]\s?\d[\d.,]{0,15}(?<![.,])|(?<![\w.,])\d[\d.,]{0,15}\s?(?:USD|EUR|GBP|CHF|JPY|CNY|€|£"
    r"|dollars?|euros?|元|円)(?![A-Za-z])",
    re.IGNORECASE,
)
_MONTH = (
    r"(?:Jan(?:uary|uar)?|Feb(?:ruary|ruar)?|Mar(?:ch)?|März|Apr(?:il)?|May|Mai|June?|Juni|July?|Juli"
    r"|Aug(?:ust)?|Sept?(?:ember)?|O[ck]t(?:ober)?|Nov(?:ember)?|De[cz](?:ember)?)"
)
_DATE = re.compile(
    r"(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)"
    rf"|\b{_MONTH}\.? \d{{1,2}}(?:st|nd|rd|th)?\b(?:,? \d{{4}})?"
    rf"|(?<![\d.])\d{{1,2}}(?:st|nd|rd|th|\.)? {_MONTH}\b(?: \d{{4}})?"
    r"|(?<![\d.])(?:0?[1-9]|[12]\d|3[01])\.(?:0?[1-9]|1[0-2])\.\d{4}(?!\d)|\d{4}年\d{1,2}月\d{1,2}日"
)
_PHONE = re.compile(r"(?<![\w+])\+\d[\d ()/-]{7,18}\d")


@dataclass(slots=True)
class _Mention:
    weight: float = 0.0
    count: int = 0
    last: int = 0


class FactBook:
    """Collects identifiers over a transcript and ranks them."""

    def __init__(self) -> None:
        self._found: dict[tuple[FactKind, str], _Mention] = {}

    def read(self, text: str, weight: float, at: int) -> None:
        """Take what `text` names; `weight` is the speaker's, `at` the position in the transcript.

        Amounts and dates count only where somebody said them: tools print too many.
        """
        for kind, value in find_facts(text):
            if weight or kind not in _SPOKEN_ONLY:
                self.add(kind, value, weight, at)

    def add(self, kind: FactKind, value: str, weight: float, at: int) -> None:
        """Take one identifier."""
        key = (kind, value)
        mention = self._found.get(key)
        if mention is None:
            if len(self._found) >= _MOST:
                return
            mention = self._found[key] = _Mention()
        mention.weight = max(mention.weight, weight)
        mention.count += 1
        mention.last = max(mention.last, at)

    def ranked(self, kind: FactKind, length: int) -> list[tuple[str, float]]:
        """Return identifiers and their scores, the best first; `length` is the transcript's."""
        scored = [
            (
                value,
                mention.weight
                + 2 * mention.last / max(length, 1)
                + min(mention.count, _OFTEN) / _OFTEN,
            )
            for (found, value), mention in self._found.items()
            if found is kind
        ]
        return sorted(scored, key=lambda pair: -pair[1])


def find_facts(text: str) -> Iterator[tuple[FactKind, str]]:
    """Yield the identifiers in `text`, in reading order by kind; a value may come twice."""
    for pattern, kind in (
        (_MONEY, FactKind.MONEY),
        (_DATE, FactKind.DATES),
        (_PHONE, FactKind.PHONES),
    ):
        for match in pattern.finditer(text):
            yield kind, " ".join(match[0].replace(", ", " ").split())
    runs = _RUN if text.isascii() else _RUN_WIDE
    for match in runs.finditer(text):
        value = match[0].rstrip(_AFTER)
        if not value.startswith("."):
            value = value.lstrip(_BEFORE)
        found = _kind_of(value) if len(value) <= _LONGEST else None
        if found is FactKind.FILES:
            value = _LINE_NUMBER.sub("", value)
        if found is not None:
            yield found, value


def _kind_of(value: str) -> FactKind | None:
    """Return the kind of identifier that `value` is, or None for an ordinary word."""
    if value.isalpha():
        return None
    if _URL.fullmatch(value) or _HOST.fullmatch(value):
        return FactKind.LINKS
    if "@" in value and _MAIL.fullmatch(value):
        return FactKind.MAIL
    if "/" in value or "\\" in value:
        deep = "." in value or value.count("/") > 1 or "\\" in value
        return FactKind.FILES if deep and _PATH.fullmatch(value) else None
    if _FILE.fullmatch(value) and not _FRAMEWORK.fullmatch(value):
        return FactKind.FILES
    return FactKind.IDS if _is_id(value) else None


def _is_id(value: str) -> bool:
    """Whether `value` is a code that somebody may ask for again."""
    if _HEX_COLOUR.fullmatch(value) or _NUMBER.fullmatch(value):
        return True
    if len(value) < _SHORTEST_ID or not _CODE.fullmatch(value) or _NO_ID.match(value):
        return False
    digits = sum(char.isdigit() for char in value)
    telling = digits >= _TELLING_DIGITS or any(char.isupper() for char in value)
    return 0 < digits < len(value) and telling and any(char.isalpha() for char in value)
