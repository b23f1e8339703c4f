"""Whatever a session holds, its history is legal for strict providers, and nothing is lost."""

from __future__ import annotations

from itertools import chain
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from session.history import PROVIDER_KEYS, EntryForm, build_history
from tests.session.builders import answering, calling, messages_of, row

Rows = list[dict[str, Any]]


def assert_legal(history: Rows) -> None:
    """Check what providers refuse: stray results, missing ones, unknown keys."""
    waiting: list[str] = []
    for message in history:
        assert set(message) <= set(PROVIDER_KEYS)
        assert message["role"]
        if message["role"] == "tool":
            assert message["tool_call_id"] in waiting, "a result that follows no call"
            waiting.remove(message["tool_call_id"])
            continue
        assert not waiting, "a call without all its results"
        if "tool_calls" in message:
            assert message["role"] == "assistant"
            assert message["tool_calls"]
            waiting = [call["id"] for call in message["tool_calls"]]
    assert not waiting


_ids = st.sampled_from(["call_1", "call_2", "call_3"])
_content = st.sampled_from(["", "text", None, [], [{"type": "text", "text": "part"}], {"odd": 1}])
_set = st.sampled_from([True])
_marks = st.fixed_dictionaries(
    {},
    optional={
        "_command": st.booleans(),
        "_hidden_history": _set,
        "_channel_delivery": _set,
        "_cross_channel": _set,
        "_source_session": st.sampled_from(["cron:x", "", 3]),
        "media": st.sampled_from([["a.png"], "a.png", [1]]),
        "reasoning_content": st.sampled_from(["", "hm"]),
        "timestamp": st.just("2026-01-01T00:00:00"),
    },
)
_calls = st.lists(
    st.one_of(_ids.map(lambda name: {"id": name}), st.sampled_from([{}, "odd", {"id": 5}])),
    max_size=3,
)
_anything = st.fixed_dictionaries(
    {},
    optional={
        "role": st.sampled_from(["user", "assistant", "tool", "system", "", None]),
        "content": _content,
        "tool_calls": st.one_of(_calls, st.none(), st.just({"id": "call_1"})),
        "tool_call_id": st.one_of(_ids, st.none()),
    },
)
_batch = st.lists(_ids, min_size=1, max_size=3, unique=True)
_any_row = st.one_of(
    st.builds(lambda data, marks: data | marks, _anything, _marks),
    st.builds(lambda ids, text: calling(*ids, content=text), _batch, _content),
    _ids.map(answering),
)
_any_rows = st.lists(_any_row, max_size=14)
_entries = st.sampled_from([None, "entry"])
_limits = st.one_of(st.none(), st.integers(0, 15))


@given(rows=_any_rows, entry=_entries, form=st.sampled_from(EntryForm), limit=_limits)
def test_any_rows_make_a_legal_history(
    rows: Rows, entry: str | None, form: EntryForm, limit: int | None
) -> None:
    """Parallel batches, orphans, unanswered calls, odd values, in any order and under any limit."""
    assert_legal(build_history(messages_of(*rows), entry, form=form, max_messages=limit))


def _numbered(blocks: list[Rows]) -> tuple[list[Rows], list[list[str]]]:
    """Give every row of the blocks a text of its own."""
    rows, texts = [], []
    for number, block in enumerate(blocks):
        named = [data | {"content": f"<{number}.{i}>"} for i, data in enumerate(block)]
        rows.append(named)
        texts.append([data["content"] for data in named])
    return rows, texts


@st.composite
def _batches(draw: st.DrawFn) -> Rows:
    """A batch, its results in any order, and perhaps something that came in between."""
    ids: list[str] = draw(_batch)
    rows = [calling(*ids), *(answering(name) for name in draw(st.permutations(ids)))]
    between: Rows = draw(
        st.sampled_from([[], [row("user")], [row("assistant", _channel_delivery=True)]])
    )
    position: int = draw(st.integers(1, len(rows)))
    return rows[:position] + between + rows[position:]


_legal = st.one_of(
    _batches(),
    st.sampled_from(
        [
            [row("user")],
            [row("assistant")],
            [row("user"), row("assistant")],
            [row("assistant", _channel_delivery=True)],
            [row("user", _hidden_history=True)],
            [row("system")],
        ]
    ),
)
_illegal = st.sampled_from(
    [
        [answering("lost")],
        [row("user", _command=True), row("assistant", _command=True)],
        [{"odd": 1}],
    ]
)
_blocks = st.lists(
    st.one_of(_legal.map(lambda rows: (rows, 1)), _illegal.map(lambda rows: (rows, 0))), max_size=8
)


@given(blocks=_blocks, form=st.sampled_from(EntryForm))
def test_with_an_entry_nothing_legal_is_lost(
    blocks: list[tuple[Rows, int]], form: EntryForm
) -> None:
    """Every row that is legal is there once, whole, and the others are not there."""
    rows, texts = _numbered([block for block, _ in blocks])
    history = build_history(messages_of(*chain(*rows)), "entry", form=form)
    said = "|".join(message["content"] for message in history)
    for (_, times), block in zip(blocks, texts, strict=True):
        assert [said.count(text) for text in block] == [times] * len(block)
    assert said.count("entry") == (form is not EntryForm.OMITTED)


@given(blocks=st.lists(_legal, max_size=8))
def test_order_is_kept(blocks: list[Rows]) -> None:
    """Only a message within a batch moves, to the end of that batch."""
    rows, texts = _numbered(blocks)
    history = build_history(messages_of(*chain(*rows)), "entry", form=EntryForm.USER)
    order = [message["content"] for message in history[1:]]
    for block in texts:
        assert {*order[: len(block)]} == {*block}
        order = order[len(block) :]
    assert not order
