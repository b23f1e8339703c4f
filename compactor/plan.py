"""What to cover: the cut, chosen so that what is kept is a legal history by itself.

Everything is derived from one index. Messages ahead of it are covered, the rest is kept, so nothing
can be in both or in neither.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from compactor.model import Plan, PlanPolicy, Reason, Verdict
from compactor.tokens import message_text
from session.history import PROVIDER_KEYS
from session.message import Message, pair_calls, spoken_flags

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from compactor.tokens import TokenCounter
    from session.projection import Projection

_QUOTE_MARGIN = 24  # tokens of a heading and what surrounds a quote

def plan_compaction(
    messages: Sequence[Message],
    projection: Projection,
    policy: PlanPolicy,
    counter: TokenCounter,
) -> Plan | Verdict:
    """Return what to cover, or why it isn't worth it (`small`).

    Nothing is counted where a bound decides, and nothing is planned whose gain can be foreseen to
    be too small: `gain = (before - after) / before`, with the entry at its cap.
    """
    start = projection.covers
    texts = [sent_text(message) for message in messages[start:]]
    first_time = projection.entry is None
    floor = policy.min_tokens if first_time else policy.min_new_tokens
    bound = sum(len(text.encode("utf-8", "replace")) for text in texts)
    if bound < floor:
        return Verdict(Reason.SMALL, f"at most {bound} tokens, the floor is {floor}")
    entry_bound = len((projection.entry or "").encode("utf-8", "replace"))
    if (bound + entry_bound) * (1 - policy.min_gain) < policy.entry_tokens:
        return Verdict(Reason.SMALL, f"at most {bound} tokens, an entry takes as much")

    counts = [counter.count(text) for text in texts]
    cut = _find_cut(messages, start, counts, policy)
    removed = _removable(messages, start, cut.covers, counts, spoken_only=not first_time)
    if cut.covers <= start or removed < floor:
        return Verdict(Reason.SMALL, f"{removed} tokens could go, the floor is {floor}")
    kept = sum(counts[cut.covers - start :])
    before = counter.count(projection.entry or "") + sum(counts)
    quoted = policy.keep_tokens if not policy.keep_messages else 0
    if cut.quoted is not None:
        # A quoted line grows by its mark, an empty one from one token to three.
        quoted = min(policy.keep_tokens, 3 * counts[cut.quoted - start] + _QUOTE_MARGIN)
    after = policy.entry_tokens + kept + quoted
    if (before - after) / before < policy.min_gain:
        gain = max(0.0, (before - after) / before)
        return Verdict(
            Reason.SMALL,
            f"{before} tokens would become up to {after}: a gain of {gain:.0%}, "
            f"the least is {policy.min_gain:.0%}",
        )
    return Plan(start, cut.covers, cut.quoted, before, kept, after)


def sent_text(message: Message) -> str:
    """Return all text of a message that a model would be sent; none of what it never sees."""
    if not message.role or message.is_command:
        return ""
    return message_text({key: message.data[key] for key in PROVIDER_KEYS if key in message.data})


def _removable(
    messages: Sequence[Message],
    start: int,
    cut: int,
    counts: Sequence[int],
    *,
    spoken_only: bool,
) -> int:
    """Tokens that would go; later on only what was said counts, so that a timer never compacts."""
    flags = list(spoken_flags(messages))
    return sum(
        counts[index - start]
        for index in range(start, cut)
        if flags[index] or not spoken_only
    )


@dataclass(frozen=True, slots=True)
class _Cut:
    covers: int
    quoted: int | None = None


def _find_cut(
    messages: Sequence[Message], start: int, counts: Sequence[int], policy: PlanPolicy
) -> _Cut:
    """Choose the cut: enough messages, then few enough tokens, always at a legal place.

    A turn boundary is preferred. Only a last turn that alone is over the budget is cut inside.
    """
    end = len(messages)
    if not policy.keep_messages:
        return _Cut(end)
    sizes = [*accumulate(reversed(counts))][::-1]  # tokens from each position to the end
    split = _split_batches(messages)
    user = _last_spoken_user(messages, start)
    wanted = max(start, end - policy.keep_messages)

    def fits(index: int) -> bool:
        return sizes[index - start] <= policy.keep_tokens

    # The last exchange stays whole, and so does a delivery that nobody has answered.
    limit = _turn_start(messages, start, user) if user is not None else _first_delivery(
        messages, start, default=end
    )
    turns = [i for i in _turn_starts(messages, start) if i <= limit and i not in split]
    candidates = [start, *(i for i in turns if i > start)] if start < end else []
    roomy = max((i for i in candidates if i <= wanted), default=start)
    best = next((i for i in candidates if i >= roomy and fits(i)), None)
    if best is not None or not candidates:
        return _Cut(start if best is None else best)
    last = candidates[-1]
    inside = _cut_inside(messages, last, split, wanted, fits)
    if inside is None:
        return _Cut(last)
    return _Cut(inside, quoted=user if user is not None and last <= user < inside else None)


def _cut_inside(
    messages: Sequence[Message],
    turn: int,
    split: set[int],
    wanted: int,
    fits: Callable[[int], bool],
) -> int | None:
    """Return the first legal place inside the last turn that fits; None where there is none.

    The final answer is kept, and deliveries are, even if they alone are over the budget.
    """
    end = len(messages)
    final = _final_answer(messages, turn, default=end - 1)
    limit = min(final, _first_delivery(messages, turn + 1, default=end - 1))
    places = [
        index
        for index in range(turn + 1, limit + 1)
        if index not in split
        and messages[index].role in {"user", "assistant"}
        and not messages[index].is_command
    ]
    preferred = [index for index in places if index >= wanted] or places
    return next((index for index in preferred if fits(index)), places[-1] if places else None)


def _turn_starts(messages: Sequence[Message], start: int) -> list[int]:
    """Positions at which a turn begins, in order."""
    users = (
        index
        for index in range(start, len(messages))
        if messages[index].role == "user"
        and not (messages[index].is_command or messages[index].is_hidden)
    )
    return [_turn_start(messages, start, index) for index in users]


def _turn_start(messages: Sequence[Message], start: int, user: int) -> int:
    """Where the turn of a user message begins: with the deliveries that it replies to."""
    while user > start and messages[user - 1].is_delivery:
        user -= 1
    return user


def _last_spoken_user(messages: Sequence[Message], start: int) -> int | None:
    flags = list(spoken_flags(messages))
    spoken = (i for i in range(len(messages) - 1, start - 1, -1) if flags[i])
    return next((i for i in spoken if messages[i].role == "user"), None)


def _first_delivery(messages: Sequence[Message], start: int, *, default: int) -> int:
    return next((i for i in range(start, len(messages)) if messages[i].is_delivery), default)


def _final_answer(messages: Sequence[Message], start: int, *, default: int) -> int:
    """The newest spoken text of the agent that is no step on the way."""
    flags = list(spoken_flags(messages))
    for index in range(len(messages) - 1, start, -1):
        message = messages[index]
        if message.role == "assistant" and flags[index] and not message.makes_calls:
            return index
    return default


def _split_batches(messages: Sequence[Message]) -> set[int]:
    """Positions at which a cut would part a tool call from one of its results."""
    last: dict[int, int] = {}
    for result, caller in pair_calls(messages).items():
        last[caller] = max(last.get(caller, result), result)
    return {index for caller, result in last.items() for index in range(caller + 1, result + 1)}
