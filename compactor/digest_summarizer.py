"""The engine that needs no model: a hand-off made of extracts, the same for the same messages.

It reads the structure of the conversation (who asked, what was answered, which tool failed, who
waits for whom), ranks what it finds and fills the sections with it. Nothing is made up, so nothing
is understood either: a model's entry reads better, this one costs nothing and can't lie.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compactor.digest_budget import Item, clip_to_tokens, fit_items
from compactor.digest_previous import EARLIER, parse_previous
from compactor.digest_sections import (
    channel_items,
    done_items,
    goal_items,
    listed_items,
    open_items,
    said_items,
    stray_items,
    unique_items,
)
from compactor.digest_turns import read_transcript
from compactor.entry import Heading
from compactor.errors import FailureKind, SummaryError
from compactor.summarize import Summary

if TYPE_CHECKING:
    from compactor.summarize import SummaryRequest
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

    def summarize(self, request: SummaryRequest) -> Summary:
        """Return the sections, in at most `request.max_tokens` tokens.

        Raises `SummaryError` (`bad_summary`) where nothing was said and nothing stood before.
        """
        text = fit_items(self._items_of(request), request.max_tokens, self._counter)
        if not text:
            raise SummaryError(
                FailureKind.BAD_SUMMARY, "the messages hold nothing that can be said"
            )
        return Summary(text)

    def _items_of(self, request: SummaryRequest) -> list[Item]:
        width = min(_WIDE, max(_NARROW, request.max_tokens // 11))
        old = parse_previous(request.previous)
        new = read_transcript(request.covered, request.key)
        kept = read_transcript(request.kept, request.key)
        items = [
            *goal_items(new, old, width),
            *done_items(new, old, width),
            *open_items(new, old, kept, width),
            *said_items(new, old, kept, width),
            *listed_items(new, old),
            *channel_items(new, old, width),
        ]
        if old.foreign:
            share = int(request.max_tokens * _FOREIGN_SHARE)
            text = clip_to_tokens(EARLIER + old.foreign, share, self._counter)
            items.append(Item(Heading.DONE, text, 5.0, float("-inf")))
        return unique_items(items or stray_items(new, width))
