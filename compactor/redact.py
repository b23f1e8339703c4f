"""Taking secrets out of text: `redact` puts `[redacted:kind]` in their place.

Each kind of secret is a row of `secret_rules.RULES`; here is only how a row is applied. What looks
like a secret and is none (a UUID, a git hash, a reservation code) is worth more than a guess, so a
row needs either a prefix that nobody else uses or a name in front of it that says what follows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compactor.secret_rules import RULES

if TYPE_CHECKING:
    from re import Match

    from compactor.secret_rules import Rule


def redact(text: str) -> str:
    """Return `text` with every secret that is known by its form replaced by `[redacted:kind]`.

    Takes time linear in the length of any text, changes nothing when applied again, never raises.
    """
    lowered = text.lower()
    for rule in RULES:
        for trigger in rule.triggers:
            if trigger in lowered:
                text = _apply(rule, text)
                break
    return text


def _apply(rule: Rule, text: str) -> str:
    mark = f"[redacted:{rule.kind}]"

    def replace(match: Match[str]) -> str:
        whole, start = match[0], match.start()
        begin, end = match.span("secret")
        return whole[: begin - start] + mark + whole[end - start :]

    return rule.pattern.sub(replace, text)
