"""Which messages are covered: each rule by an example. `words(30)` are 30 tokens here."""

from __future__ import annotations

from typing import Any

import pytest

from compactor.config import Config
from compactor.model import Plan, Reason, Verdict
from compactor.plan import plan_compaction, sent_text
from compactor.tokens import TokenCounter
from session.projection import Projection, read_projection
from session.transcript import Transcript
from tests.compactor.builders import (
    SAMPLES,
    NoCounter,
    Row,
    WordCounter,
    agent,
    automation,
    calls,
    command,
    delivery,
    hidden,
    messages_of,
    plan_policy,
    result,
    user,
    words,
)

OLD = [user(words(40)), agent(words(40))] * 5  # 400 tokens, ten messages


def plan_of(
    *rows: Row,
    projection: Projection | None = None,
    **policy: Any,
) -> Plan | Verdict:
    """Return what is planned for a conversation."""
    found = projection or Projection()
    return plan_compaction(messages_of(*rows), found, plan_policy(**policy), WordCounter())


def covers_of(*rows: Row, **policy: Any) -> int:
    """Return how many messages are covered."""
    plan = plan_of(*rows, **policy)
    assert isinstance(plan, Plan), plan
    return plan.covers


def small(*rows: Row, **policy: Any) -> str:
    """Return why a conversation is not worth it."""
    verdict = plan_of(*rows, **policy)
    assert isinstance(verdict, Verdict), verdict
    assert verdict.reason is Reason.SMALL
    return verdict.detail


def test_the_newest_messages_are_kept() -> None:
    """As many as the policy says, where a turn begins there."""
    assert covers_of(*OLD, keep_messages=4, keep_tokens=1000) == 6


def test_the_cut_goes_back_to_where_a_turn_begins() -> None:
    """Rather a message more than half a turn."""
    assert covers_of(*OLD, keep_messages=3, keep_tokens=1000) == 6


def test_tokens_win_over_messages() -> None:
    """The cut moves on, turn by turn, until the rest is within the budget."""
    assert covers_of(*OLD, keep_messages=8, keep_tokens=160) == 6
    assert covers_of(*OLD, keep_messages=8, keep_tokens=159) == 8


def test_the_last_exchange_wins_over_tokens_where_something_came_after_it() -> None:
    """A timer's turns and deliveries do not push the user's question out."""
    rows = [*OLD, user(words(9)), agent(words(9))]
    assert covers_of(*rows, automation(words(90)), agent(words(90))) == 10
    assert covers_of(*rows, delivery(words(90)), delivery(words(90))) == 10
    exactly = [*OLD, user(words(50)), agent(words(50))]
    assert covers_of(*exactly, delivery()) == 10


def test_a_giant_last_turn_is_cut_inside() -> None:
    """Its final answer is kept, with as much ahead of it as may be; its request is quoted."""
    steps = [row for n in range(5) for row in (calls(f"{n}"), result(f"{n}", words(40)))]
    turn = [user(words(7)), *steps, agent("done")]
    plan = plan_of(*OLD, *turn, keep_messages=4)
    assert isinstance(plan, Plan)
    assert plan.covers == 17  # the last two steps and the answer
    assert plan.quoted == 10
    assert 7 < plan.quote_tokens < 30
    assert covers_of(*turn, keep_messages=8) == 7  # 8 messages would be over the budget
    assert covers_of(*turn, keep_messages=1) == 11


def test_a_giant_final_answer_is_kept_all_the_same() -> None:
    """The user has not seen the rest of it yet."""
    rows = [*OLD, user(), calls("1"), result("1"), agent(words(500))]
    assert covers_of(*rows) == 13


def test_an_empty_message_is_no_final_answer() -> None:
    """What was said ahead of it is."""
    rows = [user(), calls("1"), result("1", words(300)), agent("so"), agent("")]
    assert covers_of(*OLD, *rows, keep_messages=1) == 13


def test_a_giant_request_without_an_answer_is_kept() -> None:
    """There is nothing to cut."""
    assert covers_of(*OLD, user(words(500))) == 10


@pytest.mark.parametrize("keep", range(1, 7))
def test_a_parallel_batch_is_never_split(keep: int) -> None:
    """Neither by the number of messages nor by tokens."""
    batch = [calls("a", "b", "c"), result("b", words(30)), result("a"), result("c")]
    covers = covers_of(*OLD, user(), calls("x"), result("x", words(99)), *batch, agent())
    assert covers in {10, 11, 13, 17}
    rows = [user(words(200)), *batch, agent()]
    assert covers_of(*rows, keep_messages=keep) in {1, 5}


