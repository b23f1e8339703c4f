"""Today's models and yesterday's servers: each works by default, or says what to set.

What a message says is done to the letter, and the next pass must succeed.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest

from compactor.entry import FRAME
from tests.end_to_end.support import ROOT, Invoke, Ran, add_messages
from tests.endpoint.models import (
    CAP_WORDS,
    EFFORT_WORDS,
    UNKNOWN_WORDS,
    WINDOW_WORDS,
    Behaviour,
    capped_model,
    careless_server,
    effort_checked_by,
    inline_thinker,
    older_server,
    reasoning_model,
    seeded_reasoning,
    small_window,
)
from tests.endpoint.server import GOOD, Reply, Server
from tests.endpoint.support import KEY, OTHERS, SHORT_KEY, Place

SETTING = re.compile(r'(?:\[(llm|summary)\] )?(\w+) = ("[^"]*"|\d+)')
THOUGHT = (
    "## Goal\n- Think first\n\n"
    + "The user wants to change a flight. I must keep the code H8Q05L. " * 40
)


def once(invoke: Invoke, *more: str) -> Ran:
    """Make a pass; a session that failed just now is not due again unless it is forced."""
    return invoke("once", "--agent-stopped", "--json", "--force", *more)


def told(ran: Ran, place: Place, before: dict[str, bytes]) -> str:
    """What a pass says that failed and changed nothing: the same in its report and its log."""
    row = ran.session(SHORT_KEY)
    assert (ran.json["compacted"], row["outcome"]) == (0, "failed")
    assert place.files() == before
    assert row["detail"] in ran.err
    return str(row["detail"])


def settings_of(advice: str) -> dict[str, dict[str, Any]]:
    """The settings that an advice spells out, up to its first `or`, by section."""
    found: dict[str, dict[str, Any]] = {}
    section = ""
    for named, key, value in SETTING.findall(advice.split(", or ", maxsplit=1)[0]):
        section = named or section
        found.setdefault(section, {})[key] = tomllib.loads(f"value = {value}")["value"]
    return found


def obey(place: Place, advice: str, **changed: Any) -> None:
    """Configure what is advised, in place of what was configured."""
    found = settings_of(advice)
    assert found, advice
    lines = {
        section: "\n".join(f"{key} = {_spell(value)}" for key, value in keys.items())
        for section, keys in found.items()
    }
    place.configure(**changed | lines)


def _spell(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


DEFAULTS: dict[str, Behaviour] = {
    "a current OpenAI model": reasoning_model(seeded_reasoning(1, least=200, most=3900)),
    "reasoning in the text": inline_thinker(THOUGHT),
    "reasoning that the template opens": inline_thinker(THOUGHT, opened=False),
    "a server that ignores what it doesn't know": careless_server(4096),
    "a cap that is high enough": capped_model(8192, lambda _: ()),
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_the_default_configuration_works(
    name: str, place: Place, server: Server, invoke: Invoke
) -> None:
    """One request and a compaction, the reasoning nowhere in it."""
    server.answer_by(DEFAULTS[name])

    ran = once(invoke)

    assert (ran.code, ran.json["compacted"]) == (0, 1), ran.out
    assert len(server.requests) == 1
    assert place.entry() == f"{FRAME}\n\n{GOOD}"


def test_an_address_and_a_model_are_enough(
    bare: Place, server: Server, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything else may be the default that `config.toml` is shipped with."""
    stem = "dGVsZWdyYW06YWlybGluZS13ZWVr"
    bare.add(stem)
    (bare.folder / "config.toml").write_text(
        f'[summary]\nengine = "openai"\n[llm]\nbase_url = "{server.url}"\nmodel = "test-model"\n'
    )
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.answer_by(DEFAULTS["a current OpenAI model"])

    ran = invoke("once", "--agent-stopped", "--json")

    assert (ran.code, ran.json["compacted"]) == (0, 1), ran.out
    assert bare.entry(stem).endswith(GOOD)
    [request] = server.requests
    shipped = tomllib.loads((ROOT / "config.toml").read_text())["llm"]
    assert request.json["max_completion_tokens"] > shipped["reasoning_tokens"]
    assert set(request.json) == {"model", "messages", shipped["max_tokens_parameter"]}


