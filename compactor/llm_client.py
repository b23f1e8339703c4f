"""One call to an OpenAI-compatible endpoint, that ends in time and in bounds.

The SDK alone would retry what can't succeed, follow redirects with the transcript, take proxies
from the environment, bound each read but not the whole call, and take a reply of any size. So the
call runs on an event loop of its own, where a deadline cuts it off at once, whatever it waits for.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import CancelledError
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, cast

import httpx2
import openai

from compactor.errors import AbandonedError, SummaryError
from compactor.llm_faults import Asked, ReplyTooLargeError, read_reply, type_fault

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Callable, Mapping
    from datetime import datetime, timedelta

REPLY_LIMIT = 4 << 20  # bytes; the longest entry has some ten thousand


@dataclass(frozen=True, slots=True)
class LlmSettings:
    """How to reach a model and what to tell it; `timeout` bounds a whole call."""

    base_url: str
    model: str
    api_key: str
    timeout: timedelta
    max_tokens_parameter: str = "max_completion_tokens"
    reasoning_tokens: int = 4000
    reasoning_effort: str | None = None
    temperature: float | None = None
    extra_headers: Mapping[str, str] | None = None
    extra_body: Mapping[str, Any] | None = None
    environment_proxy: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back: the visible text, and the tokens as the endpoint counted them."""

    text: str
    usage: Mapping[str, int]


class LlmClient:
    """Calls one endpoint, from any number of threads. `clock` returns now, in UTC."""

    def __init__(self, settings: LlmSettings, clock: Callable[[], datetime]) -> None:
        self.settings = settings
        self._clock = clock
        self._mutex = threading.Lock()
        self._closed = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="llm", daemon=True)
        self._thread.start()
        self._client = openai.AsyncOpenAI(
            api_key=settings.api_key,
            base_url=settings.base_url,
            max_retries=0,
            timeout=settings.timeout.total_seconds(),
            default_headers={"Accept-Encoding": "identity", **(settings.extra_headers or {})},
            http_client=openai.DefaultAsyncHttpxClient(
                trust_env=settings.environment_proxy,
                verify=_trusted(),
                follow_redirects=False,
                event_hooks={"response": [_limit_size]},
            ),
        )

    def complete(self, messages: list[dict[str, str]], *, max_tokens: int) -> Reply:
        """Return the model's answer in at most `max_tokens`; raises `SummaryError`.

        A call that is given up by `close` ends in an `AbandonedError`.
        """
        with self._mutex:  # a loop that has stopped would take it and never run it
            if self._closed:
                raise AbandonedError
            future = asyncio.run_coroutine_threadsafe(
                self._complete(messages, max_tokens), self._loop
            )
        try:
            return future.result()
        except CancelledError:
            raise AbandonedError from None

    async def _complete(self, messages: list[dict[str, str]], max_tokens: int) -> Reply:
        settings = self.settings
        asked = Asked(settings.max_tokens_parameter, max_tokens, settings.reasoning_tokens)
        arguments: dict[str, Any] = {asked.parameter: asked.tokens}
        if settings.reasoning_effort is not None:
            arguments["reasoning_effort"] = settings.reasoning_effort
        if settings.temperature is not None:
            arguments["temperature"] = settings.temperature
        try:
            async with asyncio.timeout(settings.timeout.total_seconds()):
                reply = await self._client.chat.completions.create(
                    model=settings.model,
                    messages=cast("Any", messages),
                    extra_body=settings.extra_body,
                    **arguments,
                )
        except (openai.OpenAIError, ValueError, TimeoutError, RecursionError) as error:
            raise type_fault(error, asked, now=self._clock()) from None
        usage = _usage(reply)
        try:
            return Reply(read_reply(reply, asked, usage), usage)
        except SummaryError as error:
            error.usage = usage  # it was paid for all the same
            raise

    def close(self) -> None:
        """Abandon whatever is under way."""
        with self._mutex:
            self._closed = True
        asyncio.run_coroutine_threadsafe(self._abandon(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _abandon(self) -> None:
        calls = asyncio.all_tasks() - {asyncio.current_task()}
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        await self._client.close()


@cache
def _trusted() -> ssl.SSLContext:
    """Return whose certificates are trusted; reading them all takes a while."""
    return httpx2.create_ssl_context()


class _LimitedStream(httpx2.AsyncByteStream):
    """A reply's body, up to a limit."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > REPLY_LIMIT:
                told = f"the reply is larger than {REPLY_LIMIT >> 20} MiB"
                raise ReplyTooLargeError(told)
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _limit_size(response: httpx2.Response) -> None:
    """Bound a reply before its body is read; what was not asked for packed is not unpacked."""
    if response.headers.get("content-encoding", "identity") != "identity":
        told = "the reply is packed, though it was asked for plain"
        raise ReplyTooLargeError(told)
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _LimitedStream(response.stream)


def _usage(reply: Any) -> dict[str, int]:  # noqa: ANN401 - whatever the endpoint sends
    usage = getattr(reply, "usage", None)
    prompt = getattr(usage, "prompt_tokens_details", None)
    completion = getattr(usage, "completion_tokens_details", None)
    figures = {
        "prompt": getattr(usage, "prompt_tokens", None),
        "cached": getattr(prompt, "cached_tokens", None),
        "completion": getattr(usage, "completion_tokens", None),
        "reasoning": getattr(completion, "reasoning_tokens", None),
    }
    return {name: figure for name, figure in figures.items() if isinstance(figure, int)}
