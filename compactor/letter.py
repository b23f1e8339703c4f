"""What a model is sent, cut to its window.

Tokens are counted with a margin, for the endpoint counts with another tokenizer, and bytes are
bounded too: a run of spaces is few tokens. Kept messages get a third of the room at most, and so
does an entry that is longer than ours are.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING

from compactor.cuts import legal_size
from compactor.entry import frame
from compactor.errors import FailureKind, SummaryError
from compactor.readable import cut_middle
from compactor.summarize import SummaryRequest
from compactor.summary_prompt import build_messages, render_messages, render_previous

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from compactor.tokens import TokenCounter
    from session.message import Message

MARGIN = 0.9  # of the window is used
_BYTES_PER_TOKEN = 8  # in prose of any language it is less
_SHARE = 3  # the kept messages get this part of the room, a long entry too
_LEAST = 500  # tokens of room for messages, without which no part says anything
_LONGEST = 12_000  # characters of one message, before anything has to be made shorter
_SMALLEST = 200  # characters of a message below which a request says nothing any more


@dataclass(frozen=True, slots=True)
class Letter:
    """What is sent, and the mark between whose lines the material stands."""

    mark: str
    messages: list[dict[str, str]]

    @property
    def text(self) -> str:
        """All of it, to be counted."""
        return "\n".join(message["content"] for message in self.messages)


class LetterWriter:
    """Writes letters to a model that reads `window` tokens and thinks with `reasoning_tokens`."""

    def __init__(self, counter: TokenCounter, *, window: int, reasoning_tokens: int) -> None:
        self._counter = counter
        self._window = window
        self._reasoning = reasoning_tokens

    def measure(self, request: SummaryRequest) -> int:
        """Return how many of the covered messages go into one letter; see `Summarizer`."""
        material = self._material(request)
        reserved = material // _SHARE if request.kept else 0
        kept = min(reserved, sum(self._weights(request.kept, _LONGEST)))
        weight, most = 0, 0
        for at, more in enumerate(self._weights(request.covered, _LONGEST), 1):
            weight += more
            if weight <= material - reserved:
                most = at
            if weight > material - kept:
                return legal_size(request.covered, most)
        return max(len(request.covered), 1)

    def lacks(self, max_tokens: int) -> int:
        """Return how many tokens the window lacks for a part of any session; 0 where it has them.

        `max_tokens` is the cap of the entry.
        """
        request = SummaryRequest("", None, (), (), max_tokens, is_measured=True)
        return max(0, _LEAST - self._material(request))

    def write(self, request: SummaryRequest) -> Letter:
        """Return what to send; if it was measured, its messages made so short that all of it fits.

        Raises `SummaryError` (`context_overflow`) where it doesn't fit.
        """
        mark = secrets.token_hex(8)
        room = self._room(request)
        limit = kept = _LONGEST
        if request.is_measured:
            material = self._material(request)
            if material < _LEAST:
                raise self._too_long(room)
            request = self._cut_previous(request)
            kept, newest = self._shorten_kept(request, material // _SHARE)
            request = replace(request, kept=request.kept[len(request.kept) - newest :])
        while limit > _SMALLEST:
            messages = build_messages(request, mark=mark, limit=limit, kept_limit=min(limit, kept))
            letter = Letter(mark, messages)
            if self._weigh(letter.text) <= room:
                return letter
            if not request.is_measured:
                break
            limit //= 2
        raise self._too_long(room)

    def _too_long(self, room: int) -> SummaryError:
        remedy = ""
        if room < self._window // 2:  # most of it is kept for the answer
            remedy = "most of it is kept free: lower [llm] reasoning_tokens or [summary] max_tokens"
        problem = "too long for [llm] context_window"
        return SummaryError(FailureKind.CONTEXT_OVERFLOW, problem, remedy=remedy)

    def _room(self, request: SummaryRequest) -> int:
        """Tokens for all that is sent."""
        used = int(self._window * MARGIN * request.share)
        return used - request.max_tokens - self._reasoning

    def _material(self, request: SummaryRequest) -> int:
        """Tokens for the messages; those of an entry are set apart whether there is one or not.

        So the parts of a history don't depend on what a model wrote of the parts before.
        """
        bare = replace(request, previous=None, covered=(), kept=())
        words = Letter("", build_messages(bare, mark="0" * 16, limit=0, kept_limit=0)).text
        entry = min(self._weigh(render_previous(request.previous or "")), self._most(request))
        reserved = max(request.max_tokens, entry)
        return self._room(request) - self._weigh(words) - reserved - self._weigh(frame(""))

    def _most(self, request: SummaryRequest) -> int:
        """Tokens for the entry; one that somebody else wrote may have any length."""
        return max(request.max_tokens, self._room(request) // _SHARE)

    def _cut_previous(self, request: SummaryRequest) -> SummaryRequest:
        """Return the request with the head and the tail of an entry that is too long."""
        whole = text = render_previous(request.previous or "")
        limit = len(whole)
        while self._weigh(text) > self._most(request):
            limit = limit * 3 // 4
            text = cut_middle(whole, limit)
        return request if text is whole else replace(request, previous=text)

    def _shorten_kept(self, request: SummaryRequest, most: int) -> tuple[int, int]:
        """Return how many characters a kept message may have, and how many of the newest fit."""
        limit = _LONGEST
        weights = list(self._weights(request.kept, limit))
        while limit > _SMALLEST and sum(weights) > most:
            limit //= 2
            weights = list(self._weights(request.kept, limit))
        return limit, sum(total <= most for total in accumulate(reversed(weights)))

    def _weights(self, messages: Iterable[Message], limit: int) -> Iterator[int]:
        """Yield the tokens of each message, and of the line end behind it."""
        for message in messages:
            text = render_messages((message,), limit)
            yield self._weigh(text) + 1 if text else 0

    def _weigh(self, text: str) -> int:
        """Return the tokens of a text, more of them where it has very many bytes."""
        return max(self._counter.count(text), len(text.encode()) // _BYTES_PER_TOKEN)
