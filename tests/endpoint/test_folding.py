"""A history longer than the model's window: asked about in parts, each within it, and it lands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.end_to_end.support import Invoke
from tests.endpoint.folding import (
    BEFORE,
    LIMITS,
    Reader,
    Rows,
    batch,
    chat,
    check_chain,
    check_ledger,
    fill,
    first_questions,
    mixed,
    numbered,
    once,
    read_in,
    said,
    talk,
)
from tests.endpoint.material import parts_of
from tests.endpoint.server import Server
from tests.endpoint.support import SHORT_KEY, Place

SMALL = 16_000
WINDOWS = [SMALL, pytest.param(128_000, marks=pytest.mark.soak)]
BYTES_PER_TOKEN = 8


def landed(place: Place, server: Server, invoke: Invoke, reader: Reader) -> int:
    """Make a pass that compacts the session within the endpoint's window; returns the requests."""
    server.answer_by(reader)

    ran = once(invoke)

    assert (ran.code, ran.json["compacted"]) == (0, 1), ran.out
    assert reader.refused == 0
    most = reader.window * BYTES_PER_TOKEN
    for one in server.requests:
        assert sum(len(part["content"].encode()) for part in one.json["messages"]) < most
    check_ledger(place, server)
    return len(server.requests)


@pytest.mark.parametrize(
    "size", [400_000, pytest.param(5_000_000, marks=pytest.mark.soak)], ids=["bounded", "full"]
)
@pytest.mark.timeout(600)
def test_a_long_session_is_read_in_parts(
    size: int, place: Place, server: Server, invoke: Invoke
) -> None:
    """Each message is in one part, in order; no tool call is parted from its results."""
    rows = mixed(size)
    fill(place, rows)
    place.configure(llm=f"context_window = {SMALL}", limits=LIMITS)
    reader = Reader(SMALL)

    landed(place, server, invoke, reader)

    requests = first_questions(server)
    assert len(requests) > 4
    check_chain(requests, place.stamp()["covers"])
    begins = [read_in(one)[0] for one in requests]
    assert {rows[number]["role"] for number in begins} == {"user"}
    told = invoke("show", SHORT_KEY).out
    assert f"({len(requests) - 1} of them for parts)" in " ".join(told.split())
    [usage] = place.journal("SELECT sum(usage ->> 'prompt') FROM ledger")
    assert usage == (reader.prompt_tokens,)


def picture(letters: str) -> dict[str, Any]:
    """A part of a message that holds an image."""
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{letters}"}}


def calling(count: int) -> dict[str, Any]:
    """A message with very many calls, none of which was answered."""
    call = {"type": "function", "function": {"name": "look_up", "arguments": '{"about": "seats"}'}}
    return said("assistant", "", tool_calls=[call | {"id": f"c{at}"} for at in range(count)])


LETTERS = "iVBORw0KGgoAAAANSUhEUgAA" * 800
SHAPES: dict[str, Callable[[], Rows]] = {
    "one message of 2 MB": lambda: [said("user", "and so on " * 200_000)],
    "a text of two bytes a letter": lambda: [said("user", "и так далее " * 100_000)],
    "one word of 2 MB": lambda: [said("user", "x" * 2_000_000)],
    "2 MB of spaces": lambda: [said("user", "a" + " " * 2_000_000 + "b")],
    "spaces in many messages": lambda: [said("user", "a" + " " * 11_900 + "b")] * 60,
    "images": lambda: [said("user", [picture(LETTERS)] * 3) for _ in range(40)],
    "base64 texts": lambda: [said("user", LETTERS) for _ in range(40)],
    "base64 in lines": lambda: [said("tool", "\n".join([LETTERS[:76]] * 300))] * 40,
    "5,000 tiny messages": lambda: [said("user", "yes"), said("assistant", "no")] * 2500,
    "a batch larger than a part": lambda: batch([f"c{at}" for at in range(90)], "a row " * 300),
    "a message of 5,000 calls": lambda: [calling(5000)],
}
# Each of these has a quicker relative that stays.
SLOW = {
    "a text of two bytes a letter",
    "one word of 2 MB",
    "spaces in many messages",
    "base64 in lines",
    "5,000 tiny messages",
}


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize(
    "shape",
    [pytest.param(shape, marks=pytest.mark.soak if shape in SLOW else ()) for shape in SHAPES],
)
def test_a_history_of_any_shape_lands(
    shape: str, window: int, place: Place, server: Server, invoke: Invoke
) -> None:
    """Every request is within the window, and has no more bytes than tokens would take."""
    fill(place, numbered([dict(one) for one in (*talk(8), *SHAPES[shape](), *talk(40))]))
    place.configure(llm=f"context_window = {window}", limits=LIMITS)

    landed(place, server, invoke, Reader(window))

    check_chain(first_questions(server), place.stamp()["covers"])


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize(
    "kept",
    [
        pytest.param([said("user", "and so on " * 200_000)], marks=pytest.mark.soak),
        [said("user", "и так далее " * 4)] * 4000,
    ],
    ids=["huge", "very many"],
)
def test_kept_messages_of_any_size_are_made_to_fit(
    kept: Rows, window: int, place: Place, server: Server, invoke: Invoke
) -> None:
    """The last request holds what there is room for: the ends of each, or the newest."""
    fill(place, numbered([dict(one) for one in (*talk(60), *kept)]))
    place.configure(llm=f"context_window = {window}", limits=LIMITS, keep=max(len(kept), 4))
    (place.folder / "config.toml").write_text(
        (place.folder / "config.toml")
        .read_text()
        .replace("[summary]", "tokens = 600000\n[summary]")
    )

    landed(place, server, invoke, Reader(window))

    check_chain(first_questions(server), place.stamp()["covers"])


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("size", [2000, 200_000], ids=["long", "huge"])
def test_an_entry_of_any_length_is_revised(
    size: int, window: int, place: Place, server: Server, invoke: Invoke
) -> None:
    """Of one that somebody else wrote the first part holds the head and the tail."""
    fill(place, chat(40), entry=f"The beginning. {'And so on. ' * size}The end.")
    place.configure(llm=f"context_window = {window}", limits=LIMITS)

    landed(place, server, invoke, Reader(window))

    requests = first_questions(server)
    check_chain(requests, place.stamp()["covers"])
    before = parts_of(requests[0])[BEFORE]
    assert before.startswith("The beginning.")
    assert before.endswith("The end.")


