"""Planted secrets in every place of a session: none gets out, whoever writes the entry.

Each secret is looked for by itself, in every request that the endpoint got, in the new entry, in
all bytes of the journal, and in whatever was printed and logged. What a user wrote stays in the
session's own file as it was.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.compactor.planted import read_planted
from tests.end_to_end.support import Invoke, add_messages, filler, read_header, save_header
from tests.endpoint.material import row, well_informed
from tests.endpoint.server import GOOD, Server, answer
from tests.endpoint.support import Place

# Two are secrets by the lines around them, which a file's name and an entry's line don't keep.
_BY_LINES = ("is_my_password", "name_and_value_in_yaml")
PLANTED = [planted for planted in read_planted() if not planted.name.endswith(_BY_LINES)]
Row = dict[str, Any]
FOUND = "The build of 2026-03-02 needs it, in /srv/build/config-4711.yaml."


def call(name: str, arguments: object) -> Row:
    """An agent's message that calls a tool."""
    function = {"name": name, "arguments": arguments}
    return {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "function": function}]}


def result(content: object) -> Row:
    """What a tool said."""
    return {"role": "tool", "tool_call_id": "c1", "name": "exec", "content": content}


PLACES: dict[str, Callable[[str], list[Row]]] = {
    "user": lambda text: [{"role": "user", "content": text}],
    "agent": lambda text: [{"role": "assistant", "content": f"I have: {text}"}],
    "list": lambda text: [{"role": "user", "content": [{"type": "text", "text": text}]}],
    "arguments": lambda text: [
        call("exec", json.dumps({"command": text})),
        result("done"),
    ],
    "unescaped arguments": lambda text: [
        call("write_file", json.dumps({"path": "/srv/a.txt", "content": text}, ensure_ascii=False)),
        result("done"),
    ],
    "arguments that are no text": lambda text: [call("exec", {"command": text}), result("done")],
    "result": lambda text: [call("exec", "{}"), result(text)],
    "failed result": lambda text: [call("exec", "{}"), result(f"Error: {text}")],
    "media": lambda text: [{"role": "user", "content": "see", "media": [f"/m/{text}"]}],
    "sender": lambda text: [{"role": "user", "content": "hello there", "sender_name": text}],
    "tool name": lambda text: [call(text, "{}"), result("done")],
    "delivery": lambda text: [
        {"role": "assistant", "content": text, "_channel_delivery": True, "_source": "cron"}
    ],
}


def tell(place: Place, where: str) -> None:
    """Say every secret in one place of a session, with other words around."""
    rows: list[Row] = [{"role": "user", "content": f"Please look at it. {FOUND}"}]
    for number, planted in enumerate(PLANTED):
        rows += PLACES[where](planted.text)
        if number % 9 == 0:
            rows.append({"role": "assistant", "content": f"Step {number} is done."})
    rows += filler(3, "2026-03-02", "later")
    rows = [{"timestamp": "2026-03-02T10:00:00"} | row for row in rows]
    add_messages(place.path(), *rows)


def remember(place: Place) -> None:
    """Put every secret into the entry that stands now."""
    header = read_header(place.path())
    lines = "\n".join(f"- {planted.text}" for planted in PLANTED)
    text = f"## Goal\n- Build it\n\n## Exact facts\n{lines}"
    header["metadata"]["_last_summary"] = {"text": text, "last_active": "2026-03-01T12:20:00"}
    header["last_consolidated"] = header["last_archived"] = 4
    save_header(place.path(), header)


def leaks(*told: str | bytes) -> dict[str, list[str]]:
    """Return which secrets are told, each by itself, and what of them."""
    texts = [text if isinstance(text, bytes) else text.encode() for text in told]
    found = {}
    for planted in PLANTED:
        pieces = [
            piece
            for piece in planted.pieces
            for spelled in {piece, json.dumps(piece)[1:-1]}
            if any(spelled.encode() in text for text in texts)
        ]
        if pieces:
            found[planted.name] = pieces
    return found


def requests(server: Server) -> list[bytes]:
    """Every request as it arrived, and once more without the escapes of JSON."""
    bodies = [request.body for request in server.requests]
    plain = [f"{request.system}\n{request.user}".encode() for request in server.requests]
    return [*bodies, *plain, *(request.head for request in server.requests)]


