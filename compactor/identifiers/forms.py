"""What an identifier means, however it is spelled: whether a text names it.

Amounts, dates and times are compared by value, everything else letter by letter, without regard to
case, Markdown, quotation marks, full-width forms and spaces. A date written with slashes or dashes
whose day could as well be its month stands for itself alone: guessing would hide a loss.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from compactor.identifiers import rules

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

_MONEY = "amount "
_CURRENCIES = (
    (("€", "eur", "euro", "euros", "欧元", "歐元", "евро", "يورو"), "EUR"),
    (("$", "us$", "usd", "dollar", "dollars", "bucks", "美元", "دولار"), "USD"),
    (("£", "gbp", "pound sterling", "pounds sterling", "英镑"), "GBP"),
    # The same sign in China and in Japan, so they are told apart nowhere.
    (
        ("¥", "元", "块", "块钱", "塊", "円", "cny", "rmb", "jpy", "yen", "yuan", "人民币", "日元"),
        "CNY",
    ),
    (("₹", "inr", "rs", "rupee", "rupees"), "INR"),
    (("₽", "rub", "\u0440\u0443\u0431", "рублей", "рубля", "рубль", "rouble", "ruble"), "RUB"),
    (("chf", "franken", "franc", "francs"), "CHF"),
    (("₩", "krw", "원"), "KRW"),
)
_CURRENCY = {word: code for words, code in _CURRENCIES for word in words}
_SCALES = (
    (("k", "千", "тыс", "тыс."), 3),
    (("万", "萬"), 4),
    (("lakh",), 5),
    (("m", "mn", "mio.", "million", "млн"), 6),
    (("crore",), 7),
    (("亿", "億"), 8),
    (("bn", "mrd.", "billion"), 9),
)
_SCALE = {word: power for words, power in _SCALES for word in words}
_AMOUNT = re.compile(r"([^\d]*?)\s*(\d(?:[\d.,'\u2019 ]*\d)?)(?:\.[-\u2013]+)?\s*(\D*)")
_MONTHS = (
    "jan feb mar apr may jun jul aug sep oct nov dec",
    "jan feb mär apr mai jun jul aug sep okt nov dez",
    "janv févr mars avri mai juin juil août sept octo nove déce",
    "ene feb mar abr may jun jul ago sep oct nov dic",
    "jan fev mar abr mai jun jul ago set out nov dez",
    "genn febb mar apri magg giug lugl ago sett otto nov dice",
    "янв фев мар апр мая июн июл авг сен окт ноя дек",
    "يناير فبراير مارس أبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر",
    "jänner febr märz ابريل maio june july اغسطس sept اكتوبر novem decem",
)
_MONTH = {name: at + 1 for line in _MONTHS for at, name in enumerate(line.split())}
_LONGEST_MONTH = max(map(len, _MONTH))
_ISO = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?:T(\d\d:\d\d).*)?", re.IGNORECASE)
_DOTTED = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4}|\d\d)?")
_DAY_AND_MONTH = re.compile(r"\d{1,2}\.\d{1,2}\.")
_SLASHED = re.compile(r"(\d{1,2})([/-])(\d{1,2})\2(\d{4})")
_CHINESE = re.compile(r"(?:(\d{4})年\s?)?(\d{1,2})月(?:\s?(\d{1,2})[日号號])?")
_WORDED_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
_WORDED_DAY = re.compile(r"(?<!\d)\d{1,2}(?!\d)")
_LETTERS = re.compile(r"[^\W\d_]+")
_CLOCK = re.compile(r"(\D*?)\s*(\d{1,2})(?:\s?[:.hH点點时時]\s?(\d{1,2}|半|一刻)?分?)?(.*)")
_AFTERNOON = ("下午", "晚上", "傍晚", "午後", "今晚")
_NOON = 12


@dataclass(frozen=True, slots=True)
class NamedText:
    """A text that is looked into: its plain form, and the values that it names."""

    plain: str
    values: frozenset[str]


def read_names(text: str) -> NamedText:
    """Return `text` prepared for `is_named`."""
    bare = _bare(text)
    values: set[str] = set()
    for pattern, read in _READERS:
        for match in pattern.finditer(bare):
            values.update(read(match[0].strip(" ,")))
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
    if form.startswith(_MONEY):  # `$5` stands in `$5 million`, too
        return False
    return _pattern(identifier).search(within.plain) is not None


@lru_cache(maxsize=4096)
def form_of(identifier: str) -> str:
    """Return the one form that all spellings of an identifier share."""
    bare = _bare(identifier)
    if _DAY_AND_MONTH.fullmatch(bare):
        return _date(bare)[0]
    for pattern, read in _READERS:
        values = read(bare) if pattern.fullmatch(bare) else ()
        if values:
            return values[0]
    return _letters(bare) or bare.casefold()


def _bare(text: str) -> str:
    """Return `text` without Markdown, quotation marks and the variety of spaces and dashes."""
    plain = _MARKUP.sub("", _ESCAPE.sub("", unicodedata.normalize("NFKC", text)))
    plain = _QUOTE.sub("", _DASH.sub("-", plain)).replace("www.", "")
    return "\n".join(" ".join(line.split()) for line in plain.splitlines())


def _amount(text: str) -> tuple[str, ...]:
    match = _AMOUNT.fullmatch(text)
    if match is None:
        return ()
    ahead, figure, behind = match[1].strip(), match[2], match[3].strip()
    scale = 0
    words = behind.casefold()
    for word, power in _SCALE.items():
        rest = words[len(word) :].strip()
        if words.startswith(word) and (not rest or rest in _CURRENCY):
            scale, words = power, rest
    named = (ahead.casefold() or words).strip(" .")
    currency = _CURRENCY.get(named, named).removesuffix("s")
    value = (_number(figure) * Decimal(10) ** scale).normalize()
    return (f"{_MONEY}{value:f} {currency}",)


def _number(figure: str) -> Decimal:
    """Return the number: the last separator is a decimal point unless three digits follow it."""
    whole, point, cents = "", "", figure
    for sign in ".,":
        head, found, tail = figure.rpartition(sign)
        if found and len(tail) <= 2 and len(tail) < len(cents):  # noqa: PLR2004
            whole, point, cents = head, found, tail
    if not point:
        whole, cents = figure, "0"
    return Decimal(f"{''.join(filter(str.isdigit, whole)) or '0'}.{cents}")


def _date(text: str) -> tuple[str, ...]:
    iso = _ISO.fullmatch(text)
    if iso:
        day = _dates(iso[1], iso[3], iso[4])
        clock = (f"{int(iso[5][:2])}:{iso[5][3:]}",) if iso[5] else ()
        return (f"{day[0]}@{clock[0]}", *day, *clock) if clock else day
    dotted = _DOTTED.fullmatch(text)
    if dotted:
        year = f"20{dotted[3]}" if dotted[3] and len(dotted[3]) == 2 else dotted[3]  # noqa: PLR2004
        return _dates(year, dotted[2], dotted[1])
    slashed = _SLASHED.fullmatch(text)
    if slashed:
        first, second = int(slashed[1]), int(slashed[3])
        if first != second and max(first, second) <= _NOON:
            return (text,)
        month, day_ = (first, second) if first <= _NOON else (second, first)
        return _dates(slashed[4], str(month), str(day_))
    chinese = _CHINESE.fullmatch(text)
    if chinese:
        return _dates(chinese[1], chinese[2], chinese[3])
    return _worded_date(text)


def _worded_date(text: str) -> tuple[str, ...]:
    month = next(filter(None, map(_month, _LETTERS.findall(text))), None)
    year, day = _WORDED_YEAR.search(text), _WORDED_DAY.search(text)
    if month is None:
        return ()
    return _dates(year and year[0], str(month), day and day[0])


def _month(word: str) -> int | None:
    lowered = word.casefold()
    for length in range(min(len(lowered), _LONGEST_MONTH), 2, -1):
        if lowered[:length] in _MONTH:
            return _MONTH[lowered[:length]]
    return None


def _dates(year: str | None, month: str, day: str | None) -> tuple[str, ...]:
    """Return a date; where it has all its parts, also as one that lacks the year."""
    short = f"{int(month):02}-{int(day):02}" if day else f"{int(month):02}"
    return (
        (f"{int(year)}-{short}", f"date {short}")
        if year and day
        else ((f"{int(year)}-{short}",) if year else (f"date {short}",))
    )


def _time(text: str) -> tuple[str, ...]:
    match = _CLOCK.fullmatch(text)
    if match is None:
        return ()
    hour = int(match[2])
    minute = {"半": "30", "一刻": "15"}.get(match[3] or "", match[3] or "0")
    after = match[4].strip().casefold()
    late = match[1].strip() in _AFTERNOON or after.startswith("p")
    if late and hour < _NOON:
        hour += _NOON
    elif after.startswith("a") and hour == _NOON:
        hour = 0
    return (f"{hour}:{int(minute):02}",)


# How a value is read: each returns its forms, of which the first is its own, or nothing.
_READERS = ((rules.AMOUNT, _amount), (rules.DATE, _date), (rules.TIME, _time))


@lru_cache(maxsize=4096)
def _pattern(identifier: str) -> re.Pattern[str]:
    """Return the pattern that finds the identifier, letter by letter, in a plain text."""
    bare = _bare(identifier)
    form = _letters(bare) or bare.casefold()
    if not form:
        return re.compile("")
    digits = [char for char in form if char.isdigit()]
    if rules.PHONE.fullmatch(bare):
        body = r"[ ()./-]{0,3}".join(digits)
    elif len(digits) == len(form) >= _LONG_DIGITS:
        body = "[ ,.']?".join(digits)
    elif _FLIGHT.fullmatch(bare):
        body = "[ -]?".join(re.split(r"[ -]+|(?<=[a-z])(?=\d)", form))
    elif short := _SHORT_VERSION.fullmatch(form):
        body = rf"(?:v\.? ?|version:? ){re.escape(short[1])}"
    elif rules.VERSION.fullmatch(form):
        body = f"v?{re.escape(form.removeprefix('v'))}"
    else:
        body = r"\s?".join(map(re.escape, form.split()))
    return re.compile(f"{_left(form)}{body}{_right(form)}")


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