def test_parts_that_turn_out_too_long_are_made_shorter(
    place: Place, server: Server, invoke: Invoke
) -> None:
    """An endpoint that counts twice as many refuses once; all of the rest is smaller."""
    fill(place, chat(40))
    place.configure(llm=f"context_window = {SMALL}", limits=LIMITS)
    reader = Reader(SMALL, factor=2.2)
    server.answer_by(reader)

    ran = once(invoke)

    assert (ran.code, ran.json["compacted"]) == (0, 1), ran.out
    assert reader.refused == 1
    check_chain(first_questions(server)[1:], place.stamp()["covers"])
    check_ledger(place, server)


def test_a_window_that_is_really_smaller_is_named(
    place: Place, server: Server, invoke: Invoke
) -> None:
    """Made shorter once; then it fails with what to set, and is left alone for a while."""
    fill(place, chat(200))
    place.configure(limits=LIMITS)
    reader = Reader(SMALL)
    server.answer_by(reader)
    before = place.files()

    ran = once(invoke)

    row = ran.session(SHORT_KEY)
    assert (ran.code, row["outcome"], row["reason"]) == (3, "failed", "context_overflow")
    assert f"set [llm] context_window = {SMALL}" in row["detail"]
    assert (len(server.requests), reader.refused) == (2, 2)
    assert place.files() == before
    assert once(invoke).json["skipped"] == {"parked": 1}
    check_ledger(place, server)


@pytest.mark.parametrize("window", [2000, 128_000], ids=["too small", "refused"])
def test_a_digest_is_made_of_all_that_is_left(
    window: int, place: Place, server: Server, invoke: Invoke
) -> None:
    """Where no part can be asked about it stands in, once, and the stamp says so."""
    fill(place, chat(200))
    place.configure(llm=f"context_window = {window}", limits=LIMITS, on_failure="digest")
    server.answer_by(Reader(SMALL))

    ran = once(invoke)

    assert (ran.code, ran.session(SHORT_KEY)["engine"]) == (0, "digest"), ran.out
    assert place.stamp()["model"] is None
    assert len(server.requests) == (0 if window == 2000 else 2)
    check_ledger(place, server)


def test_a_window_too_small_for_anything_is_not_asked(
    place: Place, server: Server, invoke: Invoke
) -> None:
    """It says what to lower."""
    fill(place, chat(8))
    place.configure(llm="context_window = 2000", limits=LIMITS)

    ran = once(invoke)

    row = ran.session(SHORT_KEY)
    assert (ran.code, row["reason"]) == (3, "context_overflow")
    assert "lower [llm] reasoning_tokens or [summary] max_tokens" in row["detail"]
    assert server.requests == []
    assert once(invoke).json["skipped"] == {"parked": 1}


def test_a_session_that_fits_is_asked_about_at_once(
    place: Place, server: Server, invoke: Invoke
) -> None:
    """One request and one line in the ledger, as ever."""
    fill(place, chat(8))
    place.configure(llm=f"context_window = {SMALL}")

    assert landed(place, server, invoke, Reader(SMALL)) == 1
    assert place.journal("SELECT outcome FROM ledger") == [("compacted",)]
