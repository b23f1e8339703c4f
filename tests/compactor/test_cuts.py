"""Where a part of a history ends: where a turn begins, at least where no batch is split."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactor.cuts import legal_size, split_batches, turn_starts
from tests.compactor.builders import Row, agent, calls, messages_of, result, user

_ROWS = st.sampled_from(
    [
        user(),
        agent(),
        calls("a"),
        calls("a", "b"),
        calls("c"),
        result("a"),
        result("b"),
        result("c"),
    ]
)
HISTORIES = st.lists(_ROWS, max_size=60)


@given(HISTORIES, st.integers(-3, 70))
def test_a_part_is_never_empty_and_never_too_large(rows: list[Row], most: int) -> None:
    """At least one message, at most what was said, and no more than there are."""
    size = legal_size(messages_of(*rows), most)
    assert min(1, len(rows)) <= size <= min(max(most, 1), len(rows))


@given(HISTORIES, st.integers(1, 70))
def test_no_batch_is_split_that_can_be_left_whole(rows: list[Row], most: int) -> None:
    """Only where every place is inside of a batch it ends there."""
    messages = messages_of(*rows)
    legal = set(range(1, most + 1)) - split_batches(messages)
    size = legal_size(messages, most)
    assert size == len(messages) or size in legal or not legal


@given(HISTORIES, st.integers(1, 70))
def test_a_turn_is_kept_whole_where_that_makes_no_small_part(rows: list[Row], most: int) -> None:
    """It ends at the last turn that begins in the second half."""
    messages = messages_of(*rows)
    split = split_batches(messages)
    turns = [at for at in turn_starts(messages, 0) if most // 2 < at <= most and at not in split]
    size = legal_size(messages, most)
    assert size == len(messages) or not turns or size == turns[-1]


@given(HISTORIES, st.integers(1, 70))
def test_more_room_makes_no_smaller_part(rows: list[Row], most: int) -> None:
    """A part grows with the room that it gets."""
    messages = messages_of(*rows)
    assert legal_size(messages, most) <= legal_size(messages, most + 1)


@given(HISTORIES, st.integers(1, 10), HISTORIES)
def test_what_comes_much_later_changes_no_part(rows: list[Row], most: int, more: list[Row]) -> None:
    """However a session goes on, the parts ahead stay as they are."""
    far = [user(), agent()] * 60
    assert legal_size(messages_of(*rows, *far), most) == legal_size(
        messages_of(*rows, *far, *more), most
    )


@pytest.mark.parametrize(
    ("rows", "most", "size"),
    [
        ([], 5, 0),
        ([user(), agent()], 5, 2),
        ([user(), agent()] * 4, 5, 4),
        ([user(), *[agent()] * 9], 5, 5),
        ([user(), calls("a", "b"), result("a"), result("b"), agent()], 3, 1),
        ([calls("a", "b", "c"), result("a"), result("b"), result("c"), agent()], 2, 2),
        ([user(), agent(), calls("a"), user(), result("a"), agent()], 4, 2),
        ([user(), agent(), agent(), agent("sent", _channel_delivery=True), user(), agent()], 5, 3),
    ],
)
def test_a_part_ends_here(rows: list[Row], most: int, size: int) -> None:
    """Between turns; inside of a long one; ahead of a batch, or in it; ahead of a delivery."""
    assert legal_size(messages_of(*rows), most) == size
