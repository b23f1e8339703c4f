"""The identifiers in a text: what somebody would have to ask for again if a summary lost it.

Whatever `redact` takes out is no identifier, nor is a run of random characters that may be a key or
data, nor the number of a payment card. How identifiers are written is in `rules`; here
is which of them wins where several match.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

from compactor.identifiers import rules
from compactor.identifiers.rules import IdentifierKind
from compactor.identifiers.words import (
    FILLER,
    is_blob,
    kind_in_backticks,
    kind_in_quotes,
    kind_of_word,
)
from compactor.redact import redact

if TYPE_CHECKING:
    from collections.abc import Iterator

_LONGEST = 400  # characters of a run; what is longer is data
_MARGIN = 40  # characters around a figure within which words say what it is
_LEAD = 20  # characters ahead of a quote that say what it is
_FIGURE = re.compile(r"\d+|[A-Z]{6}")
_SIX_DIGITS = re.compile(r"\d{6}", re.ASCII)
_BESIDE = 12  # characters that hold the next of a list
_COLOUR = r"(?<![\w-])(?=\d{0,5}[a-fA-F])[0-9a-fA-F]{6}(?![\w-])"
_COLOUR_AHEAD = re.compile(rf"{_COLOUR}[\"'`]?[,;/ ]{{1,3}}[\"'`]?$")
_COLOUR_BEHIND = re.compile(rf"[\"'`]?[,;/ ]{{1,3}}[\"'`#]?{_COLOUR}")
_REDACTED = re.compile(r"\[redacted:[a-z_]{0,40}\]?")
_ZEROS = (0x0660, 0x06F0, 0xFF10)  # Arabic, Persian, full-width
_DIGITS = {zero + digit: str(digit) for zero in _ZEROS for digit in range(10)}
_BEFORE = ",:;!?&*=%-+@"
_AFTER = ".,:;!?&-+*~=%"
_CARD_LENGTHS = (15, 16)
_CARD_STARTS = (3, 4, 5, 6)
_NO_CODE = frozenset(IdentifierKind) - {IdentifierKind.REFERENCE, IdentifierKind.CODE}
_IN_CODE_BLOCKS = {
    IdentifierKind.URL,
    IdentifierKind.EMAIL,
    IdentifierKind.PATH,
    IdentifierKind.UUID,
}


@dataclass(frozen=True, slots=True)
class Identifier:
    """An identifier as it stands in the text."""

    kind: IdentifierKind
    text: str


@dataclass(frozen=True, slots=True)
class _Find:
    start: int
    end: int
    kind: IdentifierKind


class _Finds:
    """The places that are taken; the first to take one keeps it, unless a name is around it."""

    def __init__(self, size: int) -> None:
        self._taken = bytearray(size)
        self.by_start: dict[int, _Find] = {}

    def take(self, start: int, end: int, kind: IdentifierKind) -> None:
        if start < end and not self.touch(start, end):
            self._taken[start:end] = b"\x01" * (end - start)
            self.by_start[start] = _Find(start, end, kind)

    def touch(self, start: int, end: int) -> bool:
        return self._taken.find(1, start, end) >= 0

    def kind_of(self, start: int, end: int) -> IdentifierKind | None:
        """Return the kind of the find that is exactly there."""
        find = self.by_start.get(start)
        return find.kind if find is not None and find.end == end else None

    def take_over(self, start: int, end: int, kind: IdentifierKind) -> None:
        """Take a place and all finds in it, unless one of them reaches out of it."""
        inner: list[_Find] = []
        at = self._taken.find(1, start, end)
        while at >= 0:
            find = self.by_start.get(at)
            if find is None or find.end > end:
                return
            inner.append(find)
            at = self._taken.find(1, find.end, end)
        for find in inner:
            del self.by_start[find.start]
        self._taken[start:end] = bytes(end - start)
        self.take(start, end, kind)


def find_identifiers(text: str) -> list[Identifier]:
    """Return the identifiers in `text`, in the order they stand in; none overlaps another.

    Each is a piece of `redact(text)`. In code blocks only addresses, paths and UUIDs count. Takes
    time linear in the length of any text, never raises.
    """
    clean = redact(text)
    masked = _REDACTED.sub(lambda match: FILLER * len(match[0]), clean).translate(_DIGITS)
    finds = _Finds(len(masked))
    _take_urls(masked, finds)
    _take_phrases(masked, finds)
    for match in rules.ODD_PATH.finditer(masked):
        finds.take(*match.span(), IdentifierKind.PATH)
    _take_words(masked, finds)
    _take_names(masked, finds)
    found = [
        Identifier(find.kind, clean[find.start : find.end])
        for find in _outside_of_code(masked, finds)
        if not (_goes_on(clean, find.start) or _goes_on(clean, find.end))
        and not _is_colour(clean, find)
    ]
    found = [one for one in found if not _is_random(one)]
    together = "\n".join(one.text for one in found)
    if redact(together) != together:  # by itself one of them looks like a secret
        found = [one for one in found if redact(one.text) == one.text]
    return found


def _goes_on(text: str, at: int) -> bool:
    """Whether an accent or the like stands there: of a name that ends ahead of it, half is read."""
    return at < len(text) and (text[at] == "\u200d" or unicodedata.category(text[at])[0] == "M")


def _is_colour(text: str, find: _Find) -> bool:
    """Whether six digits stand beside another colour, as in a list of them without `#`."""
    if not _SIX_DIGITS.fullmatch(text, find.start, find.end):
        return False
    ahead = text[max(find.start - _BESIDE, 0) : find.start]
    behind = text[find.end : find.end + _BESIDE]
    return bool(_COLOUR_AHEAD.search(ahead) or _COLOUR_BEHIND.match(behind))


def _outside_of_code(text: str, finds: _Finds) -> Iterator[_Find]:
    """Yield the finds in their order, without what a code block is full of."""
    blocks = rules.FENCE.finditer(text)
    block = next(blocks, None)
    for start, find in sorted(finds.by_start.items()):
        while block is not None and block.end() <= start:
            block = next(blocks, None)
        if block is None or start < block.start() or find.kind in _IN_CODE_BLOCKS:
            yield find


def _is_random(one: Identifier) -> bool:
    """Whether it is random data, which may be a key, or the number of a payment card."""
    if one.kind is not IdentifierKind.URL and is_blob(one.text):
        return True
    digits = [int(char) for char in one.text if char.isdecimal()]
    if len(digits) not in _CARD_LENGTHS or one.kind is not IdentifierKind.REFERENCE:
        return False
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    checks = (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0  # as Luhn has it
    return checks and digits[0] in _CARD_STARTS and not any(char.isalpha() for char in one.text)


def _take_urls(text: str, finds: _Finds) -> None:
    if "@" not in text and "://" not in text:
        return
    for match in rules.URL.finditer(text):
        value, secret, _ = match[0].partition(FILLER)
        if secret:  # one in the query costs the query, elsewhere the address
            address, query, _ = value.partition("?")
            value = address if query else ""
        value = _strip_end(value)
        if not value.endswith("/") or value.count("/") > 2:  # noqa: PLR2004 - `https://` alone
            finds.take(match.start(), match.start() + len(value), IdentifierKind.URL)


def _strip_end(url: str) -> str:
    """Return `url` without the punctuation and the brackets that belong to the sentence."""
    while url:
        closes = (url[-1] == ")" and url.count(")") > url.count("(")) or (
            url[-1] == "]" and url.count("]") > url.count("[")
        )
        if not closes and url[-1] not in ".,:;!?*~&=":
            break
        url = url[:-1].partition("](")[0]  # the end of a Markdown link
    return url


def _take_phrases(text: str, finds: _Finds) -> None:
    windows = list(_windows(text))
    for kind, pattern in rules.PHRASES:
        for begin, stop in windows:
            for match in pattern.finditer(text, begin, stop):
                start, end = match.span(match.lastgroup or 0)
                if kind is IdentifierKind.REFERENCE and text[start - 1 : start] == "#":
                    start -= 1
                finds.take(start, end, kind)


def _windows(text: str) -> Iterator[tuple[int, int]]:
    """Yield the parts of `text` around figures: nothing else holds a phrase worth a search."""
    begin = stop = 0
    for match in _FIGURE.finditer(text):
        if match.start() - _MARGIN > stop:
            if stop:
                yield begin, stop
            begin = match.start() - _MARGIN
        stop = match.end() + _MARGIN
    if stop:
        yield begin, min(stop, len(text))


def _take_words(text: str, finds: _Finds) -> None:
    for match in rules.RUN.finditer(text):
        start, end = match.span()
        if match[0].isalpha() or _take_word(text, start, end, finds):
            continue
        at = start  # what stands between the signs of `name=value` and the like
        for sign in rules.BETWEEN.finditer(text, start, end):
            _take_word(text, at, sign.start(), finds)
            at = sign.end()
        if at > start:
            _take_word(text, at, end, finds)


def _take_word(text: str, start: int, end: int, finds: _Finds) -> bool:
    """Take a run if it is an identifier once its edges are trimmed, and tell whether it is."""
    if end - start > _LONGEST or finds.touch(start, end):
        return False
    value = text[start:end].rstrip(_AFTER)
    if value.startswith("_") and value.endswith("_"):  # Markdown's
        value, start = value[1:-1], start + 1
    bare = value.lstrip(_BEFORE)
    start += len(value) - len(bare)
    kind = kind_of_word(bare)
    if kind is None:
        return False
    if kind is IdentifierKind.PATH:
        bare = rules.LINE_NUMBER.sub("", bare)
    finds.take(start, start + len(bare), kind)
    return True


def _take_names(text: str, finds: _Finds) -> None:
    """Take what stands in backticks or quotation marks, where that is a name."""
    for match in rules.BACKTICKS.finditer(text):
        start, end = match.start(1), match.start(1) + len(match[1].rstrip(",;"))
        kind = kind_in_backticks(text[start:end])
        if kind is not None and finds.kind_of(start, end) not in _NO_CODE:
            finds.take_over(start, end, kind)
    for match in rules.QUOTES.finditer(text):
        quoted = match[match.lastindex or 0]
        value = quoted.strip()
        start = match.start(match.lastindex or 0) + len(quoted) - len(quoted.lstrip())
        end = start + len(value)
        kind = kind_in_quotes(value, text[max(match.start() - _LEAD, 0) : match.start()])
        if kind is not None and finds.kind_of(start, end) is None:
            finds.take_over(start, end, kind)
