"""What can be wrong with an endpoint, one row each, and what must come of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum

from compactor.errors import FailureKind as Kind
from tests.endpoint.server import GOOD, Pause, Reply, Step, answer, completion, error, http


class Next(Enum):
    """What the next pass does."""

    PARKED = "parked"  # nothing: the session waits for its time
    ASKS = "asks"  # asks again: it was not the session's fault


@dataclass(frozen=True)
class Fault:
    """A behaviour and what must come of it; `slow` ones end only by our own deadline."""

    name: str
    reply: Reply
    reason: Kind
    requests: int
    slow: bool = False

    @property
    def exit_code(self) -> int:
        """What `once` ends with."""
        stops = {Kind.AUTH: 78, Kind.MODEL_NOT_FOUND: 78, Kind.PARAMETER: 78, Kind.QUOTA: 69}
        return stops.get(self.reason, 3)

    @property
    def then(self) -> Next:
        """What the next pass does."""
        return Next.PARKED if self.exit_code == 3 else Next.ASKS


def _changed(**fields: object) -> Reply:
    """A completion with some top-level fields replaced, or left out where they are `...`."""
    body = completion() | fields
    return http(200, {name: value for name, value in body.items() if value is not ...})


def _message(message: object) -> Reply:
    return _changed(choices=[{"index": 0, "finish_reason": "stop", "message": message}])


_FULL = json.dumps(completion()).encode()
_OPEN = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
_HEAD = _OPEN + b"Content-Length: %d\r\n\r\n" % len(_FULL)
_CHUNKED = _OPEN + b"Transfer-Encoding: chunked\r\n\r\n"
_CALL = [{"id": "t", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
_DRIP = tuple(part for byte in range(60) for part in (_FULL[byte : byte + 1], Pause(0.05)))
_QUOTA = {"type": "insufficient_quota", "code": "insufficient_quota"}
_CHUNK = {"choices": [{"index": 0, "delta": {"content": GOOD}, "finish_reason": "stop"}]}
_EVENTS = b"data: " + json.dumps(_CHUNK).encode() + b"\n\ndata: [DONE]\n\n"
_HUGE = json.dumps(completion("x" * 60_000_000)).encode()
_LATE = "Fri, 31 Dec 2100 23:59:59 GMT"

STATUSES = (
    Fault("a plain 400", error(400), Kind.BAD_REQUEST, 1),
    Fault("401", error(401, code="invalid_api_key"), Kind.AUTH, 1),
    Fault("401 without a body", http(401), Kind.AUTH, 1),
    Fault("402", error(402), Kind.QUOTA, 1),
    Fault("403", error(403), Kind.AUTH, 1),
    Fault("404 for the model", error(404, code="model_not_found"), Kind.MODEL_NOT_FOUND, 1),
    Fault("404 for the path", http(404, b"<html>nginx</html>"), Kind.MODEL_NOT_FOUND, 1),
    Fault("405", error(405), Kind.BAD_REQUEST, 1),
    Fault("408", error(408), Kind.UNAVAILABLE, 3),
    Fault("409", error(409), Kind.UNAVAILABLE, 3),
    Fault("410", error(410), Kind.BAD_REQUEST, 1),
    Fault("413", http(413, b"too large"), Kind.CONTEXT_OVERFLOW, 2),
    Fault("422", error(422), Kind.BAD_REQUEST, 1),
    Fault(
        "400 for the length", error(400, code="context_length_exceeded"), Kind.CONTEXT_OVERFLOW, 2
    ),
    Fault("400 for the model", error(400, code="model_not_found"), Kind.MODEL_NOT_FOUND, 1),
    Fault("400 for the key", error(400, code="invalid_api_key"), Kind.AUTH, 1),
    Fault("400 for the content", error(400, code="content_filter"), Kind.REFUSED, 1),
    Fault("429", error(429), Kind.RATE_LIMITED, 3),
    Fault("429 for no time", error(429, RETRY_AFTER="0"), Kind.RATE_LIMITED, 3),
    Fault("429 for 20 ms", error(429, RETRY_AFTER_MS="20"), Kind.RATE_LIMITED, 3),
    Fault("429 for an hour", error(429, RETRY_AFTER="3600"), Kind.RATE_LIMITED, 1),
    Fault("429 for a century", error(429, RETRY_AFTER=_LATE), Kind.RATE_LIMITED, 1),
    Fault("429 for ever", error(429, RETRY_AFTER="9" * 400), Kind.RATE_LIMITED, 3),
    Fault("429 for nonsense", error(429, RETRY_AFTER="soon"), Kind.RATE_LIMITED, 3),
    Fault("429 since the account is empty", error(429, **_QUOTA), Kind.QUOTA, 1),
    Fault("429 that says not to retry", error(429, X_SHOULD_RETRY="false"), Kind.RATE_LIMITED, 3),
    Fault("400 that says to retry", error(400, X_SHOULD_RETRY="true"), Kind.BAD_REQUEST, 1),
    Fault("500", error(500), Kind.UNAVAILABLE, 3),
    Fault("502 as a page", http(502, b"<html>bad gateway</html>"), Kind.UNAVAILABLE, 3),
    Fault("503", error(503, RETRY_AFTER="0"), Kind.UNAVAILABLE, 3),
    Fault("504 without a body", http(504), Kind.UNAVAILABLE, 3),
    Fault("529", error(529), Kind.UNAVAILABLE, 3),
    Fault("a status beyond all", http(999), Kind.UNAVAILABLE, 3),
    Fault("301", http(301, location="/v1/elsewhere"), Kind.BAD_REQUEST, 1),
    Fault("307 to itself", http(307, location="/v1/chat/completions"), Kind.BAD_REQUEST, 1),
    Fault("308 to another host", http(308, location="http://127.0.0.2:9/v1"), Kind.BAD_REQUEST, 1),
    Fault("304", http(304), Kind.BAD_REQUEST, 1),
    Fault("204", http(204), Kind.UNAVAILABLE, 3),
    Fault("an error that is a word", http(400, {"error": "no"}), Kind.BAD_REQUEST, 1),
    Fault("an error that is a list", http(400, [{"error": {"code": 400}}]), Kind.BAD_REQUEST, 1),
    Fault("an error that is broken", http(400, b'{"error": {"mess'), Kind.BAD_REQUEST, 1),
    Fault("an error that is no UTF-8", http(400, b'{"error": "\xff\xfe"}'), Kind.BAD_REQUEST, 1),
)

BODIES = (
    Fault("an empty body", http(200), Kind.UNAVAILABLE, 3),
    Fault(
        "a page", http(200, b"<html>login</html>", content_type="text/html"), Kind.UNAVAILABLE, 3
    ),
    Fault("plain text", http(200, b"hello", content_type="text/plain"), Kind.UNAVAILABLE, 3),
    Fault("half a document", http(200, _FULL[:90]), Kind.UNAVAILABLE, 3),
    Fault("null", http(200, None), Kind.UNAVAILABLE, 3),
    Fault("a list", http(200, []), Kind.UNAVAILABLE, 3),
    Fault("a number", http(200, 42), Kind.UNAVAILABLE, 3),
    Fault("a word", http(200, "yes"), Kind.UNAVAILABLE, 3),
    Fault("brackets without end", http(200, b"[" * 200_000), Kind.UNAVAILABLE, 3),
    Fault("a number without end", http(200, b"9" * 20_000), Kind.UNAVAILABLE, 3),
    Fault("no UTF-8", http(200, _FULL.replace(b"Change", b"caf\xe9")), Kind.UNAVAILABLE, 3),
    Fault("packed, but not", http(200, b"no", content_encoding="gzip"), Kind.UNAVAILABLE, 3),
    Fault("events", http(200, _EVENTS, content_type="text/event-stream"), Kind.UNAVAILABLE, 3),
    Fault("60 MB", http(200, _HUGE), Kind.UNAVAILABLE, 3),
    Fault("an error with 200", http(200, {"error": {"code": 502}}), Kind.UNAVAILABLE, 3),
    Fault("a refused key with 200", http(200, {"error": {"code": 401}}), Kind.AUTH, 1),
    Fault("too many requests with 200", http(200, {"error": {"code": 429}}), Kind.RATE_LIMITED, 3),
    Fault("an odd error with 200", http(200, {"error": {"code": 200}}), Kind.UNAVAILABLE, 3),
    Fault("choices: []", _changed(choices=[]), Kind.UNAVAILABLE, 3),
    Fault("choices: null", _changed(choices=None), Kind.UNAVAILABLE, 3),
    Fault("choices: words", _changed(choices=["a"]), Kind.UNAVAILABLE, 3),
    Fault("choices: [null]", _changed(choices=[None]), Kind.UNAVAILABLE, 3),
    Fault("choices: {}", _changed(choices={"a": 1}), Kind.UNAVAILABLE, 3),
    Fault("no choices", _changed(choices=...), Kind.UNAVAILABLE, 3),
    Fault("message: null", _message(None), Kind.UNAVAILABLE, 3),
    Fault("message: a word", _message("hello"), Kind.UNAVAILABLE, 3),
    Fault("message: a list", _message(["hello"]), Kind.UNAVAILABLE, 3),
)

ANSWERS = (
    Fault("cut off", answer("## Goal\n- fl", "length"), Kind.BAD_SUMMARY, 2),
    Fault("eaten by reasoning", answer("", "length"), Kind.BAD_SUMMARY, 1),
    Fault("eaten by reasoning, null", answer(None, "length"), Kind.BAD_SUMMARY, 1),
    Fault("filtered", answer(None, "content_filter"), Kind.REFUSED, 1),
    Fault("a refusal", answer(None, refusal="I can't"), Kind.REFUSED, 1),
    Fault("a tool call", answer(None, "tool_calls", tool_calls=_CALL), Kind.BAD_SUMMARY, 2),
    Fault("a tool call that stops", answer(GOOD, tool_calls=_CALL), Kind.BAD_SUMMARY, 2),
    Fault("another end", answer(finish="eos"), Kind.BAD_SUMMARY, 2),
    Fault("no end", answer(finish=None), Kind.BAD_SUMMARY, 2),
    Fault("an end that is a number", answer(finish=3), Kind.BAD_SUMMARY, 2),
    Fault("content: null", answer(None), Kind.BAD_SUMMARY, 2),
    Fault("content: a number", answer(42), Kind.BAD_SUMMARY, 2),
    Fault("content: parts", answer([{"type": "text", "text": GOOD}]), Kind.BAD_SUMMARY, 2),
    Fault("blank", answer(" \n\t"), Kind.BAD_SUMMARY, 2),
    Fault("nothing but controls", answer("\x00\ud800\x1b"), Kind.BAD_SUMMARY, 2),
    Fault("reasoning only", answer(None, reasoning_content=GOOD), Kind.BAD_SUMMARY, 2),
    Fault("a thought only", answer(f"<think>{GOOD}</think>"), Kind.BAD_SUMMARY, 2),
    Fault("a thought without end", answer(f"<think>{GOOD}"), Kind.BAD_SUMMARY, 2),
    Fault("no heading", answer("The user flies."), Kind.BAD_SUMMARY, 2),
    Fault("a skeleton", answer("## Goal\n\n## Done\n"), Kind.BAD_SUMMARY, 2),
    Fault("too long", answer("## Goal\n" + "- word " * 1500), Kind.BAD_SUMMARY, 2),
    Fault(
        "the conversation goes on",
        answer(f"{GOOD}\nUser: And my bag?\nAgent: It flies too."),
        Kind.BAD_SUMMARY,
        2,
    ),
)

CONNECTIONS = (
    Fault("reset at once", (Step.RESET,), Kind.UNAVAILABLE, 3),
    Fault("closed at once", (Step.CLOSE,), Kind.UNAVAILABLE, 3),
    Fault("reset in the head", (_OPEN[:20], Step.RESET), Kind.UNAVAILABLE, 3),
    Fault("closed in the body", (_HEAD + _FULL[:50], Step.CLOSE), Kind.UNAVAILABLE, 3),
    Fault("reset in the body", (_HEAD + _FULL[:50], Step.RESET), Kind.UNAVAILABLE, 3),
    Fault("a chunk cut", (_CHUNKED + b"ff\r\n" + _FULL[:9], Step.CLOSE), Kind.UNAVAILABLE, 3),
    Fault("no chunk", (_CHUNKED + b"zz\r\n" + _FULL, Step.CLOSE), Kind.UNAVAILABLE, 3),
    Fault("no HTTP", (b"\x16\x03\x01garbage\r\n\r\n", Step.CLOSE), Kind.UNAVAILABLE, 3),
    Fault(
        "two lengths",
        (_OPEN + b"Content-Length: 1\r\n" * 2 + b"Content-Length: 2\r\n\r\n{}", Step.CLOSE),
        Kind.UNAVAILABLE,
        3,
    ),
    Fault(
        "a negative length",
        (_OPEN + b"Content-Length: -5\r\n\r\n{}", Step.CLOSE),
        Kind.UNAVAILABLE,
        3,
    ),
    Fault("a head without end", (_OPEN + b"x: y\r\n" * 50_000, Step.CLOSE), Kind.UNAVAILABLE, 3),
    Fault("silence", (Step.HANG,), Kind.TIMEOUT, 3, slow=True),
    Fault("silence in the head", (_OPEN[:20], Step.HANG), Kind.TIMEOUT, 3, slow=True),
    Fault("silence in the body", (_HEAD + _FULL[:50], Step.HANG), Kind.TIMEOUT, 3, slow=True),
    Fault("a trickle", (_HEAD, *_DRIP, Step.HANG), Kind.TIMEOUT, 3, slow=True),
    Fault(
        "a trickling head",
        (_OPEN, *(b"x: y\r\n", Pause(0.05)) * 60, Step.HANG),
        Kind.TIMEOUT,
        3,
        slow=True,
    ),
    Fault(
        "wait, wait",
        (
            (b"HTTP/1.1 100 Continue\r\n\r\n"),
            *(b"HTTP/1.1 102 Processing\r\n\r\n", Pause(0.05)) * 60,
            Step.HANG,
        ),
        Kind.TIMEOUT,
        3,
        slow=True,
    ),
    Fault("never closed", (_OPEN + b"\r\n" + _FULL, Step.HANG), Kind.TIMEOUT, 3, slow=True),
    Fault(
        "spaces for ever",
        (_CHUNKED, *(b"1\r\n \r\n", Pause(0.05)) * 60, Step.HANG),
        Kind.TIMEOUT,
        3,
        slow=True,
    ),
)

FAULTS = (*STATUSES, *BODIES, *ANSWERS, *CONNECTIONS)
