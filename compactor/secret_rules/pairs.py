"""Secrets behind a name and a sign: `name: "value"`, `NAME=value`, `--name value`, `<name>value<`.

Only the value is replaced.
"""

from __future__ import annotations

from compactor.secret_rules.rule import Rule, form_rule, place_rule
from compactor.secret_rules.values import (
    ASSIGN,
    ASSIGN_LINE,
    DIGIT_NEAR,
    GAP,
    KEY_NAMES,
    KEY_TRIGGERS,
    LINE_END,
    LOGIN_NAMES,
    LOGIN_TRIGGERS,
    NO_BARE,
    NO_QUOTED,
    OPENING,
    QUOTE,
    TO_QUOTE,
    WORD,
)

# What a key looks like, that stands behind a name which may mean something else.
_QUOTED_KEY = rf"""(?=[^"'\n\\]{{0,80}}[0-9]|[^\s"'\\]{{20}}){TO_QUOTE}{{8,512}}"""
_BARE_KEY = rf"(?:{DIGIT_NEAR}{WORD}{{8,512}}+|{WORD}{{24,512}}+)"
_QUOTED_LOGIN = rf"{TO_QUOTE}{{1,256}}"
_BARE_LOGIN = rf"{WORD}{{4,256}}+"
# In a URL's encoding: `"`, a sign, and what a value goes on with.
_ENCODED_SIGN = r"(?:%2[27])?%3[ad](?:%20)?(?:%2[27])?"
_ENCODED = r"(?:[a-z0-9._~*!+$@-]|%(?!2[267c]|7d|0[ad])[0-9a-f]{2})"


def _quoted(shape: str) -> str:
    return rf"(?P<quote>{QUOTE})(?P<secret>{NO_QUOTED}{shape})(?P=quote)"


def _bare(shape: str) -> str:
    return rf"{OPENING}?{NO_BARE}(?P<secret>{shape})(?![(\[{{])"


def _pair(kind: str, triggers: tuple[str, ...], names: str, quoted: str, bare: str) -> list[Rule]:
    flag = rf"-(?<=[\s(\"']-)-?[a-z-]{{0,20}}{names}\s{{1,3}}"  # no sign, only a space
    attribute = rf"(?:name|key|id)={QUOTE}[a-z0-9_:.-]{{0,40}}?{names}{QUOTE}\s{{1,8}}value="
    element = rf"<[a-z0-9_:.-]{{0,40}}?{names}>\s{{0,8}}"
    tag = rf"<[a-z0-9_:.-]{{0,40}}?{names}\s{{1,8}}value="
    cell = rf"\|\s{{0,20}}[a-z ]{{0,20}}{names}\s{{0,20}}\|\s{{0,20}}[`*]{{0,2}}"
    # Two fields of a list: the name in one, the value in the other
    sign = rf"{QUOTE}?\s?[:=]{GAP}{{0,3}}"
    named = rf"(?:name|key|id){sign}{QUOTE}?[a-z0-9_:.-]{{0,40}}?{names}"
    field = rf"{named}{QUOTE}?,?{GAP}{{0,20}}(?:>\s{{1,20}})?{QUOTE}?value{sign}"
    encoded = (
        rf"{names}{_ENCODED_SIGN}(?!%){NO_BARE}(?={_ENCODED}{{0,80}}?[0-9])"
        rf"(?P<secret>{_ENCODED}{{6,256}}+)"
    )
    on_next_line = (
        rf"{names}{ASSIGN_LINE}{NO_BARE}{DIGIT_NEAR}(?={WORD}{{0,80}}?[a-z])"
        rf"(?P<secret>{WORD}{{8,256}}+){LINE_END}"
    )
    patterns = (
        encoded,
        field + _quoted(quoted),
        field + DIGIT_NEAR + _bare(bare),
        rf"value{sign}{_quoted(quoted)},{GAP}{{0,20}}{QUOTE}?{named}{QUOTE}",
        names + ASSIGN + _quoted(quoted),
        flag + _quoted(quoted),
        attribute + _quoted(quoted),
        tag + _quoted(quoted),
        names + ASSIGN + _bare(bare),
        flag + _bare(bare),
        cell + DIGIT_NEAR + _bare(bare),
        on_next_line,
        rf"{element}(?P<secret>{NO_BARE}[^<>\n]{{4,256}})(?=</)",
    )
    return [place_rule(kind, *triggers, pattern=pattern) for pattern in patterns]


