"""What the worker remembers of each session between passes: a Protocol and its values.

The journal makes an answer durable before anything else is done with it, so that nothing is paid
for twice, and it knows what an operator took back. It never decides anything.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from compactor.errors import FailureKind
from compactor.model import Outcome
from compactor.pass_log import PassLog, PassRecord, Totals

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from datetime import datetime

    from compactor.model import AuditFigure
    from session.model import SessionRef


COMPACTED = str(Outcome.COMPACTED)
# The outcome of a line for one answer on the way: a long session is asked about in parts. What it
# took stands there and not in the line of the attempt; only its seconds are among those of that.
FOLDED = "folded"
UNANSWERED = (FailureKind.UNAVAILABLE, FailureKind.RATE_LIMITED)


@dataclass(frozen=True, slots=True)
class Answer:
    """What an engine wrote, and for what.

    `fingerprint` is a digest of the question: the session's key, the covered content, the entry
    before it, engine, model, prompt and cap.
    """

    fingerprint: str
    text: str
    engine: str
    model: str | None
    prompt: str
    written_at: datetime


@dataclass(frozen=True, slots=True)
class Landed:
    """The compaction that was committed last: enough to apply it again without asking anybody.

    `base_covers` and `base_text` are the projection that it replaced (its cursor, and the digest of
    its entry or None). `reapplied_at` counts the messages up to the newest spoken one when it was
    last applied again, which names a stretch of idleness.
    """

    covers: int
    content: str
    entry: str
    stamp: Mapping[str, Any]
    base_covers: int
    base_text: str | None
    reapplied_at: int | None = None


@dataclass(frozen=True, slots=True)
class Undone:
    """A compaction that an operator took back, and how many messages there were then."""

    covers: int
    content: str
    messages: int


@dataclass(frozen=True, slots=True)
class SessionMemory:
    """All that is remembered of one session, but for the answers themselves."""

    landed: Landed | None = None
    undone: Undone | None = None
    parked_until: datetime | None = None
    parked_for: str = ""
    failures: int = 0


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One line of the append-only ledger: an attempt at a session and how it ended.

    `usage` holds the tokens as the endpoint reported them (`prompt`, `cached`, `completion`,
    `reasoning`), empty for an engine that asks nobody. `audit` is the figure of the entry, if its
    identifiers were looked for.
    """

    at: datetime
    outcome: str
    reason: str | None
    engine: str | None = None
    model: str | None = None
    calls: int = 0
    tokens_before: int | None = None
    tokens_after: int | None = None
    seconds: float | None = None
    usage: Mapping[str, int] = field(default_factory=dict)
    audit: AuditFigure | None = None


class Journal(PassLog, Protocol):
    """The worker's memory, of sessions and of passes.

    Every method is atomic and durable when it returns. A session's `place` and `key` name it.
    Methods raise `JournalError`.
    """

    def recall(self) -> Mapping[SessionRef, SessionMemory]:
        """Return the memory of every session that has one, or an answer."""

    def find_answer(self, fingerprint: str) -> Answer | None:
        """Return the answer to that question, unless it has landed or was undone since."""

    def make_room(self) -> None:
        """See to it that answers can be kept, before any is paid for."""

    def keep_answer(self, ref: SessionRef, answer: Answer) -> None:
        """Remember an answer."""

    def drop_answer(self, fingerprint: str) -> None:
        """Forget an answer that turned out to break a rule."""

    def count_calls(
        self, since: datetime, ref: SessionRef | None = None, *, until: datetime
    ) -> int:
        """Return how many calls the ledger has from then to then: all, or those of one session.

        Of a session, calls that an endpoint which was down or busy never answered do not count: it
        is its growing delay that bounds those, and it is due again when that ends. Nor do those for
        a part of it (`FOLDED`): they are progress that is kept, and no failures.
        """

    def count_outcomes(self, outcome: str, since: datetime) -> int:
        """Return how many attempts ended so since then, according to the ledger."""

    def costs_of(self, ref: SessionRef) -> list[LedgerEntry]:
        """Return the ledger's lines of what led to the entry that landed last, oldest first.

        These are the newest compaction and all lines of the session since the one before it; none
        where nothing has landed.
        """

    def note_landed(self, ref: SessionRef, landed: Landed) -> None:
        """Remember what was committed, in place of what was committed or undone before.

        Answers of the session have served their time and are forgotten; its failures too.
        """

    def note_undone(self, ref: SessionRef, undone: Undone) -> None:
        """Remember what an operator took back; answers of the session are forgotten."""

    def park(self, ref: SessionRef, until: datetime | None, reason: str) -> None:
        """Leave a session alone until then, counting its failures; None lets it go again."""

    def write_ledger(self, ref: SessionRef, entry: LedgerEntry) -> None:
        """Add a line to the ledger."""

    def forget(self, refs: Collection[SessionRef]) -> None:
        """Forget all texts of these sessions: they were deleted or cleared."""

    def close(self) -> None:
        """Let go of what the journal holds open."""