THINKER = reasoning_model(seeded_reasoning(2, least=100, most=900), "low", "medium", "high")
REFUSED: dict[str, tuple[Behaviour, str, str]] = {
    "max_tokens": (
        THINKER,
        'max_tokens_parameter = "max_tokens"',
        'set [llm] max_tokens_parameter = "max_completion_tokens"',
    ),
    "a temperature": (THINKER, "temperature = 0.2", "leave [llm] temperature out"),
    "an effort": (THINKER, 'reasoning_effort = "none"', "leave [llm] reasoning_effort out"),
} | {
    f"an effort, as of {name}": (
        effort_checked_by(words),
        'reasoning_effort = "minimal"',
        "leave [llm] reasoning_effort out",
    )
    for name, words in EFFORT_WORDS.items()
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_model_refuses_is_named(
    name: str, place: Place, server: Server, invoke: Invoke
) -> None:
    """The setting to change or to leave out; then it works."""
    behaviour, configured, advice = REFUSED[name]
    place.configure(llm=configured)
    server.answer_by(behaviour)
    before = place.files()

    ran = once(invoke)

    assert ran.code == 78
    said = told(ran, place, before)
    assert advice in said
    if "leave" in advice:
        place.configure()
    else:
        obey(place, said)
    assert once(invoke).json["compacted"] == 1


@pytest.mark.parametrize("name", UNKNOWN_WORDS)
def test_an_older_server_is_told_from_its_words(
    name: str, place: Place, server: Server, invoke: Invoke
) -> None:
    """It knows no `max_completion_tokens`: the message says so, and `max_tokens` works."""
    server.answer_by(older_server(UNKNOWN_WORDS[name]))
    before = place.files()

    ran = once(invoke)

    assert (ran.code, len(server.requests)) == (78, 1)
    said = told(ran, place, before)
    assert 'set [llm] max_tokens_parameter = "max_tokens"' in said
    obey(place, said)
    assert once(invoke).json["compacted"] == 1


def test_a_cap_that_is_not_heard_is_seen_in_the_figures(
    place: Place, server: Server, invoke: Invoke
) -> None:
    """An older server ends at its own default: it ended too early for our figure."""
    server.answer_by(careless_server(16))
    before = place.files()

    ran = once(invoke)

    said = told(ran, place, before)
    asked = server.requests[0].json["max_completion_tokens"]
    assert f'after 16 of {asked} tokens: set [llm] max_tokens_parameter = "max_tokens"' in said
    assert "max_tokens_parameter" not in server.requests[-1].user
    obey(place, said)
    assert once(invoke).json["compacted"] == 1


@pytest.mark.parametrize(
    ("name", "most"),
    [(name, most) for name in CAP_WORDS for most in (4096, 700) if "without" not in name]
    + [("without a figure", 4096)],
)
def test_a_model_that_writes_less_says_what_to_lower(
    name: str, most: int, place: Place, server: Server, invoke: Invoke
) -> None:
    """The figure that fits is worked out where the server tells its own."""
    words = CAP_WORDS[name]
    server.answer_by(capped_model(most, lambda asked: words(asked, most)))
    before = place.files()

    ran = once(invoke)

    assert (ran.code, len(server.requests)) == (78, 1)
    said = told(ran, place, before)
    asked = server.requests[0].json["max_completion_tokens"]
    assert f"{asked} tokens are too many" in said
    obey(place, said)
    assert once(invoke).json["compacted"] == 1


def test_a_check_meets_the_same_cap(place: Place, server: Server, invoke: Invoke) -> None:
    """What a pass would be refused for, `check` says beforehand."""
    words = CAP_WORDS["OpenAI"]
    server.answer_by(capped_model(4096, lambda asked: words(asked, 4096)))

    ran = invoke("check", "--json")

    assert ran.code == 78
    assert "set [llm] reasoning_tokens = 2896" in ran.json["findings"][-1]["detail"]


@pytest.mark.parametrize("window", [16384, 8192])
@pytest.mark.parametrize("name", WINDOW_WORDS)
def test_a_small_window_is_named_and_then_kept(
    name: str, window: int, place: Place, server: Server, invoke: Invoke
) -> None:
    """The window as the server tells it; where reasoning takes most of that, this is told next."""
    words = WINDOW_WORDS[name]
    long = ("and so on " * 1200, "I see")
    texts = [*long * 6, *("yes", "well") * 3]
    roles = ("user", "assistant") * 9
    at = "2026-03-02T10:00:00"
    rows = zip(roles, texts, strict=True)
    messages = [{"role": role, "content": text, "timestamp": at} for role, text in rows]
    add_messages(place.path(), *messages)
    refused: list[int] = []

    def refuse(total: int) -> Reply:
        refused.append(total)
        return words(total, window)

    server.answer_by(small_window(window, refuse))
    before = place.files()

    said = told(once(invoke), place, before)

    assert f"set [llm] context_window = {window}" in said
    obey(place, said)
    refused.clear()
    ran = once(invoke)
    if window == 8192:
        assert "lower [llm] reasoning_tokens" in told(ran, place, before)
        place.configure(llm="context_window = 8192\nreasoning_tokens = 0")
        ran = once(invoke)
    assert ran.json["compacted"] == 1, ran.out
    assert refused == [], "what can't fit is not sent"


@pytest.mark.parametrize("reasoning", [5100, 5180, 6000])
def test_reasoning_that_eats_the_answer_says_what_to_raise(
    reasoning: int, place: Place, server: Server, invoke: Invoke
) -> None:
    """All of the answer or a part of it: the room to give is named, and so is a lower effort."""
    draw = seeded_reasoning(3, least=reasoning, most=reasoning)
    long_winded = reasoning_model(draw, "low", "medium", "high")
    server.answer_by(long_winded)
    if reasoning == 5100:  # what is left is just enough
        assert once(invoke).json["compacted"] == 1
        return
    before = place.files()

    said = told(once(invoke), place, before)

    assert 'set [llm] reasoning_tokens = 8000, or [llm] reasoning_effort = "low"' in said
    place.configure(llm='reasoning_effort = "low"')
    assert once(invoke).json["compacted"] == 1
    place.add(OTHERS[0])
    obey(place, said)
    assert once(invoke).json["compacted"] == 1
