"""What a pass does with one session that looked due: load, select, plan, summarize, apply, save."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from loguru import logger

from compactor.apply import (
    apply_projection,
    is_written_over,
    landed_by,
    reapply_projection,
    still_says,
)
from compactor.backoff import LONGEST, next_try
from compactor.errors import STOPPING, CompactorError, FailureKind, SummaryError
from compactor.events import Event
from compactor.fold import ask_in_parts
from compactor.idle import select_idle, spoken_upto
from compactor.journal import LedgerEntry
from compactor.judge import SummaryJudge
from compactor.judgement import Cost
from compactor.model import Outcome, Reason, SessionReport, Verdict
from compactor.plan import plan_compaction
from compactor.rhythm import warn_of_rhythm
from compactor.scan import skip
from compactor.summarize import build_request
from session.errors import SessionFault, StoreError, UnreadableSessionError
from session.store import CommitStatus

if TYPE_CHECKING:
    from compactor.ask import Asker
    from compactor.journal import Landed, SessionMemory
    from compactor.model import Plan
    from compactor.parts import Parts, PassOptions
    from compactor.scan import Candidate
    from compactor.turns import Preparation
    from session.projection import ProjectionChange
    from session.store import SessionTail, StoredSession

# What may have come up between the selection of a session and its commit.
_GATE = {Reason.ACTIVE, Reason.BUSY, Reason.OFF, Reason.EXCLUDED, Reason.UNREADABLE}


class SessionPass:
    """What a pass does with one session."""

    def __init__(
        self,
        parts: Parts,
        options: PassOptions,
        asker: Asker,
        candidate: Candidate,
        memory: SessionMemory,
        *,
        preparation: Preparation,
    ) -> None:
        self._parts = parts
        self._options = options
        self._asker = asker
        self._candidate = candidate
        self._memory = memory
        self._preparation = preparation
        self._cost = Cost()

    def run(self) -> SessionReport:
        """Bring the session through the stages, whatever happens in them.

        Raises only what ends a whole pass: `StoreError` and `JournalError`.
        """
        begin = time.monotonic()
        retry_after = None
        try:
            report = self._run()
        except UnreadableSessionError as error:
            report = self._skip(Verdict(Reason.UNREADABLE, error.problem))
        except StoreError:
            raise
        except SummaryError as error:
            engine = self._asker.engine
            report = self._report(
                Outcome.FAILED, error.kind, error.detail, engine=engine.name, model=engine.model
            )
            self._cost = Cost(error.calls, error.usage)
            retry_after = error.retry_after
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
        if not self._options.dry_run:
            self._conclude(report, retry_after)
        return report

    def _run(self) -> SessionReport:
        session = self._parts.store.load(self._candidate.entry)
        verdict = self._select(session.tail)
        if verdict.reason is not Reason.DUE:
            return self._skip(verdict, session)
        landed = self._memory.landed
        if landed is not None and not still_says(session, landed):
            if not self._options.dry_run:
                self._parts.journal.forget([session.ref])  # cleared: its texts go with it
        elif landed is not None and is_written_over(session, landed):
            return self._reapply(session, landed)
        plan = plan_compaction(
            session.messages, session.projection, self._parts.plan, self._parts.counter
        )
        if isinstance(plan, Verdict):
            return self._skip(plan, session)
        refusal = self._asker.admit()
        if refusal is not None:
            return self._skip(refusal, session)
        if self._options.dry_run:
            return self._report(
                Outcome.WOULD_COMPACT,
                messages=len(session.messages),
                covers=plan.covers,
                tokens_before=plan.tokens_before,
                tokens_after=plan.tokens_after,
                engine=self._asker.engine.name,
                model=self._asker.engine.model,
            )
        return self._compact(session, plan)

    def _compact(self, session: StoredSession, plan: Plan) -> SessionReport:
        parts = self._parts
        request = build_request(session, plan, parts.plan, parts.counter)

        judge = SummaryJudge(session, plan, request, parts.plan, parts.counter)
        got = ask_in_parts(
            self._asker,
            session.ref,
            request,
            judge.judge,
            judge_part=judge.judge_part,
            preparation=self._preparation,
        )
        if isinstance(got, Verdict):
            return self._skip(got, session)
        accepted, self._cost = got
        answer = accepted.answer
        change = apply_projection(
            session,
            plan.covers,
            accepted.entry,
            answer,
            tokens_before=plan.tokens_before,
            tokens_after=accepted.tokens_after,
            counter=parts.counter.encoding,
        )
        report = self._report(
            Outcome.COMPACTED,
            messages=len(session.messages),
            covers=plan.covers,
            tokens_before=plan.tokens_before,
            tokens_after=accepted.tokens_after,
            audit=accepted.audit,
            engine=answer.engine,
            model=answer.model,
        )
        return self._save(session, change, report)

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
        outcome = Outcome.WOULD_COMPACT if self._options.dry_run else Outcome.REAPPLIED
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
        if self._options.dry_run:
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
        self._preparation.done()
        blocked: list[Verdict] = []

        def gate(tail: SessionTail) -> str | None:
            verdict = self._select(tail)
            if verdict.reason in _GATE:
                blocked.append(verdict)
                return verdict.detail
            return None

        result = self._parts.store.commit(session, change, gate)
        if result.status is CommitStatus.COMMITTED:
            landed = replace(landed_by(session, change), reapplied_at=reapplied_at)
            self._parts.journal.note_landed(session.ref, landed)
            self._warn_of_rhythm(session)
            return report
        reason = blocked[0].reason if blocked else "changed"
        return replace(report, outcome=Outcome.CONFLICT, reason=reason, detail=result.detail)

    def _warn_of_rhythm(self, session: StoredSession) -> None:
        """Tell of a heartbeat, whose session is compacted after each beat."""
        told = warn_of_rhythm(session.tail, self._parts.idle)
        if told is not None:
            about = logger.bind(key=session.ref.key, folder=session.ref.folder, detail=told)
            about.warning(Event.RHYTHM_FOUND)

    def _select(self, tail: SessionTail) -> Verdict:
        return select_idle(
            tail,
            self._memory,
            self._parts.idle,
            now=self._parts.clock(),
            force=self._options.force,
        )

    def _skip(self, verdict: Verdict, session: StoredSession | None = None) -> SessionReport:
        report = skip(self._candidate.entry, verdict, self._candidate.idle_since)
        if session is None:
            return report
        return replace(
            report, messages=len(session.messages), covers=session.projection.covers or None
        )

    def _report(
        self, outcome: Outcome, reason: str | None = None, detail: str = "", **figures: object
    ) -> SessionReport:
        report = SessionReport(
            self._candidate.entry.ref,
            outcome,
            reason,
            detail,
            idle_since=self._candidate.idle_since,
        )
        return replace(report, **figures)  # type: ignore[arg-type]

    def _conclude(self, report: SessionReport, retry_after: timedelta | None) -> None:
        """Write the ledger and the log. Neither ever holds a text of the conversation."""
        self._parts.journal.write_ledger(
            report.ref,
            LedgerEntry(
                at=self._parts.clock(),
                outcome=report.outcome,
                reason=report.reason,
                engine=report.engine,
                model=report.model,
                calls=self._cost.calls,
                tokens_before=report.tokens_before,
                tokens_after=report.tokens_after,
                seconds=report.seconds,
                usage=self._cost.usage,
                audit=report.audit,
            ),
        )
        # A fault of the account is not the session's: it is due again as soon as that is mended.
        if report.outcome is Outcome.FAILED and report.reason not in STOPPING:
            now = self._parts.clock()
            until = next_try(report.ref.key, self._memory.failures, now=now)
            until = max(until, now + min(retry_after or timedelta(), LONGEST))
            why = ": ".join(filter(None, (str(report.reason), report.detail)))
            self._parts.journal.park(report.ref, until, why)
        failed = report.outcome in {Outcome.FAILED, Outcome.CONFLICT}
        logger.bind(
            key=report.ref.key,
            folder=report.ref.folder,
            reason=report.reason,
            detail=report.detail,
            covers=report.covers,
            calls=self._cost.calls or None,
            tokens_before=report.tokens_before,
            tokens_after=report.tokens_after,
            seconds=None if report.seconds is None else round(report.seconds, 3),
        ).log("WARNING" if failed else "INFO", Event(f"session_{report.outcome}"))
