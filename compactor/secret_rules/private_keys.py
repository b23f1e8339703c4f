"""Private keys as blocks: whole, cut off at either end, quoted in a mail, escaped in JSON."""

from __future__ import annotations

import re

from compactor.secret_rules.rule import Rule, form_rule, place_rule

_KIND = r"(?:[A-Z0-9]{1,20}[ ]){0,3}PRIVATE[ ]KEY(?:[ ]BLOCK)?-----"
# Between lines: white space, the escaped form of it in JSON (in JSON), the mark of a quoted mail.
_GAP = r"(?:\s|\\{1,31}[nr]|>)*+"
_HEADER = r"[A-Za-z][A-Za-z-]{1,30}:[ ](?:(?!\\{1,31}[nr])[^\r\n]){0,200}+"
LONGEST_BLOCK = 20_000  # characters between the two ends

_WHOLE_OR_CUT_OFF = rf"""
    (?P<secret>
        -----BEGIN[ ]{_KIND}
        (?:
            (?: (?!-----BEGIN) [\s\S] ){{0,{LONGEST_BLOCK}}}? -----END[ ]{_KIND}
        |
            (?: {_GAP} {_HEADER} ){{0,8}}+ (?: {_GAP} [A-Za-z0-9+/=]{{16,}}+ )*+
        )
    )
"""
# Looked for from behind, where what stands ahead of a line is no line of base64.
_WITHOUT_ITS_BEGINNING = rf"""
    (?<![A-Za-z0-9+/=]) (?<![A-Za-z0-9+/=][\n>]) (?<![A-Za-z0-9+/=]\\n) (?<![A-Za-z0-9+/=]\r\n)
    (?P<secret> [A-Za-z0-9+/=]{{16,}}+ (?: {_GAP} [A-Za-z0-9+/=]{{4,}}+ ){{0,400}}+
    {_GAP} -----END[ ]{_KIND} )
"""

PRIVATE_KEY_RULES: tuple[Rule, ...] = (
    Rule("private_key", ("private key",), _WHOLE_OR_CUT_OFF, re.VERBOSE),
    Rule("private_key", ("private key",), _WITHOUT_ITS_BEGINNING, re.VERBOSE),
    place_rule(
        "private_key",
        "private-lines:",
        pattern=rf"private-lines:[ ][0-9]{{1,3}}{_GAP}(?P<secret>[a-z0-9+/=]{{16,}}+"
        rf"(?:{_GAP}[a-z0-9+/=]{{16,}}+)*+)",
    ),
    form_rule(
        "private_key", "age-secret-key-", pattern=r"(?P<secret>AGE-SECRET-KEY-1[A-Z0-9]{20,}+)"
    ),
    place_rule(
        "private_key",
        "kty",
        pattern=r"""[{,]\s{0,8}\\{0,31}["']d\\{0,31}["']\s{0,3}:\s{0,3}\\{0,31}["']"""
        r"(?P<secret>[a-z0-9_-]{32,}+)",
    ),
)
