"""Where a history may be cut: between turns, at least not between calls and their results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from session.message import Message, pair_calls

if TYPE_CHECKING:
    from collections.abc import Sequence

_LARGEST_BATCH = 100  # calls at once, as far as a part looks ahead


def turn_starts(messages: Sequence[Message], start: int) -> list[int]:
    """Positions at which a turn begins, in order."""
    users = (
        index
        for index in range(start, len(messages))
        if messages[index].role == "user"
        and not (messages[index].is_command or messages[index].is_hidden)
    )
    return [turn_start(messages, start, index) for index in users]


def turn_start(messages: Sequence[Message], start: int, user: int) -> int:
    """Where the turn of a user message begins: with the deliveries that it replies to."""
    while user > start and messages[user - 1].is_delivery:
        user -= 1
    return user


def split_batches(messages: Sequence[Message]) -> set[int]:
    """Positions at which a cut would part a tool call from one of its results."""
    last: dict[int, int] = {}
    for result, caller in pair_calls(messages).items():
        last[caller] = max(last.get(caller, result), result)
    return {index for caller, result in last.items() for index in range(caller + 1, result + 1)}


def legal_size(messages: Sequence[Message], most: int) -> int:
    """Return how many of `messages` to take as a part, at least one and at most `most`.

    It ends where a turn begins, if that makes no small part, else where no batch is split; in a
    batch that is larger than the part, anywhere.
    """
    most = max(most, 1)
    if most >= len(messages):
        return len(messages)
    near = messages[: 2 * most + _LARGEST_BATCH]
    split = split_batches(near)
    turns = [at for at in turn_starts(near, 0) if most // 2 < at <= most and at not in split]
    if turns:
        return turns[-1]
    return next((at for at in range(most, 0, -1) if at not in split), most)
