"""What to cover: the cut, chosen so that what is kept is a legal history by itself.

Everything is derived from one index. Messages ahead of it are covered, the rest is kept, so nothing
can be in both or in neither.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

from compactor.cuts import split_batches, turn_start, turn_starts
from compactor.model import Plan, PlanPolicy, Reason, Verdict
from compactor.quote import request_tokens
from compactor.tokens import message_text, most_tokens
from session.history import PROVIDER_KEYS
from session.message import Message, spoken_flags

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from compactor.tokens import TokenCounter
    from session.projection import Projection


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
    start, entry = projection.covers, projection.entry or ""
    texts = [sent_text(message) for message in messages[start:]]
    first_time = projection.entry is None
    floor = policy.min_tokens if first_time else policy.min_new_tokens
    bound = sum(most_tokens(text) for text in texts)
    if bound < floor:
        return Verdict(Reason.SMALL, f"at most {bound} tokens, the floor is {floor}")
    if (bound + most_tokens(entry)) * (1 - policy.min_gain) < policy.entry_tokens:
        return Verdict(Reason.SMALL, f"at most {bound} tokens, an entry takes as much")

    counts = [counter.count(text) for text in texts]
    covers = _find_cut(messages, start, counts, policy)
    removed = _removable(messages, start, covers, counts, spoken_only=not first_time)
    if removed < floor:
        return Verdict(Reason.SMALL, f"{removed} tokens could go, the floor is {floor}")
    gone = texts[: covers - start]
    if first_time and not any(char.isalnum() for text in gone for char in text):
        return Verdict(Reason.SMALL, "nothing was said that an entry could tell")
    quoted, quote_tokens = None, policy.keep_tokens
    if policy.keep_messages:
        user = _last_user(messages)
        quoted = user if user is not None and user < covers else None
        request = 0 if quoted is None else request_tokens(messages, quoted, counter)
        quote_tokens = min(policy.keep_tokens, request)
    kept = sum(counts[covers - start :])
    before = counter.count(entry) + sum(counts)
    after = policy.entry_tokens + kept + quote_tokens
    short = _check_gain(before, after, policy.min_gain)
    return short or Plan(start, covers, quoted, quote_tokens, before, kept, after)


def _check_gain(before: int, after: int, least: float) -> Verdict | None:
    gain = (before - after) / before
    if gain >= least:
        return None
    told = f"{before} tokens would become up to {after}"
    if gain > 0:
        told = f"{told}: a gain of {gain:.0%}, the least is {least:.0%}"
    return Verdict(Reason.SMALL, told)


def sent_text(message: Message) -> str:
    """Return all text of a message that a model would be sent; none of what it never sees."""
    if not message.role or message.is_command:
        return ""
    return message_text({key: message.data[key] for key in PROVIDER_KEYS if key in message.data})


def _removable(
    messages: Sequence[Message],
    start: int,
    covers: int,
    counts: Sequence[int],
    *,
    spoken_only: bool,
) -> int:
    """Tokens that would go; later on only what was said counts, so that a timer never compacts."""
    flags = list(spoken_flags(messages))
    return sum(
        counts[index - start] for index in range(start, covers) if flags[index] or not spoken_only
    )


def _find_cut(
    messages: Sequence[Message], start: int, counts: Sequence[int], policy: PlanPolicy
) -> int:
    """Choose how many messages to cover, so that the rest is enough, and few enough tokens.

    A turn boundary is preferred. Only a last exchange that alone is over the budget is cut inside.
    """
    end = len(messages)
    if not policy.keep_messages:
        return end
    sizes = [*accumulate(reversed(counts), initial=0)][::-1]  # tokens from each position to the end
    wanted = max(start, end - policy.keep_messages)

    def fits(index: int) -> bool:
        return sizes[index - start] <= policy.keep_tokens

    split = split_batches(messages)
    user = _last_user(messages, start)
    since = start if user is None else user
    answer, delivered = _final_answer(messages, since), _first_delivery(messages, since)
    # The last exchange stays whole, and so does what nobody has answered yet.
    limit = min(answer, delivered) if user is None else turn_start(messages, start, user)
    turns = [i for i in turn_starts(messages, start) if start < i <= limit and i not in split]
    covers = _choose([start, *turns], wanted, fits)
    if covers is not None:
        return covers

    last = turns[-1] if turns else start
    exchange = sizes[last - start] - sizes[min(answer + 1, end) - start]
    if exchange <= policy.keep_tokens:
        return last  # what is over the budget came after it
    places = [
        index
        for index in range(last + 1, min(answer, delivered, end - 1) + 1)
        if index not in split
        and messages[index].role in {"user", "assistant"}
        and not messages[index].is_command
    ]
    covers = _choose(places, wanted, fits)
    return covers if covers is not None else places[-1] if places else last


def _choose(places: Sequence[int], wanted: int, fits: Callable[[int], bool]) -> int | None:
    """Return the last place up to `wanted`, or the first one behind it that fits."""
    roomy = max((place for place in places if place <= wanted), default=0)
    return next((place for place in places if place >= roomy and fits(place)), None)


def _last_user(messages: Sequence[Message], start: int = 0) -> int | None:
    """Position of the newest spoken message of the user, from `start` on."""
    flags = list(spoken_flags(messages))
    spoken = (i for i in range(len(messages) - 1, start - 1, -1) if flags[i])
    return next((i for i in spoken if messages[i].role == "user"), None)


def _first_delivery(messages: Sequence[Message], start: int) -> int:
    """Position of the first delivery from `start` on; the end where there is none."""
    end = len(messages)
    return next((i for i in range(start, end) if messages[i].is_delivery), end)


def _final_answer(messages: Sequence[Message], start: int) -> int:
    """The newest spoken text of the agent that is no step on the way; else the end."""
    flags = list(spoken_flags(messages))
    for index in range(len(messages) - 1, start - 1, -1):
        message = messages[index]
        said = message.role == "assistant" and flags[index] and message.data.get("content")
        if said and not message.makes_calls:
            return index
    return len(messages)
