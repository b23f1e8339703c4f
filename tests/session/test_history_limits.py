"""A history within limits: the newest turns, and legal all the same."""

from __future__ import annotations

from typing import Any

import pytest

from session.history import build_history
from tests.session.builders import answering, calling, conversation, messages_of, row

NEWS = row("assistant", "news", _channel_delivery=True)


def newest(rows: list[dict[str, Any]], **limits: Any) -> list[object]:
    """Return the contents of a limited history; every message costs ten tokens."""
    history = build_history(messages_of(*rows), count_tokens=lambda _: 10, **limits)
    return [message["content"] for message in history]


@pytest.mark.parametrize("limits", [{"max_messages": 4}, {"max_messages": 5}, {"max_tokens": 49}])
def test_limits_are_moved_on_to_a_user_message(limits: dict[str, int]) -> None:
    """Fewer may come, never half a turn."""
    assert newest(conversation(4), **limits)[0] == "question 3"


@pytest.mark.parametrize("limits", [{"max_messages": 1}, {"max_messages": 0}, {"max_tokens": 0}])
def test_the_last_user_turn_always_comes_whole(limits: dict[str, int]) -> None:
    """However large it is."""
    rows = [*conversation(2), row("user", "go"), calling("a"), answering("a", "r")]
    assert newest(rows, **limits) == ["go", "", "r"]


@pytest.mark.parametrize("limits", [{"max_messages": 8}, {"max_tokens": 80}, {}])
def test_limits_that_are_wide_enough_change_nothing(limits: dict[str, int]) -> None:
    """The whole history comes."""
    assert len(newest(conversation(4), **limits)) == 8


def test_what_the_user_replied_to_comes_if_it_fits() -> None:
    """A delivery directly before the first user message is within the limit, so it stays."""
    rows = [*conversation(2), NEWS, row("user", "thanks")]
    assert newest(rows, max_messages=2) == ["news", "thanks"]
    assert newest(rows, max_messages=1) == ["thanks"]


@pytest.mark.parametrize("count", range(6))
def test_without_a_user_message_a_limit_splits_no_batch(count: int) -> None:
    """A turn cut inside has no user message; its results still follow their call."""
    rows = [calling("a", "b"), answering("a", "1"), answering("b", "2"), row("assistant", "end")]
    history = build_history(messages_of(*rows), "entry", max_messages=count)
    whole = ["entry", "", "1", "2", "end"]
    assert [message["content"] for message in history] in (whole, ["entry", "end"])


def test_a_batch_at_the_end_comes_whole() -> None:
    """The newest call is not lost for a limit within its results."""
    rows = [calling("a", "b"), answering("a", "1"), answering("b", "2")]
    history = build_history(messages_of(*rows), "entry", max_messages=1)
    assert [message["content"] for message in history] == ["entry", "", "1", "2"]


def test_tokens_cannot_be_limited_without_counting() -> None:
    """A limit that could not be kept is refused."""
    with pytest.raises(ValueError, match="max_tokens needs count_tokens"):
        build_history(messages_of(row("user", "q")), max_tokens=10)
