"""The engine that needs no model: a hand-off made of extracts, the same for the same messages.

It reads the structure of the conversation (who asked, what was answered, which tool failed, who
waits for whom), ranks what it finds and fills the sections with it. Nothing is made up, so nothing
is understood either: a model's entry reads better, this one costs nothing and can't lie.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from compactor.digest.budget import Item, clip_to_tokens, fit_items
from compactor.digest.open_items import open_items
from compactor.digest.previous import EARLIER, parse_previous
from compactor.digest.sections import (
    BEFORE,
    channel_items,
    done_items,
    gather_sources,
    goal_items,
    listed_items,
    said_items,
    stray_items,
    unique_items,
)
from compactor.digest.turns import read_transcript
from compactor.entry import Heading
from compactor.errors import FailureKind, SummaryError
from compactor.summarize import Summary

if TYPE_CHECKING:
    from compactor.summarize import Question, SummaryRequest
    from compactor.tokens import TokenCounter

_NARROW, _WIDE = 60, 240  # characters of an extract, at least and at most
_FOREIGN_SHARE = 0.35  # of the tokens, for a summary that somebody else wrote


class DigestSummarizer:
    """Writes entries without a model."""

    name = "digest"
    model = None
    prompt = "digest-1"

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter

    def measure(self, request: SummaryRequest) -> int:
        """Return all of them: it reads a history of any length; see `Summarizer`."""
        return max(len(request.covered), 1)

    def prepare(self, request: SummaryRequest) -> Question:
        """Return `summarize` for this request; see `Summarizer`."""
        return partial(self.summarize, request)

    def summarize(self, request: SummaryRequest) -> Summary:
        """Return the sections, in at most `request.max_tokens` tokens.

        Raises `SummaryError` (`bad_summary`) where nothing was said and nothing stood before.
        """
        text = fit_items(self._items_of(request), request.max_tokens, self._counter)
        if not text:
            raise SummaryError(FailureKind.BAD_SUMMARY, "nothing was said that can be told")
        return Summary(text)

    def close(self) -> None:
        """Nothing is held open; see `Summarizer`."""

    def _items_of(self, request: SummaryRequest) -> list[Item]:
        sources = gather_sources(
            parse_previous(request.previous),
            read_transcript(request.covered, request.key),
            read_transcript(request.kept, request.key),
            width=min(_WIDE, max(_NARROW, request.max_tokens // 11)),
        )
        items = [
            *goal_items(sources),
            *done_items(sources),
            *open_items(sources),
            *said_items(sources),
            *listed_items(sources),
            *channel_items(sources),
        ]
        if sources.old.foreign:
            share = int(request.max_tokens * _FOREIGN_SHARE)
            text = clip_to_tokens(EARLIER + sources.old.foreign, share, self._counter)
            items.append(Item(Heading.DONE, text, 5.0, BEFORE))
        return unique_items(items or stray_items(sources))
