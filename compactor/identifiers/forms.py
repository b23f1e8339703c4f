"""What an identifier means, however it is spelled: whether a text names it.

Amounts, dates and times are compared by value (see `values`), telephone numbers by their digits,
everything else letter by letter, without regard to case, Markdown, quotation marks, full-width
forms and spaces. Where a name ends with a long number, the number tells. A date written with
slashes or dashes whose day could as well be its month stands for itself alone: guessing would hide
a loss.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from compactor.identifiers import rules
from compactor.identifiers.values import DAY_AND_MONTH, LONE_DAY, MONEY, READERS, read_date

_ESCAPE = re.compile(r"\\(?=[_*`\[\]()#+.!~|<>-])")
_MARKUP = re.compile(r"\*|`|~~|(?<![^\W_])_+|_+(?![^\W_])")
_QUOTE = re.compile("[\"'„“”\u2018\u2019«»「」『』《》\u2039\u203a]")
_DASH = re.compile("[\u2010-\u2015\u2212\u05be]")
_SCHEME = re.compile(r"^(?:[a-z][a-z0-9+.-]{1,20}:/{2,9})?(?:www\.)?")
_WORD = "a-z0-9_\u00aa-\u02af\u0370-\u052f"
_STARTS_WORD = re.compile(f"[{_WORD}]")
_STRICT = re.compile(r"[0-9/_.@]")  # where a hyphen goes on, and does not begin another word
_ADDRESS = re.compile(r"[/.@]")
_FLIGHT = re.compile(r"[A-Z]{2,3} ?-?\d{2,5}")
_SHORT_VERSION = re.compile(r"v(\d+\.\d+)")
_LONG_DIGITS = 5
_NUMBERED = re.compile(rf"((?:[a-z]{{1,40}}[_ ]){{1,8}})(\d{{{_LONG_DIGITS},20}})")
_SHORTEST_PHONE = 8  # digits that tell one number from another
_PHONE_GAP = "[ ()./-]{0,3}"
_SEPARATING_COMMA = re.compile("(?<=[0-9])\uff0c(?=[0-9])")
_DAY = re.compile(r"\d{4}-(\d\d-\d\d)")


@dataclass(frozen=True, slots=True)
class NamedText:
    """A text that is looked into: its plain form, and the values that it names."""

    plain: str
    values: frozenset[str]


def read_names(text: str) -> NamedText:
    """Return `text` prepared for `is_named`."""
    bare = _bare(text)
    values: set[str] = set()
    for pattern, read in READERS:
        for match in pattern.finditer(bare):
            values.update(read(match[0].strip(" ,")))
    for match in LONE_DAY.finditer(bare):
        values.update(read_date(match[0]))
    return NamedText(bare.casefold(), frozenset(values))


def is_named(identifier: str, within: NamedText) -> bool:
    """Whether the text names `identifier`, in this spelling or in another.

    A file is named by any path to it, and a host by a URL on it, but not the other way round.
    """
    form = form_of(identifier)
    if form in within.values:
        return True
    if form.partition("@")[0] in within.values:  # a moment: its date and its time
        return form.partition("@")[2] in within.values
    if form.startswith(MONEY):  # `$5` stands in `$5 million`, too
        return False
    return _pattern(identifier).search(within.plain) is not None


def is_day_named(identifier: str, within: NamedText) -> bool:
    """Whether the text names the day of a date without its year, and in no other year."""
    form, _, clock = form_of(identifier).partition("@")
    day = _DAY.fullmatch(form)
    if day is None or f"date {day[1]}" not in within.values:
        return False
    if any(value.endswith(f"-{day[1]}") and _DAY.fullmatch(value) for value in within.values):
        return False
    return not clock or clock in within.values


@lru_cache(maxsize=4096)
def form_of(identifier: str) -> str:
    """Return the one form that all spellings of an identifier share."""
    bare = _bare(identifier)
    if DAY_AND_MONTH.fullmatch(bare):
        return read_date(bare)[0]
    for pattern, read in READERS:
        values = read(bare) if pattern.fullmatch(bare) else ()
        if values:
            return values[0]
    return _letters(bare) or bare.casefold()


def _bare(text: str) -> str:
    """Return `text` without Markdown, quotation marks and the variety of spaces and dashes."""
    text = unicodedata.normalize("NFKC", _SEPARATING_COMMA.sub(", ", text))
    plain = _MARKUP.sub("", _ESCAPE.sub("", text))
    plain = _QUOTE.sub("", _DASH.sub("-", plain)).replace("www.", "")
    return "\n".join(" ".join(line.split()) for line in plain.splitlines())


@lru_cache(maxsize=4096)
def _pattern(identifier: str) -> re.Pattern[str]:
    """Return the pattern that finds the identifier, letter by letter, in a plain text."""
    bare = _bare(identifier)
    form = _letters(bare) or bare.casefold()
    if not form:
        return re.compile("")
    digits = [char for char in form if char.isdigit()]
    if rules.PHONE.fullmatch(bare):
        return re.compile(f"{_phone(form[0] == '+', ''.join(digits))}{_right(form)}")
    if numbered := _NUMBERED.fullmatch(form):
        named = re.sub("[_ ]", "[_ ]", numbered[1])
        ahead = rf"(?:{_left(form)}{named}|{_left(numbered[2])})"
        return re.compile(f"{ahead}{numbered[2]}{_right(form)}")
    if len(digits) == len(form) >= _LONG_DIGITS:
        number = "[ ,.']?".join(digits)
        return re.compile(f"(?:{_left(form)}|(?<=[a-z]_)){number}{_right(form)}")
    if _FLIGHT.fullmatch(bare):
        body = "[ -]?".join(re.split(r"[ -]+|(?<=[a-z])(?=\d)", form))
    elif short := _SHORT_VERSION.fullmatch(form):
        body = rf"(?:v\.? ?|version:? ){re.escape(short[1])}"
    elif rules.VERSION.fullmatch(form):
        body = f"v?{re.escape(form.removeprefix('v'))}"
    else:
        body = r"\s?".join(map(re.escape, form.split()))
    return re.compile(f"{_left(form)}{body}{_right(form)}")


def _phone(is_international: bool, digits: str) -> str:
    """Return the pattern of a telephone number, with the code of its country or without."""
    if is_international:
        national = [digits[code:] for code in (1, 2, 3)]
        bodies = [_PHONE_GAP.join(digits)]
        bodies += [
            f"0?{_PHONE_GAP}{_PHONE_GAP.join(tail)}"
            for tail in national
            if len(tail) >= _SHORTEST_PHONE
        ]
        return rf"(?<!\d)(?:00)?(?:{'|'.join(bodies)})"
    tail = digits.lstrip("0")
    if len(tail) < _SHORTEST_PHONE:
        return rf"(?<!\d){_PHONE_GAP.join(digits)}"
    code = rf"(?:(?:\+|00)\d{{1,3}}{_PHONE_GAP})?0?{_PHONE_GAP}"
    return rf"(?<!\d){code}{_PHONE_GAP.join(tail)}"


def _letters(bare: str) -> str:
    """Return what is compared letter by letter: without case, scheme, `www.` and edges."""
    plain = _SCHEME.sub("", bare.casefold()).strip(" ,:;!?").rstrip("/\\").removesuffix("()")
    return plain.removeprefix("#").rstrip(".")


def _left(form: str) -> str:
    """Return what may not stand ahead, so that the find is no part of a longer identifier."""
    if form[0] in "/~":
        return f"(?<![{_WORD}/.~])" if form[0] == "/" else f"(?<![{_WORD}])"
    if not _STARTS_WORD.match(form):
        return ""
    rule = f"(?<![{_WORD}])"
    if form[0].isdigit():
        rule += r"(?<!\d[.,:'-])"
    if _STRICT.search(form):
        rule += "(?<![.@+-])" if "." in form else f"(?<![{_WORD}]-)"
    return rule


def _right(form: str) -> str:
    """Return what may not follow."""
    if not _STARTS_WORD.match(form[-1]):
        return ""
    rule = f"(?![{_WORD}])"
    if form[-1].isdigit():
        rule += r"(?![.,:]\d|%)"
    if _STRICT.search(form):
        rule += f"(?!-[{_WORD}])"
    if _ADDRESS.search(form):
        rule += rf"(?!\.[{_WORD}])"
    if "/" in form:
        rule += f"(?![/?#][{_WORD}])"
    return rule
