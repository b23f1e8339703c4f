"""Endpoints as strict as the real ones: functions from the request that arrived to the reply.

Their words are those of the servers that they play; what they refuse, those refuse.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from compactor.tokens import TokenCounter
from tests.endpoint.server import GOOD, Reply, Request, answer, error, http

Behaviour = Callable[[Request], Reply]

_COUNTER = TokenCounter()
_KNOWN = {
    "model",
    "messages",
    "max_tokens",
    "temperature",
    "top_p",
    "n",
    "stop",
    "stream",
    "seed",
}
_UNKNOWN = "max_completion_tokens"


def seeded_reasoning(seed: int, *, least: int, most: int) -> Callable[[], int]:
    """Draw how many tokens are thought with, the same ones for the same seed."""
    draws = Random(seed)
    return lambda: draws.randint(least, most)


def _count(budget: int | None, reasoning: int, text: str) -> tuple[str, str, dict[str, Any]]:
    """What is left of a text within a budget, how it ends, and how many tokens that took."""
    length = _COUNTER.count(text)
    room = length if budget is None else max(0, min(length, budget - reasoning))
    thought = reasoning if budget is None else min(budget, reasoning)
    said = text if room == length else text[: len(text) * room // length]
    usage = {
        "prompt_tokens": 700,
        "completion_tokens": thought + room,
        "total_tokens": 700 + thought + room,
        "completion_tokens_details": {"reasoning_tokens": thought},
    }
    return said, "stop" if room == length else "length", usage


def _write(budget: int | None, *, reasoning: int = 0, text: str = GOOD) -> Reply:
    said, finish, usage = _count(budget, reasoning, text)
    return answer(said, finish, usage=usage)


def reasoning_model(reasoning: Callable[[], int], *efforts: str) -> Behaviour:
    """OpenAI's current default: its own name for the cap, no temperature, hidden reasoning.

    A lower effort, where it knows one, thinks a tenth.
    """

    def reply(request: Request) -> Reply:
        body = request.json
        if "max_tokens" in body:
            return error(
                400,
                "Unsupported parameter: 'max_tokens' is not supported with this model. "
                "Use 'max_completion_tokens' instead.",
                param="max_tokens",
                code="unsupported_parameter",
            )
        if body.get("temperature", 1) != 1:
            return error(
                400,
                f"Unsupported value: 'temperature' does not support {body['temperature']} with "
                "this model. Only the default (1) value is supported.",
                param="temperature",
                code="unsupported_value",
            )
        effort = body.get("reasoning_effort")
        if effort is not None and effort not in efforts:
            return error(
                400,
                f"Unsupported value: '{effort}' is not supported with the 'o-test' model. "
                f"Supported values are: {', '.join(map(repr, efforts))}.",
                param="reasoning_effort",
                code="unsupported_value",
            )
        thought = reasoning() // (10 if effort in {"minimal", "low"} else 1)
        return _write(body.get("max_completion_tokens"), reasoning=thought)

    return reply


def effort_checked_by(refusal: Reply) -> Behaviour:
    """A server that knows three efforts and refuses any other in words of its own."""

    def reply(request: Request) -> Reply:
        if request.json.get("reasoning_effort") not in {None, "low", "medium", "high"}:
            return refusal
        return answer()

    return reply


def older_server(refusal: Reply) -> Behaviour:
    """It knows `max_tokens` alone, and refuses what it doesn't know."""

    def reply(request: Request) -> Reply:
        if set(request.json) - _KNOWN:
            return refusal
        return _write(request.json.get("max_tokens"))

    return reply


def careless_server(default: int) -> Behaviour:
    """It knows `max_tokens` alone, and ends its answers early where nobody gave it."""
    return lambda request: _write(request.json.get("max_tokens", default))


def capped_model(most: int, refusal: Callable[[int], Reply]) -> Behaviour:
    """It writes so many tokens at most, and refuses whoever asks for more."""

    def reply(request: Request) -> Reply:
        asked = request.json["max_completion_tokens"]
        return refusal(asked) if asked > most else _write(asked)

    return reply


def small_window(window: int, refusal: Callable[[int], Reply]) -> Behaviour:
    """Prompt and answer together must fit into its window."""

    def reply(request: Request) -> Reply:
        prompt = sum(_COUNTER.count(message["content"]) for message in request.json["messages"])
        total = prompt + request.json["max_completion_tokens"]
        return refusal(total) if total > window else _write(request.json["max_completion_tokens"])

    return reply


