"""Secrets in sentences: "my password is ...", "Das Kennwort lautet ...", "密码是...".

A word with a digit must follow, as "the password is wrong" is said more often than a password.
"""

from __future__ import annotations

from compactor.secret_rules.rule import Rule, place_rule
from compactor.secret_rules.values import (
    GAP,
    KEY_NAMES,
    KEY_TRIGGERS,
    LOGIN_NAMES,
    LOGIN_TRIGGERS,
    NO_BARE,
    OPENING,
    PLAIN_WORD,
)

_IS = (
    rf"{GAP}{{0,3}}(?:\b(?:is|was|will be|ist|lautet|est|c'est|es|é|è|jest)\b"
    r"(?:\s(?:now|still|jetzt|nun|noch))?\s?:?"
    r"|(?:是|为|為)[:\uff1a]?|は|는|은|\s(?:[\u2014\u2013-]|->)\s)"
    rf"{GAP}{{0,3}}"
)
_FOR = (
    r"\s(?:for|of|to|on|für|fürs|vom|von|des|der|zum|im|am|pour|de|du|para|per|от|для|из)"
    r"\s[^\n:=]{1,40}?(?:\s?:|\s[\u2014\u2013-])\s{0,3}"
)
_DIGIT = rf"(?={PLAIN_WORD}{{0,80}}?[0-9])"
_LETTER = rf"(?={PLAIN_WORD}{{0,80}}?[a-z\u0370-\u04ff])"
_NO_ADDRESS = r"(?!https?:|[0-9]{4}-[0-9]{2}|[0-9]{1,2}-[\u0370-\u04ff]|/)"
_START = rf"(?:{OPENING}|\*{{1,2}}|\\{{0,31}}[\"'`])?{NO_BARE}{_NO_ADDRESS}"
_LOGIN = rf"{_START}{_DIGIT}(?P<secret>{PLAIN_WORD}{{4,256}}+)"
_MIXED_LOGIN = rf"{_START}{_DIGIT}{_LETTER}(?P<secret>{PLAIN_WORD}{{6,256}}+)"
_CHANGE = r"(?:chang|set|reset|updat|geänder)[a-z]{0,4}"
_CHANGED = (
    rf"(?:\b{_CHANGE}\s(?:\w{{1,8}}\s)?{LOGIN_NAMES}"
    rf"|{LOGIN_NAMES}\s(?:(?:was|has\sbeen|wurde)\s)?{_CHANGE}(?!\sin\s))"
)
_OWN = r"(?:my|our|your|the|meine?|unsere?|das|die)"
_ARE = rf"\b{_OWN}\s(?:\w{{1,12}}\s)?{LOGIN_NAMES}\s(?:are|were|sind|waren)\s?:?{GAP}{{1,3}}"
_KEY = rf"{_START}(?!(?:[a-z]{{2,20}}-){{2}}){_DIGIT}(?P<secret>{PLAIN_WORD}{{16,256}}+)"

SENTENCE_RULES: tuple[Rule, ...] = (
    place_rule("password", *LOGIN_TRIGGERS, pattern=LOGIN_NAMES + _IS + _LOGIN),
    place_rule("password", *LOGIN_TRIGGERS, pattern=LOGIN_NAMES + _FOR + _MIXED_LOGIN),
    place_rule(
        "password",
        *LOGIN_TRIGGERS,
        pattern=rf"{_CHANGED}\s(?:from|von)\s{_MIXED_LOGIN}(?=\s(?:to|in|auf)\s)",
    ),
    place_rule(
        "password",
        *LOGIN_TRIGGERS,
        pattern=rf"{_CHANGED}(?:\s(?:from|von)\s\S{{1,256}})?\s(?:to|in|auf)\s{_MIXED_LOGIN}",
    ),
    place_rule(
        "password",
        *LOGIN_TRIGGERS,
        pattern=r"\b(?:user(?:name)?|login|benutzer(?:name)?)[:\s]\s?[^\s,]{1,64},?\s{1,3}"
        rf"(?:(?:and|und|with|mit|,)\s)?{LOGIN_NAMES}\s{{1,3}}{_MIXED_LOGIN}",
    ),
    place_rule(
        "password",
        *LOGIN_TRIGGERS,
        pattern=rf"{LOGIN_NAMES}\s{{0,2}}{OPENING}{_DIGIT}(?P<secret>{PLAIN_WORD}{{4,256}}+)",
    ),
    # Without any word between: what is no word itself, letters and digits in one.
    place_rule(
        "password",
        *LOGIN_TRIGGERS,
        pattern=rf"{LOGIN_NAMES}\s{{1,2}}{_START}{_DIGIT}{_LETTER}"
        r"(?P<secret>(?![a-z]{1,30}[_-])[a-z0-9.!@#$%^&*+_-]{8,256}+)(?=[\s,;)\"'.`]|$)",
    ),
    place_rule(
        "password",
        *LOGIN_TRIGGERS,
        pattern=rf"\b(?:use|take|nimm)\s{_MIXED_LOGIN}(?=\s(?:as|for|als)\s(?:\w{{1,8}}\s)?{LOGIN_NAMES})",
    ),
    # One of several, and the one behind it
    place_rule(
        "password",
        *LOGIN_TRIGGERS,
        pattern=rf"{_ARE}(?!(?:sha|md|argon|base|aes)-?[0-9]){_MIXED_LOGIN}"
        r"(?=,?\s(?:and|or|und|oder)\s)",
    ),
    place_rule(
        "password",
        *LOGIN_TRIGGERS,
        pattern=rf"{_ARE}\[redacted:password\],?\s(?:and|or|und|oder)\s{_MIXED_LOGIN}",
    ),
    # The other way round
    place_rule(
        "password",
        *LOGIN_TRIGGERS,
        pattern=rf"(?<![^\s\"'`(])(?!1password){NO_BARE}{_NO_ADDRESS}{_DIGIT}{_LETTER}"
        rf"(?P<secret>{PLAIN_WORD}{{6,64}}+)[\"'`]?\s(?:is|ist)\s{_OWN}\s(?:(?:new|neue?s?)\s)?"
        rf"{LOGIN_NAMES}(?=\s?(?:[.,;!)\n\\\"]|$))",
    ),
    place_rule("secret", *KEY_TRIGGERS, pattern=KEY_NAMES + _IS + _KEY),
    place_rule(
        "secret",
        *KEY_TRIGGERS,
        pattern=rf"{KEY_NAMES}\s{{1,3}}(?=[a-z]{{0,80}}[0-9])(?=[0-9]{{0,80}}[a-z])"
        r"(?P<secret>[a-z0-9]{20,256}+)(?![a-z0-9_-])",
    ),
)
