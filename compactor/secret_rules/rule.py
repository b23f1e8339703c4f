"""What a rule is: a kind of secret, what must stand in a text that has one, and its pattern."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

START = r"(?<![A-Za-z0-9_-])"  # a prefix counts at the start of a word only: `task-abc` has none


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of secret; the pattern's group `secret` is what gets replaced.

    `triggers` are lower case; without one of them there is no match. Where case doesn't matter the
    pattern is in lower case too and reads the text in lower case: that is several times as fast as
    a flag, which keeps the engine from skipping what no match can begin with.

    A pattern is compiled when a text has one of its triggers: all of them together take a third of
    a second, and most commands need none.
    """

    kind: str
    triggers: tuple[str, ...]
    source: str
    flags: int = 0
    ignores_case: bool = False

    @property
    def pattern(self) -> re.Pattern[str]:
        """The compiled pattern."""
        return _compile(self.source, self.flags)


@cache
def _compile(source: str, flags: int) -> re.Pattern[str]:
    return re.compile(source, flags)


def key_rule(kind: str, *prefixes: str, body: str) -> Rule:
    """Return the rule of a key that begins with one of the literal `prefixes`."""
    alternatives = "|".join(re.escape(prefix) for prefix in prefixes)
    source = f"{START}(?P<secret>(?:{alternatives}){body})"
    return Rule(kind, tuple(prefix.lower() for prefix in prefixes), source)


def form_rule(kind: str, *triggers: str, pattern: str) -> Rule:
    """Return the rule of a `pattern` in which upper and lower case matter."""
    return Rule(kind, triggers, pattern)


def place_rule(kind: str, *triggers: str, pattern: str) -> Rule:
    """Return the rule of a `pattern` in lower case, for which all text is."""
    return Rule(kind, triggers, pattern, ignores_case=True)