# The digest reads all places in one way; in `make soak` each of them.
SOME = [
    where if number % 3 == 0 else pytest.param(where, marks=pytest.mark.soak)
    for number, where in enumerate(PLACES)
]
# With nothing kept the entry quotes the last exchange, from the same words: in `make soak`.
BOTH = [4, pytest.param(0, marks=pytest.mark.soak)]


def configure(place: Place, **changed: Any) -> None:
    """Log everything, and let everything fit."""
    usual = {
        "log": 'level = "DEBUG"',
        "llm": "context_window = 900000",
        "summary": "max_tokens = 4000",
    }
    place.configure(**usual | changed)


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("keep", BOTH)
def test_no_secret_of_a_transcript_gets_out(
    where: str, keep: int, place: Place, server: Server, invoke: Invoke
) -> None:
    """With `keep.messages = 0` the entry quotes the last exchange, too."""
    tell(place, where)
    add_messages(place.path(), *(row("user", "and so on " * 60) for _ in range(30)))
    before = place.lines()
    configure(place, keep=keep)
    server.answer_by(well_informed)

    ran = invoke("once", "--agent-stopped", "--json", "--verbose")

    assert ran.json["compacted"] == 1, ran.out + ran.err
    assert FOUND in server.requests[0].user
    assert leaks(*requests(server)) == {}
    assert leaks(place.entry(), place.journal_bytes(), ran.out, ran.err) == {}
    assert place.lines() == before


@pytest.mark.parametrize("where", SOME)
@pytest.mark.parametrize("keep", BOTH)
def test_no_secret_gets_into_an_entry_that_needs_no_model(
    where: str, keep: int, place: Place, server: Server, invoke: Invoke
) -> None:
    """The `digest` engine quotes what was said: what it quotes is redacted."""
    tell(place, where)
    remember(place)
    add_messages(place.path(), *(row("user", "and so on " * 60) for _ in range(60)))
    before = place.lines()
    configure(place, keep=keep, summary="max_tokens = 6000")
    config = place.folder / "config.toml"
    config.write_text(config.read_text().replace('engine = "openai"', 'engine = "digest"'))

    ran = invoke("once", "--agent-stopped", "--json", "--verbose")

    assert ran.json["compacted"] == 1, ran.out + ran.err
    assert server.requests == []
    assert leaks(place.entry(), place.journal_bytes(), ran.out, ran.err) == {}
    assert place.lines() == before


@pytest.mark.parametrize("keep", [4, 0])
def test_no_secret_of_the_entry_before_gets_out(
    keep: int, place: Place, server: Server, invoke: Invoke
) -> None:
    """Not into the request that revises it, not into the journal, not into the new entry."""
    add_messages(place.path(), *filler(9, "2026-03-02", "more"))
    remember(place)
    configure(place, keep=keep)
    server.answer_by(well_informed)

    ran = invoke("once", "--agent-stopped", "--json", "--verbose")

    assert ran.json["compacted"] == 1, ran.out + ran.err
    assert "Build it" in server.requests[0].user
    assert leaks(*requests(server)) == {}
    assert leaks(place.entry(), place.journal_bytes(), ran.out, ran.err) == {}


@pytest.mark.parametrize("start", range(0, len(PLANTED), 40))
def test_no_secret_of_an_answer_gets_any_further(
    start: int, place: Place, server: Server, invoke: Invoke
) -> None:
    """A model may know one from elsewhere, or put one together again."""
    lines = "\n".join(f"- {planted.text}" for planted in PLANTED[start : start + 40])
    add_messages(place.path(), *(row("user", "and so on " * 60) for _ in range(200)))
    configure(place, summary="max_tokens = 16000")
    server.play(answer(f"{GOOD}\n{lines}"))

    ran = invoke("once", "--agent-stopped", "--json", "--verbose")

    assert ran.json["compacted"] == 1, ran.out + ran.err
    assert place.entry().count("[redacted:") >= 0.6 * len(PLANTED[start : start + 40])
    assert leaks(place.entry(), place.journal_bytes(), ran.out, ran.err) == {}
