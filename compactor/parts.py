"""What a pass works with, and what is asked of it; put together at the edge."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from compactor.halt import Halt

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from datetime import datetime

    from compactor.errors import StopError
    from compactor.journal import Journal
    from compactor.model import (
        CallLimits,
        IdlePolicy,
        Leap,
        PassPolicy,
        PlanPolicy,
        SessionReport,
    )
    from compactor.summarize import Summarizer
    from compactor.tokens import TokenCounter
    from compactor.ways import Way
    from session.store import SessionStore


@dataclass(frozen=True, slots=True)
class Parts:
    """What a pass works with. `clock` returns now, in UTC.

    `fallback` answers where `engine` failed, if the operator wants that. `ways` say for a place
    whether a compaction there has an effect.
    """

    store: SessionStore
    journal: Journal
    engine: Summarizer
    fallback: Summarizer | None
    counter: TokenCounter
    idle: IdlePolicy
    plan: PlanPolicy
    calls: CallLimits
    limits: PassPolicy
    clock: Callable[[], datetime]
    ways: Mapping[str, Way] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PassOptions:
    """What is asked of one pass.

    `keys` names sessions (empty for all), `folder` decides where a key stands in several. `force`
    ignores the TTL, `parked` and `held`. With `dry_run` nothing is asked of the engine, and nothing
    is written anywhere. `progress` is told of each session that is done with, and of how many.
    A `halt` ends it early; a `fault` of the endpoint's account that was met lately keeps it from
    asking. A `leap` of the clock makes nobody idle.
    """

    keys: Collection[str] = ()
    folder: str | None = None
    force: bool = False
    dry_run: bool = False
    progress: Callable[[SessionReport, int], None] = field(default=lambda _report, _total: None)
    halt: Halt = field(default_factory=Halt)
    fault: StopError | None = None
    leap: Leap | None = None
