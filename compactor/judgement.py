"""What came of an answer: what was made of it, what it lacks, and what asking for it took."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from compactor.journal import Answer

if TYPE_CHECKING:
    from collections.abc import Mapping

Accepted = TypeVar("Accepted")


@dataclass(frozen=True, slots=True)
class Cost:
    """What asking took: calls, and tokens as they were counted (see `LedgerEntry`)."""

    calls: int = 0
    usage: Mapping[str, int] = field(default_factory=dict)

    def plus(self, calls: int, usage: Mapping[str, int]) -> Cost:
        """Return the sum of this and of more."""
        names = dict.fromkeys((*self.usage, *usage))
        total = {name: self.usage.get(name, 0) + usage.get(name, 0) for name in names}
        return Cost(self.calls + calls, total)


@dataclass(frozen=True, slots=True)
class Judged(Generic[Accepted]):
    """What was made of an answer; `missing` are the identifiers that a better one would name."""

    value: Accepted
    missing: tuple[str, ...] = ()


Judge = Callable[[Answer, bool], Judged[Accepted]]
"""Makes something of an answer, or raises `SummaryError`; True where it may be asked once more."""


def better_of(first: Judged[Accepted] | None, second: Judged[Accepted]) -> Judged[Accepted]:
    """Return the one that lacks less: the second, where there is no difference."""
    return first if first is not None and len(first.missing) < len(second.missing) else second
