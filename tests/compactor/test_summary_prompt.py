"""What a model is sent, as it is rendered."""

from __future__ import annotations

import json

from compactor.entry import FRAME, QUOTED, Heading, frame, render_sections
from compactor.summarize import SummaryRequest
from compactor.summary_prompt import build_messages
from session.message import Message
from tests.compactor.builders import agent, messages_of, user, words

MARK = "0f1e2d3c"


def material(*rows: Message, previous: str | None = None, limit: int = 12_000) -> str:
    """Return the user message of a request."""
    request = SummaryRequest("telegram:42", previous, rows, (), max_tokens=900)
    return build_messages(request, mark=MARK, limit=limit)[1]["content"]


def calling(arguments: object) -> Message:
    """Return a message that calls a tool."""
    call = {"id": "c", "type": "function", "function": {"name": "save", "arguments": arguments}}
    return messages_of(agent("", tool_calls=[call]))[0]


def test_the_quotes_of_the_entry_before_are_no_headings() -> None:
    """All three stand under labels; the sections that a model writes keep their headings."""
    sections = {heading: f"> what {heading} says" for heading in Heading}
    text = material(*messages_of(user("go on")), previous=frame(render_sections(sections)))
    notes = text.partition("===== OLDER")[0]
    for heading in Heading:
        title = f"[quoted then: {heading}]" if heading in QUOTED else f"## {heading}"
        assert f"\n{title}\n> what {heading} says" in notes
    assert notes.count("## ") == len(Heading) - len(QUOTED)


def test_the_frame_of_the_entry_before_is_left_out() -> None:
    """It speaks to the agent's model; an entry that is nothing else is no part at all."""
    assert FRAME not in material(previous=frame("## Goal\nfly"))
    assert "## Goal\nfly" in material(previous=frame("## Goal\nfly"))
    assert "PREVIOUS NOTES" not in material(previous=frame(""))


def test_words_like_those_headings_stay_where_they_are_none() -> None:
    """Within a line, in a quote, at another level."""
    body = "## Goal\n> ## Last exchange\n- ## Last exchange\n### Last exchange\n## Last exchanges"
    assert body in material(previous=frame(body))


def test_a_secret_in_the_entry_before_goes() -> None:
    """Under a label as well."""
    secret = "sk-proj-" + "Q7w2E9r4" * 5
    text = material(previous=frame(f"## Last exchange\n> the key is {secret}"))
    assert "[quoted then: Last exchange]\n> the key is [redacted:" in text


def test_long_arguments_of_a_call_are_sent_as_json() -> None:
    """What is short in them is all there."""
    arguments = {"path": "/srv/a.py", "content": words(9000), "mode": "0644"}
    for written in (arguments, json.dumps(arguments)):
        [line] = [line for line in material(calling(written)).split("\n") if "calls save" in line]
        sent = json.loads(line.removeprefix("calls save(").removesuffix(")"))
        assert {**sent, "content": ""} == {**arguments, "content": ""}
        assert 1900 < len(line) < 2100


def test_what_is_left_out_of_a_message_is_a_line_of_its_own() -> None:
    """Nothing that somebody wrote looks like it."""
    text = material(*messages_of(user(f"first … {words(9000)} … last")), limit=500)
    assert text.count("\n  […]\n") == 1
