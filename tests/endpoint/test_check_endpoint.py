"""`compactor check` and the model: each fault has its remedy, and the remedy works."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.end_to_end.checking import Line, assert_healthy, look
from tests.end_to_end.support import Invoke
from tests.endpoint.models import (
    CAP_WORDS,
    UNKNOWN_WORDS,
    Behaviour,
    capped_model,
    older_server,
    reasoning_model,
    seeded_reasoning,
)
from tests.endpoint.server import Pause, Reply, Server, answer, error, http
from tests.endpoint.support import KEY, KEY_NAME, Place

Follow = Callable[[Line, Place, Server], None]


@dataclass(frozen=True)
class Fault:
    """What the endpoint does with what is configured, what is told, and how that is followed."""

    name: str
    does: Reply | Behaviour
    code: int
    words: str
    remedy: str
    follow: Follow
    configured: str = ""


def put_right(_line: Line, _place: Place, server: Server) -> None:
    """Who runs the endpoint does what was asked: it answers."""
    server.answer_by(lambda _: answer())


def obey(line: Line, place: Place, _server: Server) -> None:
    """Configure the first setting of the remedy."""
    section, key, value = line.settings()[0]
    assert section == "llm"
    place.configure(llm=f"{key} = {value}")


def wait_longer(line: Line, place: Place, server: Server) -> None:
    """Give it the time that the remedy names."""
    [(_, key, value)] = line.settings()
    place.configure(**{key: value.strip('"')})
    asked = len(server.requests)
    server.answer_by(
        lambda request: slow(request) if len(server.requests) == asked + 1 else answer()
    )


def leave_out(line: Line, place: Place, _server: Server) -> None:
    """Leave out the one setting that is not usual."""
    assert re.fullmatch(r"leave \[llm\] temperature out", line.remedy)
    place.configure()


def name_another_model(line: Line, place: Place, server: Server) -> None:
    """Set the key that the remedy names."""
    assert "set [llm] model" in line.remedy
    place.configure(model="another-model")


def knows_one_model(request: Any) -> Reply:
    """An endpoint without our model."""
    known = request.json["model"] == "another-model"
    return answer() if known else error(404, code="model_not_found")


def slow(request: Any) -> Reply:
    """It takes a second and a bit."""
    return (Pause(1.2), *answer())


QUOTA = {"type": "insufficient_quota", "code": "insufficient_quota"}
FAULTS = [
    Fault(
        "a refused key", error(401), 78, "auth: ", f"put another key into ${KEY_NAME}", put_right
    ),
    Fault("no such model", knows_one_model, 78, "404", "'test-model'", name_another_model),
    Fault("no credit", error(429, **QUOTA), 69, "no more credit", "add credit", put_right),
    Fault("too many requests", error(429), 3, "rate_limited", "wait, and check again", put_right),
    Fault("a server that is down", http(503), 3, "503", "see whether it is up", put_right),
    Fault(
        "a page",
        http(200, b"<html>login</html>", content_type="text/html"),
        3,
        "no chat completion",
        "up to and including /v1",
        put_right,
    ),
    Fault(
        "a redirect",
        http(301, location="/elsewhere"),
        3,
        "redirects are not followed",
        "name the final address",
        put_right,
    ),
    Fault("a plain refusal", error(400), 3, "400", "see whether [llm] base_url", put_right),
    Fault(
        "a temperature",
        reasoning_model(seeded_reasoning(1, least=9, most=99)),
        78,
        "our temperature",
        "leave",
        leave_out,
        "temperature = 0.2",
    ),
    Fault(
        "an older server",
        older_server(UNKNOWN_WORDS["Go"]),
        78,
        "max_completion_tokens",
        'max_tokens_parameter = "max_tokens"',
        obey,
    ),
    Fault(
        "a small cap",
        capped_model(4096, lambda asked: CAP_WORDS["OpenAI"](asked, 4096)),
        78,
        "too many for it",
        "set [llm] reasoning_tokens = 2896",
        obey,
    ),
    Fault("an impatient timeout", slow, 3, "timeout", 'set [llm] timeout = "2s"', wait_longer),
    Fault(
        "a model that refuses",
        answer(None, refusal="no"),
        3,
        "refuses",
        "name another model in [llm] model",
        put_right,
    ),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_of_the_endpoint_is_told_and_what_is_told_mends_it(
    fault: Fault, place: Place, server: Server, invoke: Invoke
) -> None:
    """One question each time, however passing the fault."""
    place.configure(llm=fault.configured, timeout="1s" if fault.does is slow else "20s")
    does = fault.does
    server.answer_by(does if callable(does) else lambda _: does)

    code, lines = look(invoke)

    line = lines["endpoint"]
    assert (line.state, code, len(server.requests)) == ("fail", fault.code, 1)
    assert fault.words in line.detail
    assert fault.remedy in line.remedy
    assert f"-> {line.remedy}\n" in invoke("check").out
    fault.follow(line, place, server)
    assert_healthy(invoke)


def test_what_breaks_an_entry_is_a_warning(place: Place, server: Server, invoke: Invoke) -> None:
    """The endpoint answers, though not as an entry would have to."""
    server.play(answer("", finish="length", usage={"completion_tokens": 5200}))
    code, lines = look(invoke)
    assert (code, lines["endpoint"].state) == (0, "warn")
    assert lines["endpoint"].settings()[0] == ("llm", "reasoning_tokens", "8000")


def test_a_key_that_is_missing_is_told_with_every_way_out(
    place: Place, server: Server, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody is asked; a key, none needed, or no model at all: each works."""
    monkeypatch.delenv(KEY_NAME)
    code, lines = look(invoke)
    line = lines["endpoint"]
    assert (code, line.state, server.requests) == (78, "fail", [])
    assert f"there is no key in ${KEY_NAME}" in line.detail
    assert line.remedy.startswith("set it there, or set api_key_env to ")
    monkeypatch.setenv(KEY_NAME, KEY)
    assert_healthy(invoke)
    monkeypatch.delenv(KEY_NAME)
    place.configure(key="")
    assert_healthy(invoke)
    place.configure()
    assert ("summary", "engine", '"digest"') in line.settings()
    file = place.folder / "config.toml"
    file.write_text(file.read_text().replace('"openai"', '"digest"'))
    assert_healthy(invoke)


