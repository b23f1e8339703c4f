"""What went wrong with a call: the exceptions and odd replies of an endpoint, typed.

The SDK raises little of this by itself: broken bodies come as other exceptions than its own, and
most bad replies as no exception at all. Bodies are reduced to their type and code; their text may
quote the conversation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import openai

from compactor.errors import (
    AuthError,
    FailureKind,
    ModelNotFoundError,
    ParameterError,
    QuotaError,
    StopError,
    SummaryError,
)
from compactor.thinking import strip_thinking

if TYPE_CHECKING:
    from collections.abc import Mapping

_OVERFLOW = re.compile(r"(?i)context.{0,20}(?:length|window|size)|maximum context|too many tokens")
_WINDOW = re.compile(r"(?i)(?:maximum context length (?:is|of)|context size) \(?(\d{4,9})\b")
_UNSUPPORTED = re.compile(
    r"(?i)un(?:supported|recognized|known|expected)|not (?:supported|allowed|permitted|recognized)"
    r"|does(?: not|n't) support|invalid (?:parameter|argument|field)"
    r"|should be|must be"
)
_BAD_KEY = re.compile(
    r"(?i)(?:invalid|incorrect|wrong).{0,20}api.?key|api.?key.{0,20}(?:not |in)valid"
)
_TOO_MANY = re.compile(r"(?i)too (?:large|high|big)|at most|less than or equal|exceeds? the max")
_MOST = re.compile(
    r"(?i)(?:at most|less than or equal to|range of max_\w+ (?:is|should be) \[\d+,|\d >) ?`?(\d+)"
)
_OUR_FAULT = {HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY}
_EMPTY_ACCOUNT = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}
_NO_MODEL = {"model_not_found", "invalid_model"}
_FAULTY = {status.value for status in HTTPStatus if status >= HTTPStatus.BAD_REQUEST}
_SERVER_FAULT = HTTPStatus.INTERNAL_SERVER_ERROR
_PASSING = {FailureKind.RATE_LIMITED, FailureKind.UNAVAILABLE}
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")
_PARAMETERS = (
    "max_completion_tokens",
    "max_tokens",
    "temperature",
    "reasoning_effort",
)
_REMEDIES = {
    "max_completion_tokens": 'set [llm] max_tokens_parameter = "max_tokens"',
    "max_tokens": 'set [llm] max_tokens_parameter = "max_completion_tokens"',
    "temperature": "leave [llm] temperature out",
    "reasoning_effort": "leave [llm] reasoning_effort out",
}
_LEAST_ENTRY = 200  # what [summary] max_tokens can be lowered to
_ROOM = 4000  # reasoning tokens that are proposed where there were none


class ReplyTooLargeError(ValueError):
    """A reply that no summary could be; its text says how."""


@dataclass(frozen=True, slots=True)
class Asked:
    """How many tokens an answer and the reasoning ahead of it were given, and by which name."""

    parameter: str
    answer: int
    reasoning: int

    @property
    def tokens(self) -> int:
        """All of them."""
        return self.answer + self.reasoning

    def fit(self, most: int | None) -> str:
        """Say what to set where the endpoint gives at most so many, or nobody knows how many."""
        if most is None or most < _LEAST_ENTRY:
            return "set [llm] reasoning_tokens = 0, or lower [summary] max_tokens too"
        if most >= self.answer:
            return f"set [llm] reasoning_tokens = {most - self.answer}"
        return f"set [llm] reasoning_tokens = 0 and [summary] max_tokens = {most}"


@dataclass(frozen=True, slots=True)
class _Fault:
    """What an error body says of itself: no text of it is ever shown."""

    code: str
    kind: str
    param: str
    message: str

    @classmethod
    def of(cls, body: object) -> _Fault:
        """Read a body in any of the shapes that servers send."""
        if isinstance(body, list) and body:
            body = body[0]
        error = body.get("error", body) if isinstance(body, dict) else body
        fields = error if isinstance(error, dict) else {"message": error}
        said = fields.get("message") or fields.get("detail")
        code, kind, param = (str(fields.get(name) or "") for name in ("code", "type", "param"))
        return cls(code, kind, param, str(said))

    @property
    def label(self) -> str:
        """Its type and code, as far as they are words."""
        words = [word for word in (self.kind, self.code) if _WORD.fullmatch(word)]
        return f" ({', '.join(dict.fromkeys(words))})" if words else ""


def type_fault(error: Exception, asked: Asked, *, now: datetime) -> SummaryError:
    """Return the typed form of whatever a call raised."""
    if isinstance(error, openai.APIStatusError):
        headers = error.response.headers
        return type_status(error.status_code, error.body, headers, asked, now=now)
    if isinstance(error, TimeoutError | openai.APITimeoutError):
        return SummaryError(FailureKind.TIMEOUT, "no whole reply within [llm] timeout")
    if isinstance(error, openai.APIConnectionError):
        cause = type(error.__cause__ or error).__name__
        if isinstance(error.__cause__, ReplyTooLargeError):
            return SummaryError(FailureKind.UNAVAILABLE, str(error.__cause__))
        return SummaryError(FailureKind.UNAVAILABLE, f"the endpoint can't be reached ({cause})")
    told = str(error) if isinstance(error, ReplyTooLargeError) else type(error).__name__
    return SummaryError(FailureKind.UNAVAILABLE, f"the reply can't be read ({told})")


def type_status(
    status: int, body: object, headers: Mapping[str, str], asked: Asked, *, now: datetime
) -> SummaryError:
    """Return what an HTTP status with its error body means."""
    fault = _Fault.of(body)
    told = f"the endpoint answers {status}{fault.label}"
    stop = _type_stop(status, fault, told, asked)
    if stop is not None:
        return stop
    kind, remedy = _type_kind(status, fault)
    wait = read_retry_after(headers, now=now) if kind in _PASSING else None
    return SummaryError(kind, told + remedy, retry_after=wait)


def _type_stop(status: int, fault: _Fault, told: str, asked: Asked) -> StopError | None:
    """Return the fault of the account or the configuration that a status means, if it does."""
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN} or (
        status in _OUR_FAULT and (fault.code == "invalid_api_key" or _BAD_KEY.search(fault.message))
    ):
        return AuthError(f"{told}: check the key, see [llm] api_key_env")
    if status == HTTPStatus.PAYMENT_REQUIRED or _EMPTY_ACCOUNT & {fault.code, fault.kind}:
        return QuotaError(f"{told}: the account has no more credit")
    if status == HTTPStatus.NOT_FOUND or (status in _OUR_FAULT and fault.code in _NO_MODEL):
        return ModelNotFoundError(f"{told}: check [llm] model and base_url")
    parameter = _refused_parameter(fault)
    if status not in _OUR_FAULT or parameter is None or _is_overflow(fault):
        return None
    most = _MOST.search(fault.message)
    if parameter.startswith("max_") and (most or _TOO_MANY.search(fault.message)):
        remedy = asked.fit(int(most[1]) if most else None)
        return ParameterError(f"{told}: {asked.tokens} tokens are too many for it; {remedy}")
    return ParameterError(f"{told}: it does not take our {parameter}; {_REMEDIES[parameter]}")


def _type_kind(status: int, fault: _Fault) -> tuple[FailureKind, str]:
    """Return what a status means for one session, and the way out."""
    large = status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    if large or (status in _OUR_FAULT and _is_overflow(fault)):
        window = _WINDOW.search(fault.message)
        remedy = f"set [llm] context_window = {window[1]}" if window else "see [llm] context_window"
        return FailureKind.CONTEXT_OVERFLOW, f": {remedy}"
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return FailureKind.RATE_LIMITED, ""
    if status in {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT} or status >= _SERVER_FAULT:
        return FailureKind.UNAVAILABLE, ""
    if status < HTTPStatus.BAD_REQUEST:
        told = ": redirects are not followed, name the final address in [llm] base_url"
        return FailureKind.BAD_REQUEST, told
    if fault.code in {"content_filter", "content_policy_violation"}:
        return FailureKind.REFUSED, ""
    return FailureKind.BAD_REQUEST, ""


def _is_overflow(fault: _Fault) -> bool:
    if fault.code == "context_length_exceeded" or _WINDOW.search(fault.message):
        return True
    capped = _MOST.search(fault.message)  # a cap of the answer may be explained by the window's
    return capped is None and bool(_OVERFLOW.search(fault.message))


def _refused_parameter(fault: _Fault) -> str | None:
    if fault.param in _PARAMETERS:
        return fault.param
    said = f"{fault.message} {fault.code}"
    if not any(sign.search(said) for sign in (_UNSUPPORTED, _TOO_MANY, _MOST)):
        return None
    # Named in quotes by most servers; the first one named is the one that is not taken.
    found = [(fault.message.find(name), name) for name in _PARAMETERS if name in fault.message]
    return min(found)[1] if found else None


def read_retry_after(headers: Mapping[str, str], *, now: datetime) -> timedelta | None:
    """Return how long the endpoint asks us to wait: in milliseconds, seconds, or until a date."""
    millis, value = headers.get("retry-after-ms"), headers.get("retry-after")
    try:
        if millis is not None:
            return max(timedelta(), timedelta(milliseconds=float(millis)))
        if value is None:
            return None
        if re.fullmatch(r"\d+(?:\.\d+)?", value):
            return timedelta(seconds=float(value))
        until = parsedate_to_datetime(value)
        return max(timedelta(), (until if until.tzinfo else until.replace(tzinfo=UTC)) - now)
    except (ValueError, OverflowError):
        return None


def read_reply(
    reply: Any,  # noqa: ANN401 - the SDK does not check what it returns
    asked: Asked,
    usage: Mapping[str, int],
) -> str:
    """Return the text of a chat completion; raises `SummaryError` where it is none.

    The SDK hands on whatever came: a string for HTML, None for `null`, no choices, any content.
    """
    fault = getattr(reply, "error", None)
    if isinstance(fault, dict):
        code = fault.get("code")
        status = code if isinstance(code, int) and code in _FAULTY else HTTPStatus.BAD_GATEWAY
        now = datetime.min.replace(tzinfo=UTC)
        raise type_status(status, {"error": fault}, {}, asked, now=now)
    choices = getattr(reply, "choices", None)
    if not isinstance(choices, list) or not choices:
        remedy = (
            "if that stays so, check that [llm] base_url is the endpoint, up to and including /v1"
        )
        problem = "the reply is no chat completion"
        raise SummaryError(FailureKind.UNAVAILABLE, problem, remedy=remedy)
    choice = choices[0]
    message: Any = getattr(choice, "message", None)
    if not hasattr(message, "content"):
        raise SummaryError(FailureKind.UNAVAILABLE, "the reply has no message")
    finish = getattr(choice, "finish_reason", None)
    if finish == "content_filter" or getattr(message, "refusal", None):
        raise SummaryError(FailureKind.REFUSED, "the model refuses to summarize")
    if getattr(message, "tool_calls", None) or finish in {"tool_calls", "function_call"}:
        raise SummaryError(FailureKind.BAD_SUMMARY, "the model calls a tool")
    if finish == "length":
        raise _cut_off(message.content, asked, usage)
    if finish != "stop":
        raise SummaryError(FailureKind.BAD_SUMMARY, "the answer did not end in a normal stop")
    content = message.content
    if not isinstance(content, str):
        raise SummaryError(FailureKind.BAD_SUMMARY, "the answer has no text")
    text = strip_thinking(content)
    if not text:
        raise SummaryError(FailureKind.BAD_SUMMARY, "the answer has no visible text")
    return text


def _cut_off(content: object, asked: Asked, usage: Mapping[str, int]) -> SummaryError:
    text = content.strip() if isinstance(content, str) else ""
    answer = strip_thinking(text)
    remedy = ""
    used = usage.get("completion", 0) + usage.get("reasoning", 0)  # some leave it out, some don't
    if 0 < used < asked.tokens:
        remedy = f"the server ended it after {used} of {asked.tokens} tokens: "
        remedy += (
            'set [llm] max_tokens_parameter = "max_tokens"'
            if asked.parameter == "max_completion_tokens"
            else "raise its own limit"
        )
    elif answer != text or not answer or usage.get("reasoning", 0) > asked.reasoning:
        more = max(2 * asked.reasoning, _ROOM)
        remedy = f'set [llm] reasoning_tokens = {more}, or [llm] reasoning_effort = "low"'
    if answer:
        problem = "the answer was cut off, it must be shorter"
        return SummaryError(FailureKind.BAD_SUMMARY, problem, remedy=remedy)
    problem = "all tokens were used up before an answer began"
    return SummaryError(FailureKind.BAD_SUMMARY, problem, final=True, remedy=remedy)