def inline_thinker(thought: str, *, opened: bool = True) -> Behaviour:
    """Its reasoning stands ahead of the answer, in the text; some templates open it themselves."""
    text = f"{'<think>' if opened else ''}{thought}</think>\n\n{GOOD}"
    return lambda request: _write(request.json["max_completion_tokens"], text=text)


_EXTRA = {
    "type": "extra_forbidden",
    "loc": ["body", _UNKNOWN],
    "msg": "Extra inputs are not permitted",
    "input": 5166,
}
# How servers say that they don't know `max_completion_tokens`.
UNKNOWN_WORDS: dict[str, Reply] = {
    "OpenAI, before it": error(400, f"Unrecognized request argument supplied: {_UNKNOWN}"),
    "pydantic 2": http(422, {"detail": [_EXTRA]}),
    "pydantic 1": http(
        422,
        {
            "detail": [
                {
                    "loc": ["body", _UNKNOWN],
                    "msg": "extra fields not permitted",
                    "type": "value_error.extra",
                }
            ]
        },
    ),
    "vLLM": http(
        400,
        {"object": "error", "message": str([_EXTRA]), "type": "BadRequestError", "code": 400},
    ),
    "Mistral": http(
        422,
        {
            "object": "error",
            "message": {"detail": [_EXTRA]},
            "type": "invalid_request_error",
            "code": None,
        },
    ),
    "a JSON schema": error(
        400, f"Additional properties are not allowed ('{_UNKNOWN}' was unexpected)"
    ),
    "Go": error(400, f'json: unknown field "{_UNKNOWN}"'),
    "Google": http(
        400,
        [
            {
                "error": {
                    "code": 400,
                    "message": f'Invalid JSON payload received. Unknown name "{_UNKNOWN}": '
                    "Cannot find field.",
                    "status": "INVALID_ARGUMENT",
                }
            }
        ],
    ),
    "Groq": error(400, f"property '{_UNKNOWN}' is unsupported"),
}
# How they say that an answer may not be so long; `asked` and `most` are their figures.
CAP_WORDS: dict[str, Callable[[int, int], Reply]] = {
    "OpenAI": lambda asked, most: error(
        400,
        f"max_tokens is too large: {asked}. This model supports at most {most} completion tokens, "
        f"whereas you provided {asked}.",
        param="max_tokens",
        code="invalid_value",
    ),
    "Groq": lambda _, most: error(
        400,
        f"`max_completion_tokens` must be less than or equal to `{most}`, the maximum value for "
        "`max_completion_tokens` is less than the `context_window` for this model",
    ),
    "Anthropic": lambda asked, most: error(
        400,
        f"max_tokens: {asked} > {most}, which is the maximum allowed number of output tokens for "
        "this-model",
    ),
    "DeepSeek": lambda _, most: error(
        400, f"Invalid max_tokens value, the valid range of max_tokens is [1, {most}]"
    ),
    "without a figure": lambda *_: error(400, "max_completion_tokens is too large"),
}
# How they say that all of it is too long.
WINDOW_WORDS: dict[str, Callable[[int, int], Reply]] = {
    "OpenAI": lambda total, window: error(
        400,
        f"This model's maximum context length is {window} tokens. However, your messages resulted "
        f"in {total} tokens. Please reduce the length of the messages.",
        param="messages",
        code="context_length_exceeded",
    ),
    "vLLM": lambda total, window: http(
        400,
        {
            "object": "error",
            "message": f"This model's maximum context length is {window} tokens. However, you "
            f"requested {total} tokens. Please reduce the length of the messages or completion.",
            "type": "BadRequestError",
            "code": 400,
        },
    ),
    "llama.cpp": lambda total, window: http(
        400,
        {
            "error": {
                "code": 400,
                "message": f"request ({total} tokens) exceeds the available context size "
                f"({window} tokens), try increasing it",
                "type": "exceed_context_size_error",
            }
        },
    ),
}
EFFORT_WORDS: dict[str, Reply] = {
    "pydantic": http(
        422,
        {
            "detail": [
                {
                    "type": "literal_error",
                    "loc": ["body", "reasoning_effort"],
                    "msg": "Input should be 'low', 'medium' or 'high'",
                }
            ]
        },
    ),
    "Groq": error(400, "`reasoning_effort` must be one of `low`, `medium`, or `high`"),
    "a server that knows none": error(
        400, "Unrecognized request argument supplied: reasoning_effort"
    ),
}
