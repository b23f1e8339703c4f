"""Entries written by a language model, through any OpenAI-compatible endpoint."""

from __future__ import annotations

import secrets
import threading
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from compactor.errors import FailureKind, SummaryError
from compactor.summarize import Summary
from compactor.summary_prompt import VERSION, build_messages

if TYPE_CHECKING:
    from collections.abc import Callable

    from compactor.llm_client import LlmClient, Reply
    from compactor.summarize import Question, SummaryRequest
    from compactor.tokens import TokenCounter

RETRIED = (FailureKind.RATE_LIMITED, FailureKind.UNAVAILABLE, FailureKind.TIMEOUT)
LONGEST_WAIT = timedelta(seconds=20)
_SMALLEST = 200  # characters of a message below which a request says nothing any more
_MARGIN = 0.9  # the endpoint counts with another tokenizer than we do
_SHRINK = 0.6  # to this part of its size, if it turns out to be too long all the same
_LONGEST = 12_000  # characters of one message, before anything has to be made shorter


@dataclass(frozen=True, slots=True)
class _Letter:
    """What is sent, and the mark between whose lines the material stands."""

    mark: str
    messages: list[dict[str, str]]

    @property
    def text(self) -> str:
        """All of it, to be counted."""
        return "\n".join(message["content"] for message in self.messages)


class OpenAISummarizer:
    """An engine that asks a model. `connect` is called at the first question.

    A call that fails for a passing reason is tried `retries` times more, after `pause` and then
    twice that, or after what the endpoint asks for, if that is at most twenty seconds.
    """

    name = "openai"
    prompt = VERSION

    def __init__(
        self,
        model: str,
        connect: Callable[[], LlmClient],
        counter: TokenCounter,
        *,
        context_window: int,
        reasoning_tokens: int = 0,
        retries: int,
        pause: timedelta,
    ) -> None:
        self.model = model
        self._connect = connect
        self._client: LlmClient | None = None
        self._mutex = threading.Lock()
        self._counter = counter
        self._window = context_window
        self._reasoning = reasoning_tokens
        self._retries = retries
        self._pause = pause
        self._stop = threading.Event()

    def prepare(self, request: SummaryRequest) -> Question:
        """Write what will be sent, within the model's window; see `Summarizer`."""
        room = int(self._window * _MARGIN) - request.max_tokens - self._reasoning
        return partial(self._summarize, request, self._fit(request, room))

    def _summarize(self, request: SummaryRequest, letter: _Letter) -> Summary:
        try:
            return self._ask(request, letter)
        except SummaryError as error:
            if error.kind is not FailureKind.CONTEXT_OVERFLOW:
                raise
            calls = error.calls
        try:  # once: the endpoint counts otherwise than we do
            room = int(self._counter.count(letter.text) * _SHRINK)
            shorter = self._ask(request, self._fit(request, room))
        except SummaryError as error:
            error.calls += calls
            raise
        return replace(shorter, calls=shorter.calls + calls)

    def close(self) -> None:
        """Abandon whatever is under way, and whatever waits; see `Summarizer`."""
        self._stop.set()
        with self._mutex:
            if self._client is not None:
                self._client.close()
                self._client = None

    def _connected(self) -> LlmClient:
        with self._mutex:
            if self._stop.is_set():
                raise KeyboardInterrupt
            if self._client is None:
                self._client = self._connect()
            return self._client

    def _ask(self, request: SummaryRequest, letter: _Letter) -> Summary:
        messages = letter.messages
        for attempt in range(self._retries + 1):
            try:
                reply = self._connected().complete(messages, max_tokens=request.max_tokens)
            except SummaryError as error:
                error.calls = attempt + 1
                wait = error.retry_after or self._pause * 2**attempt
                last = attempt == self._retries or error.kind not in RETRIED
                if last or wait > LONGEST_WAIT:
                    raise
                self._stop.wait(wait.total_seconds())
            else:
                summary = Summary(reply.text, self._usage(messages, reply), attempt + 1)
                return _without_leak(summary, letter.mark)
        raise AssertionError  # the last attempt returns or raises

    def _fit(self, request: SummaryRequest, room: int) -> _Letter:
        """Return what to send, its messages made so short that it takes at most `room` tokens."""
        mark, limit = secrets.token_hex(8), _LONGEST
        while limit > _SMALLEST:
            letter = _Letter(mark, build_messages(request, mark=mark, limit=limit))
            if not self._counter.exceeds(letter.text, room):
                return letter
            limit //= 2
        remedy = ""
        if room < self._window // 2:  # most of it is kept for the answer
            remedy = "most of it is kept free: lower [llm] reasoning_tokens or [summary] max_tokens"
        problem = "too long for [llm] context_window"
        raise SummaryError(FailureKind.CONTEXT_OVERFLOW, problem, remedy=remedy)

    def _usage(self, messages: list[dict[str, str]], reply: Reply) -> dict[str, int]:
        if "prompt" in reply.usage:
            return dict(reply.usage)
        prompt = sum(self._counter.count(message["content"]) for message in messages)
        return {"prompt": prompt, "completion": self._counter.count(reply.text), "estimated": 1}


def _without_leak(summary: Summary, mark: str) -> Summary:
    """Return a summary that does not hold the lines between which the material stood."""
    if mark not in summary.text:
        return summary
    error = SummaryError(FailureKind.BAD_SUMMARY, "it repeats the lines that mark the parts")
    error.calls, error.usage = summary.calls, summary.usage
    raise error
