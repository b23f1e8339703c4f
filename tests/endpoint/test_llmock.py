"""Against a server that is not ours: llmock breaks things on demand, and grades the client."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

import pytest

from tests.end_to_end.support import Invoke
from tests.endpoint.server import GOOD
from tests.endpoint.support import OTHERS, SHORT_KEY, Place

if TYPE_CHECKING:
    from llmock.pytest_plugin import LLMock

Behaviour = dict[str, Any]
REPLY: Behaviour = {"type": "reply", "text": GOOD, "times": None}
STREAM = "extra_body = { stream = true }"  # a slip of the operator's: we don't read streams


def tell(llmock: LLMock, *behaviours: Behaviour) -> None:
    """Queue behaviours, over HTTP as anybody would."""
    body = json.dumps({"behaviors": behaviours}).encode()
    with urlopen(Request(f"{llmock.url}/_llmock/scenario", body)) as answer:  # noqa: S310 - loopback
        assert answer.status == 201


def ask(llmock: LLMock, what: str) -> Any:
    """Read what it has seen or thinks of us."""
    with urlopen(f"{llmock.url}/_llmock/{what}") as answer:  # noqa: S310 - loopback
        return json.load(answer)


def fail(status: int, **more: Any) -> Behaviour:
    """An HTTP error."""
    return {"type": "fail", "status": status} | more


RECOVERED: dict[str, tuple[list[Behaviour], int]] = {
    "nothing": ([], 1),
    "429 with a wait": ([fail(429, retry_after=0.5)], 2),
    "429 twice": ([fail(429, retry_after=0.3, times=2)], 3),
    "429 without a wait": ([fail(429)], 2),
    "500": ([fail(500)], 2),
    "503 twice": ([fail(503, times=2)], 3),
    "529": ([fail(529)], 2),
    "408": ([fail(408)], 2),
    "409": ([fail(409)], 2),
    "a delay": ([{"type": "delay", "seconds": 0.5}], 1),
    "one too long": ([fail(400, code="context_length_exceeded", message="too long")], 2),
    "a bad answer": ([{"type": "reply", "text": "The user wants to fly."}], 2),
    "an answer cut off": ([{"type": "reply", "text": GOOD, "finish_reason": "length"}], 2),
    "a tool call": ([{"type": "reply", "tool_calls": [{"name": "f", "arguments": {}}]}], 2),
}
FAILED: dict[str, tuple[Behaviour, str, int, int]] = {
    "400": (fail(400, times=None), "bad_request", 3, 1),
    "401": (fail(401, times=None), "auth", 78, 1),
    "403": (fail(403, times=None), "auth", 78, 1),
    "404": (fail(404, times=None), "model_not_found", 78, 1),
    "422": (fail(422, times=None), "bad_request", 3, 1),
    "no credit": (fail(429, code="insufficient_quota", times=None), "quota", 69, 1),
    "429": (fail(429, times=None), "rate_limited", 3, 3),
    "429 for a minute": (fail(429, retry_after=60, times=2), "rate_limited", 3, 1),
    "an outage": (fail(503, times=None), "unavailable", 3, 3),
    "a long delay": ({"type": "delay", "seconds": 2, "times": None}, "timeout", 3, 3),
}
STREAMED = {
    "disconnect": "unavailable",
    "truncate": "unavailable",
    "malformed": "unavailable",
    "stall": "timeout",
}


@pytest.fixture
def pointed(place: Place, llmock: LLMock) -> Place:
    """The place, with llmock in the place of our own server."""
    place.configure(url=llmock.base_url(), pause="0.1s")
    return place


@pytest.mark.parametrize(("behaviours", "requests"), RECOVERED.values(), ids=RECOVERED.keys())
def test_a_fault_that_passes_is_survived_with_manners(
    behaviours: list[Behaviour], requests: int, pointed: Place, llmock: LLMock, invoke: Invoke
) -> None:
    """The answer lands after so many requests, and there is nothing to say against us."""
    tell(llmock, *behaviours, REPLY)

    ran = invoke("once", "--agent-stopped", "--json")

    assert (ran.code, ran.json["compacted"]) == (0, 1), ran.err
    assert GOOD in pointed.entry()
    assert ask(llmock, "requests")["count"] == requests
    verdict = ask(llmock, "verdict")
    assert (verdict["passed"], verdict["findings"]) == (True, [])


@pytest.mark.parametrize("row", FAILED.values(), ids=FAILED.keys())
def test_a_fault_that_stays_is_told_with_manners(
    row: tuple[Behaviour, str, int, int], pointed: Place, llmock: LLMock, invoke: Invoke
) -> None:
    """Nothing is retried that can't succeed; `gave_up` is said only of what asks for too long."""
    behaviour, reason, code, requests = row
    pointed.configure(url=llmock.base_url(), pause="0.1s", timeout="1s")
    before = pointed.files()
    tell(llmock, behaviour, REPLY)

    ran = invoke("once", "--agent-stopped", "--json")

    assert (ran.code, ran.session(SHORT_KEY)["reason"]) == (code, reason)
    assert pointed.files() == before
    assert ask(llmock, "requests")["count"] == requests
    verdict = ask(llmock, "verdict")
    assert verdict["passed"]
    deliberate = reason == "quota" or behaviour.get("retry_after") == 60
    assert [found["code"] for found in verdict["findings"]] == ["gave_up"] * deliberate


@pytest.mark.parametrize(("kind", "reason"), STREAMED.items(), ids=STREAMED.keys())
def test_a_stream_that_breaks_is_never_taken_for_an_answer(
    kind: str, reason: str, pointed: Place, llmock: LLMock, invoke: Invoke
) -> None:
    """Cut off without a word, with a broken piece, or standing still: three tries, no entry."""
    pointed.configure(url=llmock.base_url(), pause="0.1s", timeout="1s", llm=STREAM)
    before = pointed.files()
    fault = {"type": "stream_fault", "kind": kind, "stall_seconds": 2, "times": 3}
    tell(llmock, fault, REPLY)

    ran = invoke("once", "--agent-stopped", "--json")

    assert (ran.code, ran.session(SHORT_KEY)["reason"]) == (3, reason)
    assert pointed.files() == before
    requests = ask(llmock, "requests")["requests"]
    assert [row["fault"] for row in requests] == [f"stream:{kind}@1"] * 3


def test_a_quota_is_respected(pointed: Place, llmock: LLMock, invoke: Invoke) -> None:
    """Two requests a minute: two land, three are turned away once each, the rest don't ask."""
    pointed.add(*OTHERS, "dGVsZWdyYW06YWlybGluZS00", "dGVsZWdyYW06YWlybGluZS01")
    pointed.configure(url=llmock.base_url(), concurrency=1)
    llmock.limits(rpm=2)
    tell(llmock, REPLY)

    ran = invoke("once", "--agent-stopped", "--json")

    assert (ran.json["compacted"], ran.json["failed"]) == (2, 3)
    assert ran.json["skipped"] == {"stopped": 1}
    assert ask(llmock, "requests")["count"] == 5
    assert ask(llmock, "verdict")["passed"]