PAIR_RULES: tuple[Rule, ...] = (
    # A line of an environment file holds nothing but the value.
    form_rule(
        "password",
        *("pass=", "password=", "passwd=", "passphrase="),
        pattern=r"(?m)^(?:export )?[A-Z0-9_]{0,40}(?:PASSWORD|PASSWD|PASSPHRASE|PASS)="
        rf"(?P<secret>{NO_BARE}(?![\"'&])[^\s#\"'\\&]{{4,256}})(?=\s|$)",
    ),
    *_pair("password", LOGIN_TRIGGERS, LOGIN_NAMES, _QUOTED_LOGIN, _BARE_LOGIN),
    *_pair("secret", KEY_TRIGGERS, KEY_NAMES, _QUOTED_KEY, _BARE_KEY),
    # A value in braces, as ODBC has it for one with a `;` in it.
    place_rule(
        "password",
        "pwd={",
        "password={",
        pattern=r";\s?(?:pwd|password)=(?P<secret>\{(?=[^}\n]{0,64}[^}\n\w.])[^}\n]{2,128}\})",
    ),
    # `pass` alone is a word like any other; beside a user it is not.
    place_rule(
        "password",
        "pass",
        pattern=rf"(?:user|auth|login|email)[\s\S]{{0,120}}?\bpass{ASSIGN}"
        + _quoted(rf"{TO_QUOTE}{{6,256}}"),
    ),
    place_rule(
        "password",
        "pass",
        pattern=rf"(?:user|auth|login|email)[^\n]{{0,120}}?\bpass\s?[:=]\s{{0,2}}(?={WORD}{{0,80}}?[a-z])"
        + DIGIT_NEAR
        + _bare(rf"{WORD}{{6,256}}+"),
    ),
    place_rule(
        "password",
        "define(",
        pattern=r"define\(\s{0,3}[\"'][a-z0-9_]{0,40}(?:pass|secret|key|token|salt)[a-z0-9_]{0,20}"
        rf"[\"']\s{{0,3}},\s{{0,3}}{_quoted(f'{TO_QUOTE}{{6,256}}')}",
    ),
    # In URLs and connection strings
    place_rule(
        "signature",
        *("sig=", "signature="),
        pattern=r"[?&;](?:x-[a-z]{2,6}-)?sig(?:nature)?=(?P<secret>(?!\[)[a-z0-9%+/=_-]{20,}+)",
    ),
    place_rule(
        "secret",
        *("?key=", "&key=", "appid="),
        pattern=r"[?&](?:key=(?=[^&\s]{0,80}[0-9])(?P<secret>[a-z0-9]{24,}+)"
        r"(?![a-z0-9_-]))",
    ),
    place_rule("secret", "appid=", pattern=r"[?&]appid=(?P<secret>[0-9a-f]{32})(?![a-z0-9_-])"),
    place_rule(
        "secret",
        '"auth',
        pattern=rf"{QUOTE}auth{QUOTE}\s{{0,3}}:\s{{0,3}}{QUOTE}(?P<secret>[a-z0-9+/=]{{16,}}+)",
    ),
    form_rule(
        "totp_secret",
        *("totp", "otp", "2fa", "mfa", "authenticator"),
        pattern=r"(?i:totp|otp|2fa|mfa|authenticator)[^\n:=]{0,20}[:=]\s{0,3}"
        r"(?P<secret>[A-Z2-7]{4}(?:[ -]?[A-Z2-7]{4}){3,15})(?![A-Za-z0-9])",
    ),
    place_rule(
        "seed_phrase",
        *("seed", "mnemonic", "recovery phrase"),
        pattern=rf"(?:seed(?:\s(?:phrase|words))?|mnemonic|recovery\sphrase){ASSIGN}{QUOTE}?"
        r"(?P<secret>[a-z]{3,8}(?:,?\s{1,2}[a-z]{3,8}){11,23})(?![a-z])",
    ),
    place_rule(
        "seed_phrase",
        *("seed", "mnemonic", "recovery"),
        pattern=r"(?:(?:seed|recovery)\s(?:phrase|words)|mnemonic)[^\n:0-9]{0,40}:?(?:\s|>|\\{1,31}n){0,8}"
        r"(?P<secret>1[.)]\s?[a-z]{3,8}(?:,?(?:\s|>|\\{1,31}n){1,8}[0-9]{1,2}[.)]\s?[a-z]{3,8}){11,23})",
    ),
)
