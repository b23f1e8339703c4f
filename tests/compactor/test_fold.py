"""A long history asked about in parts: what is asked, what it costs, and how it ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from compactor.ask import Asker
from compactor.errors import AuthError, FailureKind, SummaryError
from compactor.fold import ask_in_parts
from compactor.halt import OVER, Halt
from compactor.journal import FOLDED, Answer, MemoryJournal
from compactor.judgement import Cost, Judge, Judged
from compactor.model import CallLimits, PassPolicy, Reason, Verdict
from compactor.summarize import Question, Summary, SummaryRequest
from tests.compactor.builders import NOW, REF, messages_of, user

TEN = tuple(messages_of(*[user(f"number {number}") for number in range(10)]))
TOO_LONG = FailureKind.CONTEXT_OVERFLOW


@dataclass
class Engine:
    """It reads four messages at once; `faults` are what it raises when it meets their numbers."""

    name: str = "openai"
    model: str | None = "gpt"
    prompt: str = "v1"
    reads: int = 4
    faults: dict[int, list[SummaryError]] = field(default_factory=dict)
    asked: list[SummaryRequest] = field(default_factory=list)
    on_asked: Callable[[], None] = lambda: None

    def measure(self, request: SummaryRequest) -> int:
        """Return how many it reads."""
        return min(len(request.covered), max(int(self.reads * request.share), 1))

    def prepare(self, request: SummaryRequest) -> Question:
        """Refuse what is too long before anybody is asked."""
        if len(request.covered) > self.reads:
            raise SummaryError(TOO_LONG, "too long")
        return lambda: self._answer(request)

    def close(self) -> None:
        """Hold nothing open."""

    def _answer(self, request: SummaryRequest) -> Summary:
        self.asked.append(request)
        self.on_asked()
        for number in numbers_of(request):
            if self.faults.get(number):
                error = self.faults[number].pop()
                error.calls, error.usage = 1, {"prompt": 7}
                raise error
        return Summary(f"read up to {numbers_of(request)[-1]}", {"prompt": 7}, 1)


@dataclass
class Everything(Engine):
    """An engine that asks nobody and reads a history of any length."""

    name: str = "digest"
    model: str | None = None
    reads: int = 1000

    def _answer(self, request: SummaryRequest) -> Summary:
        self.asked.append(request)
        return Summary("a digest")


def numbers_of(request: SummaryRequest) -> list[int]:
    """Which messages a request is about."""
    return [int(str(message.data["content"]).split()[1]) for message in request.covered]


def fault(kind: FailureKind) -> SummaryError:
    """A failure to be raised."""
    return SummaryError(kind, "no")


def asker_of(
    engine: Engine,
    journal: MemoryJournal | None = None,
    *,
    fallback: Engine | None = None,
    per_hour: int = 100,
    halt: Halt | None = None,
) -> Asker:
    """Return an asker on behalf of one pass."""
    return Asker(
        journal or MemoryJournal(),
        engine,
        fallback,
        calls=CallLimits(4, per_hour),
        limits=PassPolicy(4, 100, timedelta(hours=1), timedelta(seconds=1)),
        halt=halt or Halt(),
        clock=lambda: NOW,
    )


def accept(answer: Answer, may_improve: bool) -> Judged[str]:
    """Accept whatever comes."""
    return Judged(answer.text)


def judge_part(part: SummaryRequest) -> Judge[str]:
    """Accept it as notes."""
    return accept


def fold(asker: Asker) -> tuple[str, Cost] | Verdict:
    """Ask about ten messages."""
    request = SummaryRequest("telegram:42", "before", TEN, TEN[:1], 100)
    with asker.turns.prepare() as preparation:
        return ask_in_parts(
            asker, REF, request, accept, judge_part=judge_part, preparation=preparation
        )


def calls_in(journal: MemoryJournal) -> list[int]:
    """The calls of the parts that are in the ledger."""
    assert {line.outcome for _, line in journal.ledger} <= {FOLDED}
    return [line.calls for _, line in journal.ledger]


def test_each_part_revises_the_notes_so_far() -> None:
    """Only the last is told what stays; each of the others that there is more."""
    engine, journal = Engine(), MemoryJournal()

    assert fold(asker_of(engine, journal)) == ("read up to 9", Cost(1, {"prompt": 7}))

    assert [numbers_of(one) for one in engine.asked] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert [one.previous for one in engine.asked] == ["before", "read up to 3", "read up to 7"]
    assert [one.goes_on for one in engine.asked] == [True, True, False]
    assert [len(one.kept) for one in engine.asked] == [0, 0, 1]
    assert calls_in(journal) == [1, 1]


@pytest.mark.parametrize("per_hour", [0, 1, 2])
def test_parts_that_were_answered_are_not_asked_about_again(per_hour: int) -> None:
    """Where the calls ran out the next pass goes on."""
    engine, journal = Engine(), MemoryJournal()

    stopped = fold(asker_of(engine, journal, per_hour=per_hour))

    assert isinstance(stopped, Verdict)
    assert (stopped.reason, calls_in(journal)) == (Reason.LIMITED, [1] * per_hour)
    assert fold(asker_of(engine, journal)) == ("read up to 9", Cost(1, {"prompt": 7}))
    assert len(engine.asked) == 3


def test_a_pass_that_is_over_asks_about_no_other_part() -> None:
    """What was answered is kept."""
    halt, journal = Halt(), MemoryJournal()
    engine = Engine(on_asked=lambda: halt.request(OVER) if len(engine.asked) > 1 else None)

    stopped = fold(asker_of(engine, journal, halt=halt))

    assert isinstance(stopped, Verdict)
    assert (stopped.reason, calls_in(journal)) == (Reason.STOPPED, [1, 1])


def test_what_is_refused_as_too_long_is_made_shorter_once() -> None:
    """The parts before stay; what the refusal took is counted with the next part."""
    engine, journal = Engine(faults={5: [fault(TOO_LONG)]}), MemoryJournal()

    fold(asker_of(engine, journal))

    asked = [numbers_of(one) for one in engine.asked]
    assert asked == [[0, 1, 2, 3], [4, 5, 6, 7], [4, 5], [6, 7], [8, 9]]
    assert calls_in(journal) == [1, 2, 1]


def test_what_is_refused_twice_fails() -> None:
    """With what both took."""
    engine, journal = Engine(faults={5: [fault(TOO_LONG), fault(TOO_LONG)]}), MemoryJournal()

    with pytest.raises(SummaryError) as caught:
        fold(asker_of(engine, journal))

    assert (caught.value.kind, caught.value.calls) == (TOO_LONG, 2)
    assert caught.value.usage == {"prompt": 14}
    assert calls_in(journal) == [1]


@pytest.mark.parametrize(("number", "calls"), [(5, 2), (9, 3)], ids=["a part", "the last"])
def test_a_refusal_ahead_of_a_stop_is_counted(number: int, calls: int) -> None:
    """No call is lost, though no part came of it."""
    engine, journal = Engine(faults={number: [fault(TOO_LONG)]}), MemoryJournal()

    stopped = fold(asker_of(engine, journal, per_hour=calls))

    assert isinstance(stopped, Verdict)
    assert sum(calls_in(journal)) == len(engine.asked) == calls


@pytest.mark.parametrize("kind", [FailureKind.UNAVAILABLE, FailureKind.BAD_SUMMARY, TOO_LONG])
def test_a_fallback_does_all_that_is_left(kind: FailureKind) -> None:
    """Once, from the notes so far; what was asked in vain is counted."""
    digest, journal = Everything(), MemoryJournal()
    engine = Engine(faults={5: [fault(kind), fault(kind)]})

    got = fold(asker_of(engine, journal, fallback=digest))

    assert not isinstance(got, Verdict)
    assert got[0] == "a digest"
    assert [(numbers_of(one), one.previous) for one in digest.asked] == [
        (list(range(4, 10)), "read up to 3")
    ]
    assert digest.asked[0].kept == TEN[:1]
    assert got[1].calls + sum(calls_in(journal)) == len(engine.asked)


def test_an_endpoint_that_keeps_failing_is_asked_about_no_part() -> None:
    """The fallback does all of it."""
    digest = Everything()
    engine = Engine(faults={number: [fault(FailureKind.UNAVAILABLE)] * 9 for number in range(9)})
    asker = asker_of(engine, fallback=digest)
    for _ in range(3):
        fold(asker)
    asked = len(engine.asked)

    assert fold(asker) == ("a digest", Cost())

    assert asked == len(engine.asked) == 3
    assert {len(one.covered) for one in digest.asked} == {10}


def test_a_fault_of_the_account_is_told_and_not_covered_up() -> None:
    """No fallback stands in for it."""
    digest = Everything()
    engine = Engine(faults={5: [AuthError("no")]})

    with pytest.raises(AuthError):
        fold(asker_of(engine, fallback=digest))

    assert digest.asked == []


def test_others_are_prepared_while_a_part_is_asked_about() -> None:
    """A long session keeps nobody waiting but for its first question."""
    engine = Engine()
    asker = asker_of(engine)

    def prepare_another() -> None:
        with asker.turns.prepare():
            pass

    engine.on_asked = prepare_another

    assert fold(asker) == ("read up to 9", Cost(1, {"prompt": 7}))