def test_an_endpoint_that_nobody_runs_is_told(place: Place, invoke: Invoke) -> None:
    """The address that is wrong is named, with its key."""
    with socket.create_server(("127.0.0.1", 0)) as one:
        port = one.getsockname()[1]
    place.configure(url=f"http://127.0.0.1:{port}/v1")
    code, lines = look(invoke)
    assert (code, lines["endpoint"].state) == (3, "fail")
    assert "can't be reached" in lines["endpoint"].detail
    assert (
        f"[llm] base_url = 'http://127.0.0.1:{port}/v1' is its address" in lines["endpoint"].remedy
    )
    place.configure(url=place.url)
    assert_healthy(invoke)


@pytest.mark.parametrize("way", [0, 1])
def test_a_window_without_room_is_told_before_anybody_is_asked(
    way: int, place: Place, server: Server, invoke: Invoke
) -> None:
    """Either figure of the remedy is enough, and just enough."""
    place.configure(llm="context_window = 8192")
    code, lines = look(invoke)
    assert (code, lines["window"].state) == (78, "fail")
    assert "[llm] context_window = 8192 leaves no room" in lines["window"].detail
    _, key, value = lines["window"].settings()[way]
    short = int(value) + (-4 if way == 0 else 1)
    for figure, state in ((short, "fail"), (int(value), "ok")):
        others = "" if key == "context_window" else "context_window = 8192\n"
        place.configure(llm=f"{others}{key} = {figure}")
        assert look(invoke)[1]["window"].state == state
    assert_healthy(invoke)


def test_a_window_that_no_reasoning_can_be_taken_from(place: Place, invoke: Invoke) -> None:
    """Then the other two keys are named, and the figure for the window still works."""
    place.configure(llm="context_window = 2000\nreasoning_tokens = 100")
    line = look(invoke)[1]["window"]
    assert "lower [llm] reasoning_tokens and [summary] max_tokens" in line.remedy
    _, _, value = line.settings()[0]
    place.configure(llm=f"context_window = {value}\nreasoning_tokens = 100")
    assert_healthy(invoke)
