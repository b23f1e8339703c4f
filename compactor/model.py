"""The values that pass from stage to stage, and the closed sets of words that describe them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, timedelta, tzinfo

    from compactor.errors import StopError
    from session.errors import StoreError
    from session.model import SessionRef


class Reason(StrEnum):
    """What a scan says of a session; everything but `due` is why it was left alone."""

    DUE = "due"
    UNREADABLE = "unreadable"
    OFF = "off"
    EXCLUDED = "excluded"
    ACTIVE = "active"
    BUSY = "busy"
    SMALL = "small"
    COVERED = "covered"
    HELD = "held"
    PARKED = "parked"
    LIMITED = "limited"
    STOPPED = "stopped"
    NO_EFFECT = "no_effect"
    NO_GAIN_EXPECTED = "no_gain_expected"


class Outcome(StrEnum):
    """What a pass did with a session."""

    COMPACTED = "compacted"
    REAPPLIED = "reapplied"
    WOULD_COMPACT = "would_compact"
    SKIPPED = "skipped"
    CONFLICT = "conflict"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Leap:
    """The clock was set forward `by` so much while we looked, and showed `at` right after that."""

    by: timedelta
    at: datetime

    def age_of(self, moment: datetime, now: datetime) -> timedelta:
        """Return how long ago that was at least, whichever clock it was written by."""
        if moment >= self.at:
            return now - moment
        return max(now - moment - self.by, now - self.at)


@dataclass(frozen=True, slots=True)
class IdlePolicy:
    """When a session is idle.

    `ttl` and `channels` (per channel) are None for off. `zone` is that of times without an offset;
    with `zone_is_local` nobody has named it, and a file's own time may speak against it. After a
    `leap` of the clock what was said before it is no older than it was.
    """

    ttl: timedelta | None
    channels: Mapping[str, timedelta | None]
    exclude: tuple[str, ...]
    stuck_after: timedelta
    zone: tzinfo
    zone_is_local: bool
    leap: Leap | None = None

    def ttl_of(self, ref: SessionRef) -> timedelta | None:
        """Return the TTL that holds for a session."""
        return self.channels.get(ref.channel, self.ttl)


@dataclass(frozen=True, slots=True)
class PlanPolicy:
    """How much is kept, and what is too little to bother; all in messages or tokens.

    `entry_tokens` is the cap of the entry; `min_gain` the least share by which a session shrinks.
    """

    keep_messages: int
    keep_tokens: int
    min_tokens: int
    min_new_tokens: int
    entry_tokens: int
    min_gain: float


@dataclass(frozen=True, slots=True)
class PassPolicy:
    """How much one pass may do: at once, in all, and for how long.

    Calls that are under way at its end may go on for the `grace` period.
    """

    concurrency: int
    sessions: int
    deadline: timedelta
    grace: timedelta


@dataclass(frozen=True, slots=True)
class CallLimits:
    """How many calls may be made, per session within 24 hours and in all within one."""

    per_session_per_day: int
    per_hour: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a scan says of a session, in a word and in a sentence."""

    reason: Reason
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be covered.

    `covers` messages in all, the first `start` of them already. `quoted` is the position of the
    user message of a last turn that had to be cut inside: it is covered, and quoted in the entry.
    Tokens are those of what a model would be sent, `after` at its worst; `quote_tokens` are those
    that the quotes in the entry may take beside its cap.
    """

    start: int
    covers: int
    quoted: int | None
    quote_tokens: int
    tokens_before: int
    tokens_kept: int
    tokens_after: int


@dataclass(frozen=True, slots=True)
class AuditFigure:
    """How many of the identifiers that matter are in the entry, and how many were appended."""

    wanted: int
    found: int
    appended: int


@dataclass(frozen=True, slots=True)
class SessionReport:
    """What a pass did with one session. Times are in seconds."""

    ref: SessionRef
    outcome: Outcome
    reason: str | None = None
    detail: str = ""
    messages: int | None = None
    covers: int | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None
    audit: AuditFigure | None = None
    engine: str | None = None
    model: str | None = None
    seconds: float | None = None
    idle_since: datetime | None = None


@dataclass(frozen=True, slots=True)
class PassReport:
    """What a pass did. `sessions` holds every session that was scanned.

    `stopped_by` is the fault that ended it early, if one did; `halted` says why it was ended from
    outside, and is empty where it was not. `faults` are what kept single places of the store from
    being looked at.
    """

    sessions: tuple[SessionReport, ...]
    seconds: float
    stopped_by: StopError | None = None
    halted: str = ""
    faults: tuple[StoreError, ...] = ()

    def count(self, outcome: Outcome) -> int:
        """Return how many sessions ended so."""
        return sum(session.outcome is outcome for session in self.sessions)

    @property
    def due(self) -> tuple[SessionReport, ...]:
        """The sessions that were due, whatever became of them."""
        return tuple(s for s in self.sessions if s.outcome is not Outcome.SKIPPED)

    @property
    def skipped(self) -> dict[str, int]:
        """How many sessions were left alone, by reason."""
        counts: dict[str, int] = {}
        for session in self.sessions:
            if session.outcome is Outcome.SKIPPED:
                reason = session.reason or ""
                counts[reason] = counts.get(reason, 0) + 1
        return counts
