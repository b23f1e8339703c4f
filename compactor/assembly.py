"""Where the parts of a pass are put together; the openai SDK is imported only when it is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compactor.digest import DigestSummarizer
from compactor.openai_summarizer import OpenAISummarizer
from compactor.parts import Parts
from compactor.setup import read_clock
from compactor.tokens import TokenCounter

if TYPE_CHECKING:
    from compactor.config import Config
    from compactor.journal import Journal
    from compactor.llm_client import LlmClient
    from compactor.summarize import Summarizer
    from session.store import SessionStore


def join_parts(config: Config, store: SessionStore, journal: Journal, *, key: str = "") -> Parts:
    """Put together what a pass works with; `key` is that of the endpoint."""
    counter = TokenCounter(config.summary.counter)
    digest = DigestSummarizer(counter)
    engine: Summarizer = digest
    if config.summary.engine == "openai":
        engine = OpenAISummarizer(
            config.llm.model,
            lambda: connect(config, key),
            counter,
            context_window=config.llm.context_window,
            reasoning_tokens=config.llm.reasoning_tokens,
            retries=config.llm.retries,
            pause=config.llm.retry_pause,
        )
    return Parts(
        store=store,
        journal=journal,
        engine=engine,
        fallback=digest if config.summary.on_failure == "digest" and engine is not digest else None,
        counter=counter,
        idle=config.idle_policy(),
        plan=config.plan_policy(),
        calls=config.call_limits(),
        limits=config.pass_policy(),
        clock=read_clock,
    )


def connect(config: Config, key: str) -> LlmClient:
    """Build the client of the configured endpoint; the SDK is imported only here."""
    from compactor.llm_client import LlmClient, LlmSettings  # noqa: PLC0415 - it takes a second

    llm = config.llm
    settings = LlmSettings(
        base_url=llm.base_url,
        model=llm.model,
        api_key=key,
        timeout=llm.timeout,
        max_tokens_parameter=llm.max_tokens_parameter,
        reasoning_tokens=llm.reasoning_tokens,
        reasoning_effort=llm.reasoning_effort,
        temperature=llm.temperature,
        extra_headers=llm.extra_headers,
        extra_body=llm.extra_body,
        environment_proxy=llm.environment_proxy,
    )
    return LlmClient(settings, read_clock)
