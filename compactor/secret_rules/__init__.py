"""The kinds of secrets that `redact` knows, in the order in which they are looked for.

What shows itself by its own form comes first, then what its place gives away, then what a name in
front of it says. Every quantifier is bounded or possessive, and every pattern begins with a literal
or looks at a bounded number of characters, so that no text takes more than linear time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compactor.secret_rules.keys import KEY_RULES
from compactor.secret_rules.pairs import PAIR_RULES
from compactor.secret_rules.places import PLACE_RULES
from compactor.secret_rules.private_keys import PRIVATE_KEY_RULES
from compactor.secret_rules.sentences import SENTENCE_RULES

if TYPE_CHECKING:
    from compactor.secret_rules.rule import Rule

RULES: tuple[Rule, ...] = (
    *PRIVATE_KEY_RULES,
    *KEY_RULES,
    *PLACE_RULES,
    *PAIR_RULES,
    *SENTENCE_RULES,
)