class MemoryJournal:
    """A journal that lasts as long as the process: for passes that must not leave a trace."""

    def __init__(self) -> None:
        self._memories: dict[SessionRef, SessionMemory] = {}
        self._answers: dict[str, tuple[SessionRef, Answer]] = {}
        self.ledger: list[tuple[SessionRef, LedgerEntry]] = []
        self._passes: list[PassRecord] = []

    def recall(self) -> Mapping[SessionRef, SessionMemory]:
        """See `Journal`."""
        return dict(self._memories)

    def find_answer(self, fingerprint: str) -> Answer | None:
        """See `Journal`."""
        found = self._answers.get(fingerprint)
        return found[1] if found else None

    def make_room(self) -> None:
        """See `Journal`."""

    def keep_answer(self, ref: SessionRef, answer: Answer) -> None:
        """See `Journal`."""
        self._answers[answer.fingerprint] = (ref, answer)
        self._memories.setdefault(ref, SessionMemory())

    def drop_answer(self, fingerprint: str) -> None:
        """See `Journal`."""
        self._answers.pop(fingerprint, None)

    def count_calls(
        self, since: datetime, ref: SessionRef | None = None, *, until: datetime
    ) -> int:
        """See `Journal`."""
        return sum(
            entry.calls
            for about, entry in self.ledger
            if since <= entry.at <= until and (ref is None or (ref == about and _counts(entry)))
        )

    def count_outcomes(self, outcome: str, since: datetime) -> int:
        """See `Journal`."""
        return sum(entry.outcome == outcome and entry.at >= since for _, entry in self.ledger)

    def costs_of(self, ref: SessionRef) -> list[LedgerEntry]:
        """See `Journal`."""
        lines = [entry for about, entry in self.ledger if about == ref]
        ends = [at for at, entry in enumerate(lines, 1) if entry.outcome == COMPACTED]
        begin, end = ([0, 0, *ends])[-2:]
        return lines[begin:end]

    def note_pass(self, record: PassRecord) -> None:
        """See `PassLog`."""
        self._passes.append(record)

    def last_passes(self, limit: int) -> list[PassRecord]:
        """See `PassLog`."""
        return self._passes[: -limit - 1 : -1]

    def sum_up(self, since: datetime | None) -> Totals:
        """See `PassLog`."""
        totals = Totals()
        for _, entry in self.ledger:
            if since is None or entry.at >= since:
                tokens = (entry.tokens_before or 0, entry.tokens_after or 0)
                usage = (entry.usage.get("prompt", 0), entry.usage.get("completion", 0))
                totals = totals.plus(entry.outcome, (1, entry.calls, *tokens, *usage))
        return totals

    def note_landed(self, ref: SessionRef, landed: Landed) -> None:
        """See `Journal`."""
        self._drop_answers({ref})
        self._memories[ref] = SessionMemory(landed)

    def note_undone(self, ref: SessionRef, undone: Undone) -> None:
        """See `Journal`."""
        self._drop_answers({ref})
        self._change(ref, landed=None, undone=undone)

    def park(self, ref: SessionRef, until: datetime | None, reason: str) -> None:
        """See `Journal`."""
        failures = 0 if until is None else self._memory(ref).failures + 1
        self._change(ref, parked_until=until, parked_for=reason, failures=failures)

    def write_ledger(self, ref: SessionRef, entry: LedgerEntry) -> None:
        """See `Journal`."""
        self.ledger.append((ref, entry))

    def forget(self, refs: Collection[SessionRef]) -> None:
        """See `Journal`."""
        self._drop_answers(set(refs))
        for ref in refs:
            self._memories.pop(ref, None)

    def close(self) -> None:
        """See `Journal`."""

    def _memory(self, ref: SessionRef) -> SessionMemory:
        return self._memories.get(ref, SessionMemory())

    def _change(self, ref: SessionRef, **changed: Any) -> None:  # noqa: ANN401 - fields of any type
        self._memories[ref] = dataclasses.replace(self._memory(ref), **changed)

    def _drop_answers(self, refs: set[SessionRef]) -> None:
        self._answers = {
            fingerprint: kept for fingerprint, kept in self._answers.items() if kept[0] not in refs
        }


def _counts(entry: LedgerEntry) -> bool:
    """Whether the calls of a line are held against its session."""
    return entry.reason not in UNANSWERED and entry.outcome != FOLDED
