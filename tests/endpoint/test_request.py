"""What a model is sent, read from the bytes that arrived, and when it is asked at all."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from compactor.entry import FRAME
from compactor.tokens import TokenCounter
from tests.end_to_end.support import Invoke, add_messages
from tests.endpoint.server import GOOD, Server, answer
from tests.endpoint.support import KEY, SHORT_KEY, Place

if TYPE_CHECKING:
    import pytest
from tests.endpoint.material import parts_of, turns, well_informed


def test_an_answer_lands_and_is_not_asked_for_again(
    place: Place, server: Server, invoke: Invoke
) -> None:
    """The entry is what came back, its stamp says where from, and a second pass makes no call."""
    lines = place.lines()

    ran = invoke("once", "--agent-stopped", "--json")

    assert (ran.code, ran.json["compacted"]) == (0, 1)
    assert place.entry() == f"{FRAME}\n\n{GOOD}"
    stamp = place.stamp()
    assert (stamp["engine"], stamp["model"]) == ("openai", "test-model")
    assert stamp["prompt"] == "handoff-2"
    assert place.lines() == lines
    again = invoke("once", "--agent-stopped", "--json")
    assert (again.code, again.json["skipped"]) == (0, {"covered": 1})
    assert len(server.requests) == 1


def test_the_call_asks_for_what_current_models_take(
    place: Place, server: Server, invoke: Invoke
) -> None:
    """The cap and room for reasoning, no temperature, no streaming, the key, a plain reply."""
    invoke("once", "--agent-stopped")

    [request] = server.requests
    assert request.line == "POST /v1/chat/completions HTTP/1.1"
    assert set(request.json) == {"model", "messages", "max_completion_tokens"}
    assert request.json["model"] == "test-model"
    frame = TokenCounter().count(f"{FRAME}\n\n")
    assert request.json["max_completion_tokens"] == 1200 - frame - 1 + 4000
    assert [message["role"] for message in request.json["messages"]] == ["system", "user"]
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["accept-encoding"] == "identity"


def test_a_second_compaction_sends_the_notes_and_what_is_new(
    place: Place, server: Server, invoke: Invoke
) -> None:
    """The entry before and the new messages, not the covered ones again."""
    invoke("once", "--agent-stopped")
    first = place.stamp()["covers"]
    add_messages(place.path(), *turns(24, "newer"))
    server.answer_by(well_informed)

    ran = invoke("once", "--agent-stopped", "--json")

    assert ran.json["compacted"] == 1, ran
    parts = parts_of(server.requests[1])
    assert list(parts) == ["PREVIOUS NOTES", "OLDER MESSAGES", "MESSAGES THAT STAY"]
    assert GOOD in parts["PREVIOUS NOTES"]
    assert "newer-0" in parts["OLDER MESSAGES"]
    rows = [json.loads(line) for line in place.lines() if line]
    for message in rows[:first]:
        if message["role"] == "user":
            assert message["content"] not in server.requests[1].user
    assert place.stamp()["covers"] > first
    assert place.stamp()["generation"] == 2
    assert place.entry().startswith(f"{FRAME}\n\n{GOOD}")


def test_what_was_wrong_is_named_once(place: Place, server: Server, invoke: Invoke) -> None:
    """A bad summary is asked for once more, with the reason; the good one lands."""
    server.play(answer("The user wants to fly."), answer())

    ran = invoke("once", "--agent-stopped", "--json")

    assert ran.json["compacted"] == 1
    first, second = server.requests
    complaint = "Your last answer was not usable: none of the headings has anything under it."
    assert complaint not in first.user
    assert complaint in second.user
    assert parts_of(first) == parts_of(second)


def test_a_second_bad_summary_is_refused(place: Place, server: Server, invoke: Invoke) -> None:
    """Two calls, then it is over."""
    server.play(answer("The user wants to fly."))
    before = place.files()

    ran = invoke("once", "--agent-stopped", "--json")

    assert ran.session(SHORT_KEY)["reason"] == "bad_summary"
    assert len(server.requests) == 2
    assert place.files() == before


def test_what_the_endpoint_counted_is_in_the_ledger(
    place: Place, server: Server, invoke: Invoke
) -> None:
    """All calls of a session together, those whose answer was refused too."""
    server.play(answer("Nothing.", "length"), answer("No heading."))

    invoke("once", "--agent-stopped")

    [(usage, calls, model)] = place.journal("SELECT usage, calls, model FROM ledger")
    assert json.loads(usage) == {"prompt": 1400, "cached": 1024, "completion": 180, "reasoning": 80}
    assert (calls, model) == (2, "test-model")


def test_what_nobody_counted_is_marked_as_estimated(
    place: Place, server: Server, invoke: Invoke
) -> None:
    """A server that reports no usage: we count, and say so."""
    server.play(answer(usage=None))

    invoke("once", "--agent-stopped")

    [(text,)] = place.journal("SELECT usage FROM ledger")
    usage = json.loads(text)
    assert usage["estimated"] == 1
    assert usage["completion"] == TokenCounter().count(GOOD)
    assert usage["prompt"] > 3000


def test_what_an_entry_took_is_shown(place: Place, server: Server, invoke: Invoke) -> None:
    """All calls that led to it; tokens that we counted ourselves are about right."""
    server.play(answer("No heading."), answer(usage=None))
    assert invoke("once", "--agent-stopped", "--json").json["compacted"] == 1

    shown = invoke("show", SHORT_KEY).out

    assert re.search(
        r"\ncost: 2 calls, about [\d,]+ tokens in \(512 cached\), about \d+ out "
        r"\(\d+ reasoning\), [\d.]+ s\n",
        shown,
    )
    told = invoke("show", SHORT_KEY, "--json").json["cost"]
    assert (told["calls"], told["parts"], told["usage"]["estimated"]) == (2, 0, 1)


def test_what_is_configured_arrives(place: Place, server: Server, invoke: Invoke) -> None:
    """The parameter's name, room, effort, temperature, headers and body."""
    place.configure(
        llm="""\
max_tokens_parameter = "max_tokens"
reasoning_tokens = 0
reasoning_effort = "low"
temperature = 0.2
extra_headers = { "X-Team" = "night", "Authorization" = "Basic eA==" }
extra_body = { provider = { order = ["a"] }, seed = 7 }
"""
    )

    invoke("once", "--agent-stopped")

    [request] = server.requests
    assert request.json["max_tokens"] < 1200
    assert "max_completion_tokens" not in request.json
    assert request.json["reasoning_effort"] == "low"
    assert request.json["temperature"] == 0.2
    assert request.json["provider"] == {"order": ["a"]}
    assert request.json["seed"] == 7
    assert request.headers["x-team"] == "night"
    assert request.headers["authorization"] == "Basic eA=="


def test_the_environment_leads_nowhere_else(
    place: Place, server: Server, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No proxy, no other address and no other key are taken from it."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "another")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "admin")

    assert invoke("once", "--agent-stopped").code == 0

    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