def test_a_user_message_within_a_batch_is_no_place_to_cut() -> None:
    """The turn ahead of it is kept with it."""
    rows = [*OLD, user(), calls("a"), user("wait"), result("a"), agent()]
    assert covers_of(*rows, keep_messages=1) == 10


def test_deliveries_belong_to_the_reply() -> None:
    """What the user replied to is kept with the reply, all of a run."""
    rows = [*OLD, delivery(), delivery(), delivery(), user("thanks"), agent()]
    assert covers_of(*rows, keep_messages=2) == 10


def test_a_giant_reply_to_deliveries_is_cut_behind_the_reply() -> None:
    """They were answered, so they go with it."""
    steps = [calls("1"), result("1", words(200)), calls("2"), result("2")]
    rows = [*OLD, delivery(), delivery(), user("go"), *steps, agent()]
    plan = plan_of(*rows)
    assert isinstance(plan, Plan)
    assert (plan.covers, plan.quoted) == (15, 12)


def test_deliveries_that_nobody_answered_are_kept() -> None:
    """However many, and however long: the user may reply to any of them."""
    many = [delivery(words(50)) for _ in range(6)]
    assert covers_of(*OLD, *many) == 8
    giant = [user(), calls("1"), result("1", words(200)), agent("done")]
    assert covers_of(*OLD, *giant, *many, keep_messages=2) == 13


def test_a_delivery_in_the_midst_of_a_giant_turn_is_kept() -> None:
    """The user has not spoken since."""
    steps = [calls("1"), result("1", words(200)), delivery(), calls("2"), result("2", words(200))]
    assert covers_of(*OLD, user(), *steps, agent(), keep_messages=1) == 13


def test_a_session_without_a_user_is_cut_where_it_is_legal() -> None:
    """The agent may have been talking to itself."""
    monologue = [agent(words(20)) for _ in range(12)]
    assert covers_of(*monologue, keep_messages=3) == 9
    assert covers_of(*monologue, delivery(), *monologue, keep_messages=3) == 12
    assert covers_of(*[automation(words(30)), agent(words(30))] * 4, keep_messages=2) == 6


def test_the_answer_to_a_request_that_was_covered_earlier_is_kept() -> None:
    """Or the entry would quote a request as unanswered that was not."""
    timer = [automation(words(90)), agent(words(90))]
    rows = [user(), calls("1"), result("1", words(120)), agent("done"), *timer]
    assert covers_of(*rows, projection=Projection(1, "entry"), keep_messages=1) == 3


def test_rows_that_are_not_spoken_begin_no_exchange() -> None:
    """Markers, commands and timers do not stand for the user's last word."""
    rest = [hidden(), command(), automation(), agent("tick"), {"note": "no role"}]
    assert covers_of(*OLD, *rest, keep_messages=1) == 8


def test_with_nothing_kept_everything_is_covered() -> None:
    """Then the entry quotes what must be said, and room for that is foreseen."""
    plan = plan_of(*OLD, delivery(), keep_messages=0)
    assert plan == Plan(0, 11, None, 100, 402, 0, 110)


def test_a_request_that_was_covered_earlier_is_quoted_again() -> None:
    """The turn was cut inside, and has gone on since without a word of the user's."""
    steps = [calls("1"), result("1", words(90)), calls("2"), result("2", words(90)), agent("done")]
    known = Projection(3, "entry")
    plan = plan_of(user("my request"), *steps, projection=known, keep_messages=1, keep_tokens=50)
    assert isinstance(plan, Plan)
    assert (plan.start, plan.covers, plan.quoted) == (3, 5, 0)


def test_later_on_only_what_was_said_counts() -> None:
    """A timer that talks to itself never makes a session worth another entry."""
    timer = [automation(words(50)), agent(words(50))] * 4
    rows = [user(), agent(), *timer, user(), agent()]
    known = Projection(2, "entry")
    assert "0 tokens could go" in small(*rows, projection=known, keep_messages=2)
    assert covers_of(*rows, keep_messages=2) == 10


