"""What is measured, and how: the best of several rounds, ours in relation to a bare baseline."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class Measure:
    """One comparison; both times are in seconds and from the same run."""

    part: str
    what: str
    baseline: str
    ours: float
    bare: float

    @property
    def ratio(self) -> float:
        """How many times as long ours takes."""
        return self.ours / self.bare

    def describe(self) -> dict[str, Any]:
        """Return the measure as it stands in the JSON document."""
        return asdict(self) | {"ratio": self.ratio}


def take_best(rounds: int, call: Callable[[], object]) -> float:
    """Return how many seconds the fastest of several calls took."""
    return min(take_time(call) for _ in range(rounds))


def take_time(call: Callable[[], object]) -> float:
    """Return how many seconds a call took."""
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin
