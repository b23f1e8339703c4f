"""What counts as a delivery, and what its row says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session.message import Message
from session.provenance import Delivery, ToolSend, confirms_delivery, digest_call, find_tool_sends
from tests.session.builders import calling, row
from tests.session.deliveries import SENT, calling_with, result, sending

TOLD = {"content": "Dinner at 7", "channel": "telegram", "chat_id": "42"}


def sends_of(*rows: Any) -> list[ToolSend]:
    """Return the deliveries in the rows."""
    return list(find_tool_sends(rows))


@pytest.mark.parametrize(
    "call",
    [sending(**TOLD), calling_with(TOLD), calling_with(TOLD | {"chat_id": 42})],
    ids=["JSON text", "an object", "a number for an id"],
)
def test_a_confirmed_call_is_a_delivery(call: dict[str, Any]) -> None:
    """Its arguments may be text or an object, as agents keep them."""
    (send,) = sends_of(call, result())
    assert (send.channel, send.chat, send.content, send.media) == (
        "telegram",
        "42",
        "Dinner at 7",
        (),
    )
    assert (send.call_id, send.result) == ("c1", SENT)


@pytest.mark.parametrize(
    "arguments",
    [
        "not JSON",
        "[1]",
        "",
        None,
        7,
        ["x"],
        "[" * 100_000,
        TOLD | {"content": 7},
        TOLD | {"content": ["text"]},
        TOLD | {"channel": 7},
        TOLD | {"chat_id": True},
        TOLD | {"chat_id": 4.2},
        TOLD | {"chat_id": {"id": 42}},
        TOLD | {"media": "one.png"},
        TOLD | {"media": ["one.png", 7]},
        TOLD | {"content": ""},
        TOLD | {"content": " \n"},
        TOLD | {"content": None, "media": []},
        {"channel": "telegram", "chat_id": "42"},
    ],
    ids=lambda arguments: repr(arguments)[:60],
)
def test_malformed_and_empty_calls_are_nothing(arguments: object) -> None:
    """Whatever the tool answered: nobody can say what was sent."""
    assert sends_of(calling_with(arguments), result()) == []


@pytest.mark.parametrize(
    "rows",
    [
        [sending(tool="notify", **TOLD), result()],
        [sending(**TOLD)],
        [result(), sending(**TOLD)],
        [sending(**TOLD), result(call_id="c2")],
        [sending(**TOLD) | {"role": "user"}, result()],
        [row("assistant", tool_calls=[None, 7, {"id": ["c1"]}, {"id": "c1"}]), result()],
        [row("assistant", tool_calls=[{"id": "c1", "function": ["message"]}]), result()],
        [row("assistant", tool_calls={"id": "c1"}), result()],
        [None, 7, "x", {}],
    ],
    ids=[
        "another tool",
        "no result",
        "the result of an earlier call",
        "another's result",
        "a user's row",
        "calls of no form",
        "a function of no form",
        "no list of calls",
        "no rows",
    ],
)
def test_what_no_result_confirms_is_nothing(rows: list[Any]) -> None:
    """A call of the `message` tool needs its own result behind it."""
    assert sends_of(*rows) == []


@pytest.mark.parametrize(
    "told",
    [
        SENT,
        "Message sent to slack:C1 with 2 attachments",
        '{"ok": true, "ts": "1732876543.0001"}',
        "200 OK",
        "Delivered. No errors.",
        "✅",
        "1732876543.0001",
    ],
)
def test_a_result_that_tells_of_no_error_confirms(told: str) -> None:
    """The first word decides, and an answer's own `ok`."""
    assert confirms_delivery(told)


@pytest.mark.parametrize(
    "told",
    [
        "",
        "  \n",
        "Error sending message: timed out",
        "error: no such chat",
        "❌ Error: chat not found",
        "[ERROR] chat not found",
        "TimeoutError: 30 s",
        "Timeout while sending",
        "RuntimeException",
        "Failed to send",
        "Could not reach Telegram",
        "Couldn't reach Telegram",
        "401 Unauthorized",
        '{"error": "chat not found"}',
        '{"channel": "C1", "ok" : false}',
        "Message acknowledged for telegram:42 (not delivered)",
        "Message acknowledged for telegram:42 (not delivered).",
        "Message could not be delivered",
        "Delivery failed: chat not found",
        "Message failed to send to telegram:42",
        '{"status": "error", "code": 3}',
        "{'ok': False}",
        '{"success":0}',
        "HTTP 500",
    ],
)
def test_a_result_that_tells_of_an_error_confirms_nothing(told: str) -> None:
    """Nor does nanobot's answer to a message that it swallowed."""
    assert not confirms_delivery(told)


