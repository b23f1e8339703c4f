"""What one run of characters is, and what stands in backticks or quotation marks.

Names that nobody asks for again are told from those that somebody will: `UTF-8` from `ORD-8`, a
sentence from a title, random data from a reference.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from compactor.identifiers import rules
from compactor.identifiers.rules import IdentifierKind

if TYPE_CHECKING:
    from collections.abc import Callable

FILLER = "\x00"  # stands where a secret was

_SHORTEST_BLOB = 20
_SHORTEST_NUMBER = 8  # digits of one that has hyphens
_SHORTEST_TICKET = 4  # letters and digits: `F-16` is an aeroplane
_SHORTEST_CODE = 5
_LONGEST_CODE = 40
_TELLING_DIGITS = 3  # with fewer, a word that is not all in capitals is a word (`web-01`)
_SLASHED_DIGITS = 5
_LONGEST_NAME = 60
_LONGEST_WIDE_NAME = 16  # characters, in a script without spaces
_MOST_WORDS = 7
_PAIR = 2
_FEW_WORDS = 4
_SHORT_WORD = 3
_STOPS = re.compile(r"[.!?;](?:\s|$)|[,\u3001\u3002\uff01\uff0c\uff1b\uff1f\u061f\u060c\u2026]")
# Controls and what reorders or hides text, but for the joiners that scripts need.
_UNSEEN = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)
_NO_NAME = re.compile(r"[`\\{}=<$]")
_WIDE = re.compile(f"[{rules.WIDE}]")
_NO_NAMES = (
    "fine good great hello hi hey thanks sorry please yes no ok okay ja nein oui non si da нет да"
    " نعم لا 是 否 好 好的 是的 はい いいえ true false none null nil undefined nan void any self"
    " this str string int number float bool boolean bytes list dict tuple set"
)
_COMMON = frozenset(_NO_NAMES.split())


def kind_of_word(value: str) -> IdentifierKind | None:
    """Return the kind of identifier that a run of characters is, or None for an ordinary word."""
    if value.isalpha() or is_blob(value):
        return None
    return next((kind for kind, test in _TESTS if test(value)), None)


def is_path(value: str) -> bool:
    """Whether `value` is the path or the name of a file or a folder."""
    if rules.FRAMEWORK.fullmatch(value) or not any(char.isalpha() for char in value):
        return False
    if "/" in value or "\\" in value:
        return "//" not in value and rules.PATH.fullmatch(value) is not None
    return bool(rules.FILE.fullmatch(value) or rules.DOTFILE.fullmatch(value))


def is_blob(value: str) -> bool:
    """Whether `value` changes between capitals, small letters and digits as random data does."""
    if len(value) < _SHORTEST_BLOB or value.islower() or value.isupper():
        return False
    kinds = [char.isdigit() + 2 * char.isupper() for char in value if char.isalnum()]
    changes = sum(one != other for one, other in pairwise(kinds))
    return changes * 3 > len(kinds) and any(char.isdigit() for char in value)


def kind_in_backticks(value: str) -> IdentifierKind | None:
    """Return what a name in backticks is, or None for a command, a literal, a letter."""
    if rules.COLOUR.fullmatch(value):
        return IdentifierKind.CODE
    letters = sum(char.isalpha() for char in value)
    if not letters or len(value) == 1 or any(char.isspace() for char in value):
        return None
    if value.casefold() in _COMMON or is_blob(value) or _UNSEEN.search(value):
        return None
    if is_path(value) or (value.endswith("/") and "//" not in value):
        return IdentifierKind.PATH
    return IdentifierKind.CODE


def kind_in_quotes(value: str, before: str) -> IdentifierKind | None:
    """Return what is quoted: a path, a name, or None; `before` is what leads up to the quote."""
    if _UNSEEN.search(value):
        return None
    if rules.SPACED_FILE.fullmatch(value) and not _STOPS.search(value):
        return IdentifierKind.PATH
    if "\\" in value and rules.PATH.fullmatch(value):
        return IdentifierKind.PATH
    if _STOPS.search(value) or _NO_NAME.search(value) or rules.SPEAKING.search(before):
        return None
    if value.casefold() in _COMMON or not any(char.isalpha() for char in value):
        return None
    return IdentifierKind.QUOTED if not is_blob(value) and _is_name(value, before) else None


def _is_name(value: str, before: str) -> bool:
    """Whether quoted words are a name: not a sentence, not a word in scare quotes."""
    if _WIDE.search(value):
        return len(value) <= _LONGEST_WIDE_NAME
    words = value.split()
    if not 1 < len(value) <= _LONGEST_NAME or len(words) > _MOST_WORDS:
        return False
    if value.lower() == value.upper():  # a script without capitals
        return len(words) <= _FEW_WORDS
    if value[0].isalpha() and not value[0].isupper():
        return len(words) <= _FEW_WORDS and rules.NAMING.search(before) is not None
    long = [word for word in words if len(word) > _SHORT_WORD]
    capitals = sum(not word[0].islower() for word in long)
    return len(words) <= _PAIR or 2 * capitals >= len(long)


def _is_reference(value: str) -> bool:
    """Whether `value` is a number or a code that is looked up: of an order, a booking, a user."""
    digits = sum(char.isdigit() for char in value)
    letters = sum(char.isalpha() for char in value)
    if not letters:
        return _is_number(value, digits)
    is_code = digits and len(value) <= _LONGEST_CODE and rules.CODE_WORD.fullmatch(value)
    if not is_code or rules.NO_CODE.fullmatch(value):
        return False
    if "/" in value:
        return value.isupper() and digits >= _SLASHED_DIGITS
    if not value.isupper():
        return digits >= _TELLING_DIGITS and len(value) > _SHORTEST_CODE and "." not in value
    if "-" in value:
        return letters + digits >= _SHORTEST_TICKET
    return len(value) > _SHORTEST_CODE or (len(value) == _SHORTEST_CODE and digits > 1)


def _is_number(value: str, digits: int) -> bool:
    if not rules.NUMBER.fullmatch(value):
        return False
    if "-" in value:
        return digits >= _SHORTEST_NUMBER and not rules.NO_CODE.fullmatch(value)
    return value[0] == "#" or not value.endswith("000")  # a round one is a count


def _is_host(value: str) -> bool:
    return rules.HOST.fullmatch(value) is not None and not value[-1].isupper()


def _is_bare_url(value: str) -> bool:
    return "/" in value and rules.BARE_URL.fullmatch(value) is not None


def _is_place(value: str) -> bool:
    return is_path(rules.LINE_NUMBER.sub("", value))


# The first that holds tells the kind.
_TESTS: tuple[tuple[IdentifierKind, Callable[[str], object]], ...] = (
    (IdentifierKind.EMAIL, rules.EMAIL.fullmatch),
    (IdentifierKind.UUID, rules.UUID.fullmatch),
    (IdentifierKind.HASH, rules.HASH.fullmatch),
    (IdentifierKind.HOST, _is_host),
    (IdentifierKind.URL, _is_bare_url),
    (IdentifierKind.PATH, _is_place),
    (IdentifierKind.VERSION, rules.VERSION.fullmatch),
    (IdentifierKind.CODE, rules.COLOUR.fullmatch),
    (IdentifierKind.REFERENCE, _is_reference),
)
