"""What is made of an answer: an entry, its figure, or the reason why it is none.

An answer that breaks a rule is refused, and asked for once more. One that only left out what it
should name is good enough: it may be asked for once more, and what is still missing is appended.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from compactor.audit import audit_figure, find_missing, render_missing, select_wanted
from compactor.entry import Heading, parse_sections, render_sections
from compactor.errors import FailureKind, SummaryError
from compactor.held import HeldFacts
from compactor.judgement import Judged
from compactor.language import find_foreign_script
from compactor.readable import joined_text
from compactor.summarize import accept_summary, check_gain, close_entry
from session.message import spoken_flags

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compactor.journal import Answer
    from compactor.judgement import Judge
    from compactor.model import AuditFigure, Plan, PlanPolicy
    from compactor.summarize import SummaryRequest
    from compactor.tokens import TokenCounter
    from session.store import StoredSession

_WORTH_ASKING = 0.2  # of what is wanted: for less nobody pays a second time
_LIST_SHARE = 3  # the list of what is missing gets this part of the entry at most
_MANY, _FEW = 12, 3  # of so many identifiers at least so few must be named


@dataclass(frozen=True, slots=True)
class Accepted:
    """An answer that is good enough, the entry that was made of it, and its figures."""

    answer: Answer
    entry: str
    tokens_after: int
    audit: AuditFigure


class SummaryJudge:
    """Judges the answers for one session."""

    def __init__(
        self,
        session: StoredSession,
        plan: Plan,
        request: SummaryRequest,
        policy: PlanPolicy,
        counter: TokenCounter,
    ) -> None:
        self._session = session
        self._plan = plan
        self._request = request
        self._policy = policy
        self._counter = counter
        self._wanted: tuple[str, ...] | None = None
        self._had_decisions = False  # in the first answer, if that was good enough
        self._held = HeldFacts(request.previous, (*request.covered, *request.kept))
        self._lost: dict[str, tuple[str, ...]] | None = None  # by the first answer

    def judge(self, answer: Answer, may_improve: bool) -> Judged[Accepted]:
        """Return the entry made of an answer; raises `SummaryError`. See `Judge`."""
        request = self._request
        if self._wanted is None:  # it takes its time, and most passes ask for nothing
            self._wanted = select_wanted(request.covered)
        body = self._accept(answer, request, may_improve=may_improve)
        missing = find_missing(self._wanted, body)
        if may_improve:
            self._check_worth(answer, self._wanted, missing)
        self._check_sections(body, may_improve=may_improve)
        lost = self._held.find_lost(body)
        named = [] if self._lost is None else [line for line in lost if line not in self._lost]
        if may_improve:
            self._lost = lost
        body, appended = self._append(body, named, missing, request.max_tokens)
        entry = close_entry(body, self._session, self._plan, self._policy, self._counter)
        after = check_gain(entry, self._plan, self._policy, self._counter)
        figure = audit_figure(self._wanted, missing, appended)
        asked_for = missing if len(missing) >= _WORTH_ASKING * len(self._wanted) else ()
        names = [name for names in lost.values() for name in names]
        return Judged(Accepted(answer, entry, after, figure), (*asked_for, *names))

    def judge_part(self, part: SummaryRequest) -> Judge[str]:
        """Return the judge of a part: what is missing is appended, and nothing is asked again."""

        def judge(answer: Answer, may_improve: bool) -> Judged[str]:
            body = self._accept(answer, part, may_improve=may_improve)
            missing = find_missing(select_wanted(part.covered), body)
            return Judged(self._append(body, (), missing, part.max_tokens)[0])

        return judge

    def _accept(self, answer: Answer, request: SummaryRequest, *, may_improve: bool) -> str:
        body = accept_summary(answer.text, request, self._counter, leniently=not may_improve)
        if may_improve:  # once: a model that can't do otherwise is better than none
            self._check_language(body)
        return body

    def _check_worth(self, answer: Answer, wanted: Sequence[str], missing: tuple[str, ...]) -> None:
        """Tell a model, once, that its notes are hardly about this conversation."""
        found = len(wanted) - len(missing)
        if answer.model is not None and len(wanted) >= _MANY and found < _FEW:
            problem = f"it names {found} of the {len(wanted)} identifiers that matter"
            error = SummaryError(FailureKind.BAD_SUMMARY, problem)
            error.missing = missing
            raise error

    def _check_sections(self, body: str, *, may_improve: bool) -> None:
        """Ask for constraints that vanished; a second answer must not lose those of the first."""
        has_decisions = Heading.DECISIONS in parse_sections(body)
        if not may_improve:
            if self._had_decisions and not has_decisions:
                raise SummaryError(FailureKind.BAD_SUMMARY, "it has less than the answer before")
            return
        before = parse_sections(self._request.previous or "")
        if before.get(Heading.DECISIONS) and not has_decisions:
            problem = f"nothing is left of what stood under {Heading.DECISIONS.value!r}"
            raise SummaryError(FailureKind.BAD_SUMMARY, problem)
        self._had_decisions = has_decisions

    def _check_language(self, body: str) -> None:
        spoken = zip(self._session.messages, spoken_flags(self._session.messages), strict=True)
        texts = [
            joined_text(message.data.get("content"))
            for message, is_spoken in spoken
            if is_spoken and message.role == "user"
        ]
        problem = find_foreign_script(body, texts)
        if problem is not None:
            raise SummaryError(FailureKind.BAD_SUMMARY, problem)

    def _append(
        self, body: str, held: Sequence[str], missing: Sequence[str], most: int
    ) -> tuple[str, int]:
        """Put lines and a list of what is missing under the exact facts, as far as the caps allow.

        Returns the sections, and how many are on the list.
        """
        sections = parse_sections(body)
        lines = sections.get(Heading.FACTS, "").split("\n")

        def with_lines(*more: str) -> str:
            facts = "\n".join(filter(None, (*lines, *more)))
            return render_sections(sections | {Heading.FACTS: facts})

        def fits(*more: str) -> bool:
            return not self._counter.exceeds(with_lines(*more), most)

        kept: list[str] = []
        for line in held:
            if fits(*kept, line):
                kept.append(line)
        listed, appended = render_missing(
            missing,
            lambda text: not self._counter.exceeds(text, most // _LIST_SHARE) and fits(*kept, text),
        )
        return (with_lines(*kept, listed) if kept or appended else body), appended
