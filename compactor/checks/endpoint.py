"""The model: is there room for a question, and does the endpoint answer one?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from compactor.checks.finding import Said, fail, ok, warn
from compactor.durations import spell_span
from compactor.errors import ConfigError, FailureKind, SummaryError
from compactor.letter import MARGIN, LetterWriter
from compactor.tokens import TokenCounter

if TYPE_CHECKING:
    from collections.abc import Callable

    from compactor.config import Config
    from compactor.llm_client import LlmClient

_PROBE = [{"role": "user", "content": "This is a test of the connection. Answer with: OK"}]
DIGEST = 'set [summary] engine = "digest", which asks nobody'


def check_window(config: Config) -> Said:
    """Look whether a part of a session fits between the instructions and the answer."""
    llm, most = config.llm, config.summary.max_tokens
    counter = TokenCounter(config.summary.counter)
    writer = LetterWriter(counter, window=llm.context_window, reasoning_tokens=llm.reasoning_tokens)
    lacks = writer.lacks(most)
    if not lacks:
        return ok(f"a question and its answer fit into {llm.context_window} tokens")
    window = llm.context_window + math.ceil(lacks / MARGIN) + 1
    told = (
        f"[llm] context_window = {llm.context_window} leaves no room for a question: "
        f"{llm.reasoning_tokens} tokens are for reasoning and {most} for the answer"
    )
    remedy = f"set [llm] context_window = {window}, if the model has it"
    if lacks <= llm.reasoning_tokens:
        remedy += f", or [llm] reasoning_tokens = {llm.reasoning_tokens - lacks}"
    else:
        remedy += ", or lower [llm] reasoning_tokens and [summary] max_tokens"
    return fail(told, remedy, exit_code=ConfigError.exit_code)


def check_endpoint(connect: Callable[[], LlmClient], config: Config) -> Said:
    """Ask the model one small question, with as much room for its answer as an entry gets."""
    client = connect()
    try:
        reply = client.complete(_PROBE, max_tokens=config.summary.max_tokens)
    except SummaryError as error:
        if error.kind is FailureKind.BAD_SUMMARY:
            remedy = error.remedy or "name another model in [llm] model"
            return warn(f"{client.settings.model} answers, but {error.detail}", remedy)
        return fail(str(error), _tell_remedy(error, config), exit_code=error.exit_code)
    finally:
        client.close()
    used = sum(reply.usage.get(name, 0) for name in ("prompt", "completion"))
    return ok(f"{client.settings.model} answers ({used} tokens)")


def tell_missing_key(error: ConfigError) -> Said:
    """Say where the key is missing; the fault's own words end with all that can be done."""
    told = "\n".join(error.faults)
    remedy = told.partition("; ")[2] or "let the user that runs us read it, as UTF-8 text"
    return fail(told, remedy, exit_code=error.exit_code)


def _tell_remedy(error: SummaryError, config: Config) -> str:
    """Return the way out of what an endpoint said or did; its own words go before ours."""
    llm = config.llm
    own = _read_remedy(error)
    if own:
        return own
    at = f"[llm] base_url = {llm.base_url!r}"
    longer = spell_span(2 * llm.timeout)
    return {
        FailureKind.AUTH: f"{_name_key(config)}; a key that {llm.base_url} takes must be there",
        FailureKind.QUOTA: f"add credit to the account of the key, or {DIGEST}",
        FailureKind.MODEL_NOT_FOUND: (
            f"set [llm] model to one that the endpoint has, in place of {llm.model!r}, "
            f"and see whether {at} is its address up to and including /v1"
        ),
        FailureKind.RATE_LIMITED: "wait, and check again; or lower [llm] concurrency",
        FailureKind.UNAVAILABLE: f"see whether it is up and {at} is its address; or {DIGEST}",
        FailureKind.TIMEOUT: f'set [llm] timeout = "{longer}", or see whether {at} is its address',
        FailureKind.CONTEXT_OVERFLOW: "lower [llm] context_window to the model's own",
        FailureKind.REFUSED: "name another model in [llm] model",
    }.get(error.kind, f"see whether {at} is its address, and whether it takes [llm] extra_body")


def _read_remedy(error: SummaryError) -> str:
    """Return the way out that a fault's own words end with, if there is one."""
    if error.remedy:
        return error.remedy
    for start in ("set [llm] ", "leave [llm] ", "name the final address"):
        at = error.problem.find(start)
        if at >= 0:
            return error.problem[at:]
    return ""


def _name_key(config: Config) -> str:
    llm = config.llm
    places = [f"${llm.api_key_env}"] if llm.api_key_env else []
    places += [f"the file {llm.api_key_file!r}"] if llm.api_key_file else []
    where = " or ".join(places) or "the variable that [llm] api_key_env is to name"
    return f"put another key into {where}"