def test_a_result_in_blocks_is_read() -> None:
    """Some agents keep the tool's answer as a list."""
    blocks = [{"type": "text", "text": SENT}, {"type": "image_url"}, 7]
    (send,) = sends_of(sending(**TOLD), result(blocks))
    assert send.result == SENT
    assert sends_of(sending(**TOLD), result([{"type": "text", "text": "Error"}])) == []


def test_a_batch_is_told_apart_call_by_call() -> None:
    """Two were confirmed and one failed, with another tool in between."""
    calls = [sending(name, **TOLD | {"content": name})["tool_calls"][0] for name in "abc"]
    look = calling("look")["tool_calls"][0]
    batch = row("assistant", "", tool_calls=[calls[0], look, *calls[1:]])
    answers = [result("Error: x", "b"), result(call_id="a"), result(call_id="look")]
    found = sends_of(batch, *answers, result(call_id="c"))
    assert [send.content for send in found] == ["a", "c"]


def test_an_id_that_is_used_again_has_a_result_of_its_own() -> None:
    """Some servers begin with `call_1` in every turn."""
    rows = [sending(**TOLD), result(), sending(**TOLD | {"content": "Later"}), result("Error")]
    assert [send.content for send in sends_of(*rows)] == ["Dinner at 7"]


def test_of_two_calls_with_one_id_one_is_confirmed() -> None:
    """One result can't stand for both."""
    twice = sending(**TOLD)["tool_calls"] * 2
    assert len(sends_of(row("assistant", "", tool_calls=twice), result())) == 1


def test_the_given_predicate_decides() -> None:
    """An agent knows what its own tool answers."""
    rows = [sending(**TOLD), result("Error is this room's name; sent")]
    assert list(find_tool_sends(rows)) == []
    assert len(list(find_tool_sends(rows, lambda text: text.endswith("sent")))) == 1


def test_a_row_bears_all_the_marks() -> None:
    """Of a message to one person, from an automation, with media."""
    delivery = Delivery("Ready", ("a.png",), "cron:daily-report", "d1")
    marks = delivery.fields("telegram:42", "42")
    assert marks == {
        "_channel_delivery": True,
        "_cross_channel": True,
        "_source_session": "cron:daily-report",
        "_media": ["a.png"],
        "_delivery_id": "d1",
        "_recipient": "42",
    }
    message = Message(b"", {"role": "assistant", "content": "Ready"} | marks)
    assert message.is_delivery
    assert message.source == "cron:daily-report"


@pytest.mark.parametrize("source", [None, "", "telegram:42"])
def test_what_came_from_nowhere_else_says_so(source: str | None) -> None:
    """A delivery of the session's own has no source, and a shared thread no recipient."""
    assert Delivery("Ready", (), source).fields("telegram:42", None) == {"_channel_delivery": True}


def test_a_delivery_without_an_id_is_in_no_session() -> None:
    """Nothing tells it from another one, not even from a row without an id."""
    assert not Delivery("Ready").is_in([{"role": "assistant"}, {"_delivery_id": ""}])
    assert Delivery("Ready", id="d1").is_in([{}, {"_delivery_id": "d1"}])


def test_the_id_of_a_call_is_the_same_in_every_process() -> None:
    """It is written to disk, so that it can't change from one release to the next."""
    (send,) = sends_of(sending(**TOLD), result())
    known = "29d9ba9ff8cb846c951e60f9374bfb23"
    assert send.delivery_from("slack:D1").id == known
    (again,) = sends_of(calling_with(TOLD), result("Message sent"))
    assert again.delivery_from("slack:D1").id == known
    assert send.delivery_from("slack:D2").id != known
    assert send.delivery_from("slack:D1", turn="2026-01-01").id != known


@given(parts=st.lists(st.text(st.characters(exclude_categories=[]), max_size=4), max_size=3))
def test_no_part_of_an_id_runs_into_another(parts: list[str]) -> None:
    """Moving a boundary makes another id; lone surrogates are fine."""
    joined = "".join(parts)
    assert digest_call(*parts) == digest_call(*parts)
    assert (digest_call(*parts) == digest_call(joined)) == (parts == [joined])


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "role",
                    "tool_calls",
                    "id",
                    "function",
                    "name",
                    "arguments",
                    "content",
                    "tool_call_id",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@given(rows=st.lists(_json, max_size=4), arguments=_json)
def test_no_row_of_any_shape_is_an_error(rows: list[Any], arguments: Any) -> None:
    """What a model or a channel makes up is passed over."""
    for send in sends_of(*rows, calling_with(arguments), result()):
        assert send.content.strip() or send.media
