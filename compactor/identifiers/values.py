"""Amounts, dates and times as values: one form for all spellings of each."""

from __future__ import annotations

import re
from decimal import Decimal

from compactor.identifiers import rules

MONEY = "amount "
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
DAY_AND_MONTH = re.compile(r"\d{1,2}\.\d{1,2}\.")
LONE_DAY = re.compile(r"(?<![\w.,:/-])(?:0?[1-9]|[12]\d|3[01])\.(?:0[1-9]|1[0-2])\.(?!\d)")
_SLASHED = re.compile(r"(\d{1,2})([/-])(\d{1,2})\2(\d{4})")
_CHINESE = re.compile(r"(?:(\d{4})年\s?)?(\d{1,2})月(?:\s?(\d{1,2})[日号號])?")
_WORDED_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
_WORDED_DAY = re.compile(r"(?<!\d)\d{1,2}(?!\d)")
_LETTERS = re.compile(r"[^\W\d_]+")
_CLOCK = re.compile(r"(\D*?)\s*(\d{1,2})(?:\s?[:.hH点點时時]\s?(\d{1,2}|半|一刻)?分?)?(.*)")
_AFTERNOON = ("下午", "晚上", "傍晚", "午後", "今晚")
_NOON = 12


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
    return (f"{MONEY}{value:f} {currency}",)


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


def read_date(text: str) -> tuple[str, ...]:
    """Return the forms of a date, its own first, or nothing."""
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
READERS = ((rules.AMOUNT, _amount), (rules.DATE, read_date), (rules.TIME, _time))