def test_the_first_floor_and_the_later_one_differ() -> None:
    """`min_tokens` holds for a session without an entry, `min_new_tokens` for growth."""
    first: dict[str, Any] = {"min_tokens": 321, "min_new_tokens": 1, "keep_messages": 2}
    assert "320 tokens could go, the floor is 321" in small(*OLD, **first)
    assert covers_of(*OLD, **(first | {"min_tokens": 320})) == 8
    later: dict[str, Any] = {"projection": Projection(4, "an entry"), "keep_messages": 2}
    assert "160 tokens could go" in small(*OLD, **later, min_new_tokens=161)
    assert covers_of(*OLD, **later, min_new_tokens=160, min_tokens=1000) == 8


def test_a_cursor_without_an_entry_is_a_first_time() -> None:
    """Somebody covered messages and had nothing to say of them."""
    cursor = Projection(4)
    assert "floor is 999" in small(*OLD, projection=cursor, min_tokens=999, keep_messages=2)


def test_a_gain_that_can_be_foreseen_to_be_too_small_is_not_tried() -> None:
    """The entry is foreseen at its cap: 400 tokens would become 80 + 200."""
    policy: dict[str, Any] = {"keep_messages": 2, "entry_tokens": 200}
    assert "a gain of 30%, the least is 31%" in small(*OLD, **policy, min_gain=0.31)
    assert covers_of(*OLD, **policy, min_gain=0.3) == 8


def test_the_entry_that_stands_counts_as_before() -> None:
    """Revising a long one is a gain too."""
    known = Projection(4, words(100))
    policy: dict[str, Any] = {"keep_messages": 2, "entry_tokens": 150, "projection": known}
    plan = plan_of(*OLD, **policy)
    assert isinstance(plan, Plan)
    assert (plan.tokens_before, plan.tokens_after) == (340, 230)


@pytest.mark.parametrize("keep_messages", [0, 4])
def test_nothing_is_counted_where_a_bound_decides(keep_messages: int) -> None:
    """A text has at most as many tokens as bytes."""
    messages = messages_of(user("x" * 50), agent("ü" * 25))
    floor = plan_policy(keep_messages=keep_messages, min_tokens=101)
    assert plan_compaction(messages, Projection(), floor, NoCounter()) == Verdict(
        Reason.SMALL, "at most 100 tokens, the floor is 101"
    )
    gain = plan_policy(keep_messages=keep_messages, entry_tokens=71, min_gain=0.3)
    assert plan_compaction(messages, Projection(), gain, NoCounter()) == Verdict(
        Reason.SMALL, "at most 100 tokens, an entry takes as much"
    )
    undecided = plan_policy(
        keep_messages=keep_messages, min_tokens=100, entry_tokens=70, min_gain=0.3
    )
    with pytest.raises(AssertionError, match="counted"):
        plan_compaction(messages, Projection(), undecided, NoCounter())


def test_what_a_model_never_sees_has_no_tokens() -> None:
    """Commands, objects without a role, and keys of the agent's own."""
    rows = [command(), {"content": "no role"}, user("seen", _cross_channel=True, note="unseen")]
    assert [sent_text(message) for message in messages_of(*rows)] == ["", "", "seen"]
    assert "thought" in sent_text(messages_of(agent("", reasoning_content="thought"))[0])


def test_an_empty_session_is_small() -> None:
    """And no division by nothing."""
    assert small() == "at most 0 tokens, the floor is 1"


SAMPLES_THAT_COMPACT = {
    "cli:pi-coding": (914, 905, 882),
    "telegram:airline-3": (60, 48, None),
    "telegram:airline-week": (577, 569, None),
    "whatsapp:airline-month": (443, 435, None),
}


def test_of_the_real_sessions_four_compact_at_the_default_configuration() -> None:
    """The two long ones, the coding session, whose last turn is cut inside, and one more."""
    found = {}
    for path in sorted(SAMPLES.glob("*.jsonl")):
        transcript = Transcript.parse(path.read_bytes())
        assert transcript.header is not None
        plan = plan_compaction(
            transcript.messages,
            read_projection(transcript.header, len(transcript.messages)),
            Config().plan_policy(),
            TokenCounter(),
        )
        if isinstance(plan, Plan):
            name = str(transcript.header.key)
            found[name] = (len(transcript.messages), plan.covers, plan.quoted)
    assert found == SAMPLES_THAT_COMPACT
