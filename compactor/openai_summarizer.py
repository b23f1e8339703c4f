"""Entries written by a language model, through any OpenAI-compatible endpoint."""

from __future__ import annotations

import threading
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from compactor.errors import AbandonedError, FailureKind, SummaryError
from compactor.letter import LetterWriter
from compactor.summarize import Summary
from compactor.summary_prompt import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable

    from compactor.letter import Letter
    from compactor.llm_client import LlmClient, Reply
    from compactor.summarize import Question, SummaryRequest
    from compactor.tokens import TokenCounter

RETRIED = (FailureKind.RATE_LIMITED, FailureKind.UNAVAILABLE, FailureKind.TIMEOUT)
LONGEST_WAIT = timedelta(seconds=20)


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
        self._writer = LetterWriter(
            counter, window=context_window, reasoning_tokens=reasoning_tokens
        )
        self._retries = retries
        self._pause = pause
        self._stop = threading.Event()

    def measure(self, request: SummaryRequest) -> int:
        """Return how many of the covered messages go into one question; see `Summarizer`."""
        return self._writer.measure(request)

    def prepare(self, request: SummaryRequest) -> Question:
        """Write what will be sent, within the model's window; see `Summarizer`."""
        return partial(self._ask, request, self._writer.write(request))

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
                raise AbandonedError
            if self._client is None:
                self._client = self._connect()
            return self._client

    def _ask(self, request: SummaryRequest, letter: Letter) -> Summary:
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
