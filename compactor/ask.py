"""Getting an answer: the journaled one, or a new one within the limits, made durable at once.

Nothing is asked twice that was answered, nothing is asked without bound: calls are counted per
session and day and per hour, an endpoint that keeps failing is left alone for the rest of the pass,
and a fault of the account ends it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from compactor.entry import clean_text
from compactor.errors import FailureKind, StopError, SummaryError
from compactor.journal import FOLDED, Answer, LedgerEntry
from compactor.judgement import Cost, better_of
from compactor.model import Reason, Verdict
from compactor.redact import redact
from compactor.summarize import (
    Question,
    Summarizer,
    Summary,
    SummaryRequest,
    fingerprint_of,
    shorten,
)
from compactor.turns import Turns

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from compactor.halt import Halt
    from compactor.journal import Journal
    from compactor.judgement import Judge, Judged
    from compactor.model import CallLimits, PassPolicy
    from compactor.turns import Preparation
    from session.model import SessionRef

Accepted = TypeVar("Accepted")

_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)
_BROKEN = "the endpoint keeps failing; asked again later"
_BREAK_AFTER = 3  # failures of the endpoint in a row
# Told of one session, but most likely met by the next one too.
_ENDPOINT_FAULTS = {
    FailureKind.RATE_LIMITED,
    FailureKind.UNAVAILABLE,
    FailureKind.TIMEOUT,
    FailureKind.BAD_REQUEST,
}


class Asker:
    """Asks an engine on behalf of one pass; safe to use from several threads.

    `fallback` answers in place of an engine that failed, if the operator wants that. At most
    `sessions` are worked on, as many at once as the policy allows are asked about, and none once
    there is a reason to `halt`, or a `fault` of the account.
    """

    def __init__(
        self,
        journal: Journal,
        engine: Summarizer,
        fallback: Summarizer | None,
        *,
        calls: CallLimits,
        limits: PassPolicy,
        halt: Halt,
        fault: StopError | None = None,
        clock: Callable[[], datetime],
    ) -> None:
        self.engine = engine
        self.stopped = fault
        self._journal = journal
        self._fallback = fallback
        self._limits = calls
        self._sessions = limits.sessions  # that may still be begun
        self.turns = Turns(limits.concurrency)
        self._halt = halt
        self._clock = clock
        self._mutex = Lock()
        self._has_room = False  # for answers, in the journal
        self._failures = 0  # of the endpoint, in a row
        self._made = 0 if engine.model is None else self._count_calls(_HOUR)

    def admit(self) -> Verdict | None:
        """Say why the pass may not work on another session, or count the one that it begins."""
        with self._mutex:
            if not self._sessions:
                return Verdict(Reason.STOPPED, "the pass has enough to do")
            self._sessions -= 1
        return None

    def get(
        self,
        ref: SessionRef,
        request: SummaryRequest,
        judge: Judge[Accepted],
        preparation: Preparation,
    ) -> tuple[Accepted, Cost] | Verdict:
        """Return what `judge` makes of an answer and what it cost, or why nothing may be asked.

        An answer that was paid for before is taken from the journal. The `preparation` is done once
        there is nothing left but to ask. Raises `SummaryError`, whose `calls` and `usage` are the
        whole cost.
        """
        known = self._journal.find_answer(fingerprint_of(request, self.engine))
        if known is not None:
            with suppress(SummaryError):  # we were killed before we saw that it breaks a rule
                return self._judge(known, judge, may_improve=False).value, Cost()
        return self._ask(ref, request, judge, preparation)

    def note_part(self, ref: SessionRef, cost: Cost) -> None:
        """Write the ledger of an answer on the way to one; nothing where it was known before."""
        if cost.calls:
            engine = self.engine
            entry = LedgerEntry(
                self._clock(), FOLDED, None, engine.name, engine.model, cost.calls, usage=cost.usage
            )
            self._journal.write_ledger(ref, entry)

    def stand_in(
        self, ref: SessionRef, request: SummaryRequest, judge: Judge[Accepted], error: SummaryError
    ) -> Accepted | None:
        """Return what comes of the fallback after an error, None where nothing does."""
        if self._fallback is None or isinstance(error, StopError):
            return None
        with suppress(SummaryError):  # what is told is why the engine failed
            summary = self._fallback.prepare(request)()
            answer = self._keep(ref, request, self._fallback, summary)
            return self._judge(answer, judge, may_improve=False).value
        return None

    def _make_room(self) -> None:
        """Pay for nothing that can't be kept: it would be paid for again in every pass."""
        with self._mutex:
            if self.engine.model is not None and not self._has_room:
                self._journal.make_room()
                self._has_room = True

    def _begin(self, request: SummaryRequest, today: int) -> Summarizer | Verdict:
        """Return whom to ask now, or why nobody may be asked; see `_take_call`."""
        if self._halt.reason:
            return Verdict(Reason.STOPPED, self._halt.reason)
        if self._is_broken() and self._fallback is not None:
            if request.goes_on:
                raise SummaryError(FailureKind.UNAVAILABLE, _BROKEN)
            return self._fallback
        refusal = None if self.engine.model is None else self._take_call(today)
        return refusal or self.engine

    def _count_today(self, ref: SessionRef) -> int:
        return self._count_calls(_DAY, ref)

    def _count_calls(self, span: timedelta, ref: SessionRef | None = None) -> int:
        """Count the calls of so long up to now: those of a clock that was ahead are none."""
        now = self._clock()
        return self._journal.count_calls(now - span, ref, until=now)

    def _take_call(self, today: int) -> Verdict | None:
        """Say why a session may not ask now, or count the call that it will make.

        `today` are those that it made already.
        """
        with self._mutex:
            if self.stopped is not None:
                return Verdict(Reason.STOPPED, self.stopped.problem)
            if self._is_broken():
                return Verdict(Reason.STOPPED, _BROKEN)
            if today >= self._limits.per_session_per_day:
                told = f"{today} calls in a day; see [limits] per_session_per_day"
                return Verdict(Reason.LIMITED, told)
            if self._made >= self._limits.per_hour:
                told = f"{self._made} calls in an hour; see [limits] calls_per_hour"
                return Verdict(Reason.LIMITED, told)
            self._made += 1
        return None

    def _ask(
        self,
        ref: SessionRef,
        request: SummaryRequest,
        judge: Judge[Accepted],
        preparation: Preparation,
    ) -> tuple[Accepted, Cost] | Verdict:
        """Ask until an answer is accepted or there is nobody left to ask."""
        self._make_room()
        spent, engine = Cost(), self.engine
        today = 0 if engine.model is None else self._count_today(ref)  # nobody else asks for it
        begun = False
        best: Judged[Accepted] | None = None
        while True:
            try:
                question = self._prepare(request, engine)
                preparation.done()
                with self.turns.ask():
                    if not begun:  # only now: much may have happened during the wait
                        whom = self._begin(request, today)
                        if isinstance(whom, Verdict):
                            return whom
                        if whom is not engine:
                            engine, question = whom, whom.prepare(request)
                    summary = self._summarize(question, engine)
                begun = True
                spent = spent.plus(summary.calls, summary.usage)
                may_improve = engine.model is not None and not request.is_second
                answer = self._keep(ref, request, engine, summary)
                judged = self._judge(answer, judge, may_improve=may_improve)
            except SummaryError as error:
                begun = True
                spent = spent.plus(error.calls, error.usage)
                if best is not None:
                    return best.value, spent
                error.calls, error.usage = spent.calls, spent.usage
                following = self._follow(ref, request, engine, error)
                if following is None:
                    raise
                request, engine = following
            else:
                if not (judged.missing and may_improve and self._may_repeat(ref, spent.calls)):
                    return better_of(best, judged).value, spent
                best, request = judged, replace(request, missing=judged.missing)

    def _may_repeat(self, ref: SessionRef, calls: int) -> bool:
        """Whether a session may ask once more, and count that call; `calls` it has just made."""
        if self._halt.reason or self._is_broken():
            return False
        today = self._count_today(ref) + calls  # those are not in the ledger yet
        return self._take_call(today) is None

    def _follow(
        self, ref: SessionRef, request: SummaryRequest, engine: Summarizer, error: SummaryError
    ) -> tuple[SummaryRequest, Summarizer] | None:
        """Return what to ask whom after a failure: the same once more, with what was wrong named.

        After that the fallback, if there is one; None where that was all. A part is not left to the
        fallback, which can do all of the rest; see `stand_in`.
        """
        if engine is self._fallback or isinstance(error, StopError) or shorten(request, error):
            return None
        improvable = error.kind is FailureKind.BAD_SUMMARY and not error.final
        if improvable and engine.model is not None and not request.is_second:
            again = replace(request, complaint=error.problem, missing=error.missing)
            today = self._count_today(ref) + error.calls  # those are not in the ledger yet
            if self._take_call(today) is None:
                return again, engine
        if self._fallback is None or request.goes_on:
            return None
        return request, self._fallback

    def _judge(
        self, answer: Answer, judge: Judge[Accepted], *, may_improve: bool
    ) -> Judged[Accepted]:
        try:
            return judge(answer, may_improve)
        except SummaryError:
            self._journal.drop_answer(answer.fingerprint)  # it must not be found again
            raise

    def _prepare(self, request: SummaryRequest, engine: Summarizer) -> Question:
        try:
            return engine.prepare(request)
        except SummaryError as error:
            self._note_fault(error)
            raise

    def _summarize(self, question: Question, engine: Summarizer) -> Summary:
        """Ask once, and count what came of it."""
        try:
            summary = question()
        except SummaryError as error:
            self._note_fault(error)
            raise
        if engine.model is not None:
            self._note_answer(summary.calls)
        return summary

    def _keep(
        self, ref: SessionRef, request: SummaryRequest, engine: Summarizer, summary: Summary
    ) -> Answer:
        """Make an answer durable before anything else is done with it."""
        answer = Answer(
            fingerprint_of(request, engine),
            redact(clean_text(summary.text)),
            engine.name,
            engine.model,
            engine.prompt,
            self._clock(),
        )
        self._journal.keep_answer(ref, answer)
        return answer

    def _is_broken(self) -> bool:
        return self._failures >= _BREAK_AFTER

    def _note_answer(self, calls: int) -> None:
        with self._mutex:
            self._failures = 0
            self._made += max(calls - 1, 0)  # the first was counted when it was allowed

    def _note_fault(self, error: SummaryError) -> None:
        with self._mutex:
            self._made += max(error.calls - 1, 0)
            if isinstance(error, StopError):
                self.stopped = self.stopped or error
            if error.kind in _ENDPOINT_FAULTS:
                self._failures += 1
