"""A history that is too long for one question: part after part, each revising the notes so far.

Every answer on the way is journaled under its own question, so a pass that was killed goes on with
the part that it had come to. Parts end where turns do, and the same history has the same parts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from compactor.errors import SummaryError
from compactor.judgement import Cost
from compactor.model import Verdict
from compactor.summarize import shorten

if TYPE_CHECKING:
    from collections.abc import Callable

    from compactor.ask import Asker
    from compactor.judgement import Judge
    from compactor.summarize import SummaryRequest
    from compactor.turns import Preparation
    from session.model import SessionRef

Accepted = TypeVar("Accepted")


def ask_in_parts(
    asker: Asker,
    ref: SessionRef,
    request: SummaryRequest,
    judge: Judge[Accepted],
    *,
    judge_part: Callable[[SummaryRequest], Judge[str]],
    preparation: Preparation,
) -> tuple[Accepted, Cost] | Verdict:
    """Return what `judge` makes of the last answer, what was spent on it, or why it must wait.

    `judge_part` returns the judge of a part, which makes the notes of it that the next one revises.
    Raises `SummaryError`; see `Asker.get`.
    """
    spent = Cost()
    while True:
        size = len(request.covered)
        if request.is_measured:
            size = asker.engine.measure(request)
        goes_on = size < len(request.covered)
        try:
            if not goes_on:
                got = asker.get(ref, request, judge, preparation)
                if isinstance(got, Verdict):
                    asker.note_part(ref, spent)
                    return got
                return got[0], spent.plus(got[1].calls, got[1].usage)
            part = replace(request, covered=request.covered[:size], kept=(), goes_on=True)
            noted = asker.get(ref, part, judge_part(part), preparation)
        except SummaryError as error:
            spent = spent.plus(error.calls, error.usage)
            shorter = shorten(request, error)
            if shorter is None:
                other = asker.stand_in(ref, request, judge, error) if goes_on else None
                if other is not None:
                    return other, spent
                error.calls, error.usage = spent.calls, spent.usage
                raise
            request = shorter
            continue
        if isinstance(noted, Verdict):
            asker.note_part(ref, spent)
            return noted
        notes, cost = noted
        asker.note_part(ref, spent.plus(cost.calls, cost.usage))
        spent = Cost()
        request = replace(request, previous=notes, covered=request.covered[size:])
