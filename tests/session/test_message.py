"""What a line says of itself: which rows are conversation, and which result answers which call."""

from __future__ import annotations

import pytest

from session.message import Message, decode_line, pair_calls, spoken_flags, unanswered_calls
from tests.session.builders import answering, calling, messages_of, row


@pytest.mark.parametrize(
    "line",
    [b"", b"null", b"[1]", b'"text"', b"{", b"\xff{}", b'{"a": 1}\x00', b"[" * 100_000, b"{} {}"],
)
def test_what_is_no_object_is_no_message(line: bytes) -> None:
    """It is never an error."""
    assert decode_line(line) is None
    assert Message(line).data == {}
    assert Message(line).role == ""


def test_separators_inside_a_text_end_no_line() -> None:
    """U+2028, U+2029 and U+0085 are legal in JSON."""
    text = "a\u2028b\u2029c\u0085d"
    assert decode_line(f'{{"content": "{text}"}}\r'.encode()) == {"content": text}


def test_only_conversation_is_spoken() -> None:
    """Not commands, markers, deliveries, odd objects, nor a timer's turn with all its answers."""
    rows = {
        "hi": (row("user"), True),
        "hello": (row("assistant"), True),
        "a command": (row("user", _command=True), False),
        "a marker": (row("user", _hidden_history=True), False),
        "a delivery": (row("assistant", _channel_delivery=True), False),
        "from elsewhere": (row("assistant", _cross_channel=True), False),
        "odd": ({"kind": "note"}, False),
        "a timer": (row("user", cron_job_id="7"), False),
        "its call": (calling("a"), False),
        "its result": (answering("a"), False),
        "a command in between": (row("user", _command=True), False),
        "its answer": (row("assistant"), False),
        "hi again": (row("user"), True),
        "a result": (answering("a"), True),
        "a trigger": (row("user", _automation_turn=True), False),
        "its end": (row("assistant"), False),
    }
    flags = spoken_flags(messages_of(*(data for data, _ in rows.values())))
    expected = {name: flag for name, (_, flag) in rows.items()}
    assert dict(zip(rows, flags, strict=True)) == expected


def test_a_result_belongs_to_the_nearest_open_call() -> None:
    """Ids are used anew in every turn; a second result for one call is an orphan."""
    rows = [
        calling("x", "y"),
        answering("y"),
        calling("x"),
        answering("x"),
        answering("x"),
        answering("y"),
        row("tool", "no id"),
    ]
    pairs = pair_calls(messages_of(*rows))
    assert pairs == {1: 0, 3: 2}
    assert unanswered_calls(messages_of(*rows), pairs) == {0}


@pytest.mark.parametrize("calls", [[{}], ["x"], [{"id": 5}], {"id": "x"}, [{"id": "x"}] * 2])
def test_calls_that_cannot_be_answered_are_unanswered(calls: object) -> None:
    """Without an id, of another shape, or with one id for two."""
    rows = messages_of(row("assistant", tool_calls=calls), answering("x"))
    assert unanswered_calls(rows, pair_calls(rows)) == {0}


@pytest.mark.parametrize(
    ("marks", "source"),
    [
        ({"_source_session": "slack:C1"}, "slack:C1"),
        ({"_source_session": "", "cron_job_name": "daily"}, "cron:daily"),
        ({"_source_session": 5, "cron_job_id": "7"}, "cron:7"),
        ({"cron_job_id": 7}, None),
        ({}, None),
    ],
)
def test_a_message_says_where_it_came_from(marks: dict[str, object], source: str | None) -> None:
    """If not from this conversation."""
    assert messages_of(row("assistant", "x", **marks))[0].source == source
