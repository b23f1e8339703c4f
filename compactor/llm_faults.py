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

_OVERFLOW = re.compile(r"(?i)context.{0,20}(?:length|window)|maximum context|too many tokens")
_UNSUPPORTED = re.compile(r"(?i)unsupported|unrecognized|unknown|not supported|extra inputs")
_BAD_KEY = re.compile(
    r"(?i)(?:invalid|incorrect|wrong).{0,20}api.?key|api.?key.{0,20}(?:not |in)valid"
)
_TOO_MANY = re.compile(r"(?i)too (?:large|high|big)|at most|less than or equal|exceeds? the max")
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
_LESS = "it takes fewer; lower [llm] reasoning_tokens or [summary] max_tokens"


class ReplyTooLargeError(ValueError):
    """A reply that no summary could be; its text says how."""


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


def type_fault(error: Exception, *, now: datetime) -> SummaryError:
    """Return the typed form of whatever a call raised."""
    if isinstance(error, openai.APIStatusError):
        return type_status(error.status_code, error.body, error.response.headers, now=now)
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
    status: int, body: object, headers: Mapping[str, str], *, now: datetime
) -> SummaryError:
    """Return what an HTTP status with its error body means."""
    fault = _Fault.of(body)
    told = f"the endpoint answers {status}{fault.label}"
    stop = _type_stop(status, fault, told)
    if stop is not None:
        return stop
    kind, remedy = _type_kind(status, fault)
    wait = read_retry_after(headers, now=now) if kind in _PASSING else None
    return SummaryError(kind, told + remedy, retry_after=wait)


def _type_stop(status: int, fault: _Fault, told: str) -> StopError | None:
    """Return the fault of the account or the configuration that a status means, if it does."""
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN} or (
        status in _OUR_FAULT and (fault.code == "invalid_api_key" or _BAD_KEY.search(fault.message))
    ):
        return AuthError(f"{told}: check the key, see [llm] api_key_env")
    if status == HTTPStatus.PAYMENT_REQUIRED or _EMPTY_ACCOUNT & {fault.code, fault.kind}:
        return QuotaError(f"{told}: the account has no more credit")
    if status == HTTPStatus.NOT_FOUND or (status in _OUR_FAULT and fault.code in _NO_MODEL):
        return ModelNotFoundError(f"{told}: check [llm] model and base_url")
    parameter = _unsupported_parameter(fault)
    if status in _OUR_FAULT and parameter is not None and not _is_overflow(fault):
        if parameter.startswith("max_") and _TOO_MANY.search(fault.message):
            return ParameterError(f"{told}: too many tokens are asked for; {_LESS}")
        return ParameterError(f"{told}: it does not take {parameter}; {_REMEDIES[parameter]}")
    return None


def _type_kind(status: int, fault: _Fault) -> tuple[FailureKind, str]:
    """Return what a status means for one session, and the way out."""
    large = status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    if large or (status in _OUR_FAULT and _is_overflow(fault)):
        return FailureKind.CONTEXT_OVERFLOW, ": see [llm] context_window"
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
    return fault.code == "context_length_exceeded" or bool(_OVERFLOW.search(fault.message))


def _unsupported_parameter(fault: _Fault) -> str | None:
    if fault.param in _PARAMETERS:
        return fault.param
    if not _UNSUPPORTED.search(f"{fault.message} {fault.code}"):
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


def read_reply(reply: Any) -> str:  # noqa: ANN401 - the SDK does not check what it returns
    """Return the text of a chat completion; raises `SummaryError` where it is none.

    The SDK hands on whatever came: a string for HTML, None for `null`, no choices, any content.
    """
    fault = getattr(reply, "error", None)
    if isinstance(fault, dict):
        code = fault.get("code")
        status = code if isinstance(code, int) and code in _FAULTY else HTTPStatus.BAD_GATEWAY
        raise type_status(status, {"error": fault}, {}, now=datetime.min.replace(tzinfo=UTC))
    choices = getattr(reply, "choices", None)
    if not isinstance(choices, list) or not choices:
        raise SummaryError(FailureKind.UNAVAILABLE, "the reply is no chat completion")
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
        raise _cut_off(message.content)
    if finish != "stop":
        raise SummaryError(FailureKind.BAD_SUMMARY, "the answer did not end in a normal stop")
    content = message.content
    if not isinstance(content, str):
        raise SummaryError(FailureKind.BAD_SUMMARY, "the answer has no text")
    text = strip_thinking(content)
    if not text:
        raise SummaryError(FailureKind.BAD_SUMMARY, "the answer has no visible text")
    return text


def _cut_off(content: object) -> SummaryError:
    if isinstance(content, str) and strip_thinking(content):
        return SummaryError(FailureKind.BAD_SUMMARY, "the answer was cut off, it must be shorter")
    told = (
        "the model's reasoning used up all tokens and left no answer; raise [llm] reasoning_tokens "
        "or lower [llm] reasoning_effort"
    )
    return SummaryError(FailureKind.BAD_SUMMARY, told, final=True)
