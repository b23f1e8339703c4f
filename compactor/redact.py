"""Taking secrets out of text: `redact` puts `[redacted:kind]` in their place.

Each kind of secret is a row of `secret_rules.RULES`; here is only how a row is applied. What looks
like a secret and is none (a UUID, a git hash, a reservation code) is worth more than a guess, so a
row needs either a prefix that nobody else uses or a name in front of it that says what follows.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from compactor.secret_rules import RULES

if TYPE_CHECKING:
    from compactor.secret_rules.rule import Rule

_SHORT = 2_000  # characters
# A letter beyond ASCII; no control and no half of a pair.
_ESCAPE = re.compile(r"\\{1,31}u(?!00[0-7]|d[89a-f])([0-9a-f]{4})", re.IGNORECASE)
_BY_TRIGGER: dict[str, list[int]] = {}
for _number, _rule in enumerate(RULES):
    for _trigger in _rule.triggers:
        _BY_TRIGGER.setdefault(_trigger, []).append(_number)


@lru_cache(maxsize=4096)  # every short text of a session is read three times
def _redact_short(text: str) -> str:
    return _redact_all(text)


def redact(text: str) -> str:
    """Return `text` with every secret that is known by its form replaced by `[redacted:kind]`.

    Takes time linear in the length of any text, changes nothing when applied again, never raises.
    """
    return _redact_short(text) if len(text) <= _SHORT else _redact_all(text)


def _redact_all(text: str) -> str:
    text = _redact(text)
    if "\\u" not in text:
        return text
    # JSON may spell the name of a secret with escapes; they are undone only where that tells.
    plain = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)
    redacted = _redact(plain)
    return text if redacted == plain else redacted


def _redact(text: str) -> str:
    lowered = _lower(text)
    found = [numbers for trigger, numbers in _BY_TRIGGER.items() if trigger in lowered]
    if not found:  # as in most texts
        return text
    for number in sorted({number for numbers in found for number in numbers}):
        text, lowered = _apply(RULES[number], text, lowered)
    return text


def _lower(text: str) -> str:
    """Return `text` in lower case, every character where it was."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(low if len(low := char.lower()) == 1 else char for char in text)


def _apply(rule: Rule, text: str, lowered: str) -> tuple[str, str]:
    """Return both forms of a text with the secrets of one kind replaced."""
    matches = rule.pattern.finditer(lowered if rule.ignores_case else text)
    spans = [match.span("secret") for match in matches]
    if not spans:
        return text, lowered
    mark = f"[redacted:{rule.kind}]"
    return _replace(text, spans, mark), _replace(lowered, spans, mark)


def _replace(text: str, spans: list[tuple[int, int]], mark: str) -> str:
    parts, end = [], 0
    for start, stop in spans:
        parts += [text[end:start], mark]
        end = stop
    return "".join([*parts, text[end:]])
