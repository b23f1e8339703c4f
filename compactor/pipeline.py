"""One pass: scan, select, plan, summarize, apply, save, in this order for every session.

One bad session never stops the others. An answer is journaled before anything else is done with
it; what stands in a session's record is only ever changed by the store's conditional commit.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from loguru import logger

from compactor.apply import (
    apply_projection,
    is_written_over,
    landed_by,
    reapply_projection,
    still_says,
)
from compactor.backoff import next_try
from compactor.errors import CompactorError, FailureKind, SummaryError
from compactor.idle import select_idle, spoken_upto
from compactor.journal import Answer, Journal, LedgerEntry, SessionMemory
from compactor.model import (
    IdlePolicy,
    Outcome,
    PassReport,
    Plan,
    PlanPolicy,
    Reason,
    SessionReport,
    Verdict,
)
from compactor.plan import plan_compaction
from compactor.scan import Candidate, find_entries, scan_sessions, skip
from compactor.summarize import (
    Summarizer,
    accept_summary,
    build_request,
    check_gain,
    close_entry,
    fingerprint_of,
)
from session.errors import SessionFault, StoreError, UnreadableSessionError
from session.store import CommitStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from datetime import datetime

    from compactor.journal import Landed
    from compactor.tokens import TokenCounter
    from session.model import SessionRef
    from session.projection import ProjectionChange
    from session.store import SessionEntry, SessionStore, SessionTail, StoredSession

# What may have come up between the selection of a session and its commit.
_GATE = {Reason.ACTIVE, Reason.BUSY, Reason.OFF, Reason.EXCLUDED, Reason.UNREADABLE}


@dataclass(frozen=True, slots=True)
class Parts:
    """What a pass works with, put together at the edge. `clock` returns now, in UTC."""

    store: SessionStore
    journal: Journal
    engine: Summarizer
    counter: TokenCounter
    idle: IdlePolicy
    plan: PlanPolicy
    clock: Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class PassOptions:
    """What is asked of one pass.

    `keys` names sessions (empty for all), `folder` decides where a key stands in several. `force`
    ignores the TTL, `parked` and `held`. With `dry_run` nothing is asked of the engine, and nothing
    is written anywhere. `progress` is told of each session that is done with.
    """

    keys: Collection[str] = ()
    folder: str | None = None
    force: bool = False
    dry_run: bool = False
    progress: Callable[[int, int], None] = field(default=lambda _done, _total: None)


def run_pass(parts: Parts, options: PassOptions) -> PassReport:
    """Look at every session and compact those that are due.

    Raises `StoreError` and `JournalError`, which end the pass, and `UnknownSessionError` and
    `AmbiguousKeyError` for a key that names no session or several.
    """
    begin = time.monotonic()
    listed = parts.store.list_sessions()
    entries = find_entries(listed, options.keys, options.folder)
    memories = parts.journal.recall()
    if not options.dry_run and not options.keys:
        _forget_deleted(parts, listed, memories)
    scan = scan_sessions(
        parts.store, entries, memories, parts.idle, now=parts.clock(), force=options.force
    )
    reports = list(scan.skipped)
    for done, candidate in enumerate(scan.candidates, 1):
        memory = memories.get(candidate.entry.ref, SessionMemory())
        reports.append(_SessionPass(parts, options, candidate, memory).run())
        options.progress(done, len(scan.candidates))
    return PassReport(tuple(reports), time.monotonic() - begin)


def _forget_deleted(
    parts: Parts, listed: list[SessionEntry], memories: Mapping[SessionRef, SessionMemory]
) -> None:
    """Forget the texts of sessions that are gone from folders that are still there."""
    here, places = {entry.ref for entry in listed}, set(parts.store.places)
    gone = [ref for ref in memories if ref.place in places and ref not in here]
    if gone:
        parts.journal.forget(gone)


@dataclass(frozen=True, slots=True)
class _SessionPass:
    """What a pass does with one session that looked due."""

    parts: Parts
    options: PassOptions
    candidate: Candidate
    memory: SessionMemory

    def run(self) -> SessionReport:
        """Bring the session through the stages, whatever happens in them."""
        begin = time.monotonic()
        try:
            report = self._run()
        except UnreadableSessionError as error:
            report = self._skip(Verdict(Reason.UNREADABLE, error.problem))
        except StoreError:
            raise
        except SummaryError as error:
            report = self._report(Outcome.FAILED, error.kind, error.problem)
        except CompactorError:
            raise  # of ours, and not this session's: it says itself what to do
        except SessionFault as error:
            report = self._report(Outcome.FAILED, FailureKind.STORE, str(error))
        except Exception as error:  # noqa: BLE001 - the one place around one session of one pass
            # Its text may quote a message or a key: only its kind is told.
            report = self._report(Outcome.FAILED, FailureKind.INTERNAL, type(error).__name__)
        if report.outcome is Outcome.SKIPPED:
            return report
        report = replace(report, seconds=time.monotonic() - begin)
        if not self.options.dry_run:
            self._conclude(report)
        return report

    def _run(self) -> SessionReport:
        session = self.parts.store.load(self.candidate.entry)
        verdict = self._select(session.tail)
        if verdict.reason is not Reason.DUE:
            return self._skip(verdict, session)
        landed = self.memory.landed
        if landed is not None and not still_says(session, landed):
            if not self.options.dry_run:
                self.parts.journal.forget([session.ref])  # cleared: its texts go with it
        elif landed is not None and is_written_over(session, landed):
            return self._reapply(session, landed)
        plan = plan_compaction(
            session.messages, session.projection, self.parts.plan, self.parts.counter
        )
        if isinstance(plan, Verdict):
            return self._skip(plan, session)
        if self.options.dry_run:
            return self._report(
                Outcome.WOULD_COMPACT,
                messages=len(session.messages),
                covers=plan.covers,
                tokens_before=plan.tokens_before,
                tokens_after=plan.tokens_after,
                engine=self.parts.engine.name,
                model=self.parts.engine.model,
            )
        return self._compact(session, plan)

    def _compact(self, session: StoredSession, plan: Plan) -> SessionReport:
        parts = self.parts
        answer, body = self._ask(session, plan)
        entry = close_entry(body, session, plan, parts.plan, parts.counter)
        tokens_after = check_gain(entry, plan, parts.plan, parts.counter)
        change = apply_projection(
            session,
            plan.covers,
            entry,
            answer,
            tokens_before=plan.tokens_before,
            tokens_after=tokens_after,
            counter=parts.counter.encoding,
        )
        report = self._report(
            Outcome.COMPACTED,
            messages=len(session.messages),
            covers=plan.covers,
            tokens_before=plan.tokens_before,
            tokens_after=tokens_after,
            engine=answer.engine,
            model=answer.model,
        )
        return self._save(session, change, report)

    def _ask(self, session: StoredSession, plan: Plan) -> tuple[Answer, str]:
        """Return the journaled answer to this question, or ask, and journal what comes."""
        parts = self.parts
        request = build_request(session, plan, parts.plan, parts.counter)
        fingerprint = fingerprint_of(request, parts.engine)
        answer = parts.journal.find_answer(fingerprint)
        if answer is None:
            summary = parts.engine.summarize(request)
            answer = Answer(
                fingerprint,
                summary.text,
                parts.engine.name,
                parts.engine.model,
                parts.engine.prompt,
                parts.clock(),
            )
            parts.journal.keep_answer(session.ref, answer)
        return answer, accept_summary(answer.text, request, parts.counter)

    def _reapply(self, session: StoredSession, landed: Landed) -> SessionReport:
        """Put a compaction that was written over back, at most once while nobody speaks."""
        upto = spoken_upto(session.messages)
        if landed.reapplied_at == upto:
            return self._skip(
                Verdict(
                    Reason.NO_EFFECT,
                    "the agent wrote over the compaction twice: it does not see it "
                    "(compact while it is stopped, with --agent-stopped)",
                ),
                session,
            )
        change = reapply_projection(session, landed)
        outcome = Outcome.WOULD_COMPACT if self.options.dry_run else Outcome.REAPPLIED
        report = self._report(
            outcome,
            detail="it was written over",
            messages=len(session.messages),
            covers=landed.covers,
            tokens_before=landed.stamp["tokens_before"],
            tokens_after=landed.stamp["tokens_after"],
            engine=landed.stamp["engine"],
            model=landed.stamp["model"],
        )
        if self.options.dry_run:
            return report
        return self._save(session, change, report, reapplied_at=upto)

    def _save(
        self,
        session: StoredSession,
        change: ProjectionChange,
        report: SessionReport,
        *,
        reapplied_at: int | None = None,
    ) -> SessionReport:
        """Commit, if the session is still what it was and still idle."""
        blocked: list[Verdict] = []

        def gate(tail: SessionTail) -> str | None:
            verdict = self._select(tail)
            if verdict.reason in _GATE:
                blocked.append(verdict)
                return verdict.detail
            return None

        result = self.parts.store.commit(session, change, gate)
        if result.status is CommitStatus.COMMITTED:
            landed = replace(landed_by(session, change), reapplied_at=reapplied_at)
            self.parts.journal.note_landed(session.ref, landed)
            return report
        reason = blocked[0].reason if blocked else "changed"
        return replace(report, outcome=Outcome.CONFLICT, reason=reason, detail=result.detail)

    def _select(self, tail: SessionTail) -> Verdict:
        return select_idle(
            tail,
            self.memory,
            self.parts.idle,
            now=self.parts.clock(),
            force=self.options.force,
        )

    def _skip(self, verdict: Verdict, session: StoredSession | None = None) -> SessionReport:
        report = skip(self.candidate.entry, verdict, self.candidate.idle_since)
        if session is None:
            return report
        return replace(
            report, messages=len(session.messages), covers=session.projection.covers or None
        )

    def _report(
        self, outcome: Outcome, reason: str | None = None, detail: str = "", **figures: object
    ) -> SessionReport:
        report = SessionReport(
            self.candidate.entry.ref,
            outcome,
            reason,
            detail,
            idle_since=self.candidate.idle_since,
        )
        return replace(report, **figures)  # type: ignore[arg-type]

    def _conclude(self, report: SessionReport) -> None:
        """Write the ledger and the log. Neither ever holds a text of the conversation."""
        self.parts.journal.write_ledger(
            report.ref,
            LedgerEntry(
                at=self.parts.clock(),
                outcome=report.outcome,
                reason=report.reason,
                engine=report.engine,
                model=report.model,
                tokens_before=report.tokens_before,
                tokens_after=report.tokens_after,
                seconds=report.seconds,
            ),
        )
        if report.outcome is Outcome.FAILED:
            until = next_try(report.ref.key, self.memory.failures, now=self.parts.clock())
            self.parts.journal.park(report.ref, until, str(report.reason))
        failed = report.outcome in {Outcome.FAILED, Outcome.CONFLICT}
        logger.bind(
            key=report.ref.key,
            folder=report.ref.folder,
            reason=report.reason,
            detail=report.detail,
            covers=report.covers,
            tokens_before=report.tokens_before,
            tokens_after=report.tokens_after,
            seconds=None if report.seconds is None else round(report.seconds, 3),
        ).log("WARNING" if failed else "INFO", f"session_{report.outcome}")
