"""What holds for every plan, whatever the conversation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hypothesis import assume, event, given
from hypothesis import strategies as st

from compactor.entry import render_sections
from compactor.model import Plan, PlanPolicy, Verdict
from compactor.plan import plan_compaction, sent_text
from compactor.quote import quote_sections
from compactor.summarize import accept_summary, build_request, check_gain, close_entry
from compactor.tokens import TokenCounter
from session.history import build_history
from session.message import spoken_flags
from session.projection import Projection
from tests.compactor.builders import Row, WordCounter, messages_of, plan_policy, session_of
from tests.compactor.conversations import conversations

if TYPE_CHECKING:
    from session.message import Message

WORDS = WordCounter()
TOKENS = TokenCounter()
POLICIES = st.builds(
    plan_policy,
    keep_messages=st.integers(0, 12),
    keep_tokens=st.sampled_from([10, 100, 300, 2000]),
    min_tokens=st.sampled_from([1, 50]),
    entry_tokens=st.sampled_from([1, 40]),
    min_gain=st.sampled_from([0.0, 0.3]),
)


@dataclass
class Planned:
    """A plan and all that it was made of. `user` is the last spoken one that is not yet covered."""

    messages: tuple[Message, ...]
    projection: Projection
    policy: PlanPolicy
    plan: Plan

    def __post_init__(self) -> None:
        self.end = len(self.messages)
        self.sizes = [WORDS.count(sent_text(message)) for message in self.messages]
        flags = list(spoken_flags(self.messages))
        spoken = [i for i in range(self.plan.start, self.end) if flags[i]]
        self.user = max((i for i in spoken if self.messages[i].role == "user"), default=None)
        since = self.plan.start if self.user is None else self.user
        texts = [i for i in spoken if i >= since and self.messages[i].data.get("content")]
        self.answer = max(
            (i for i in texts if not self.messages[i].makes_calls and self._is_agent(i)),
            default=self.end,
        )
        self.unanswered = [i for i in range(since, self.end) if self.messages[i].is_delivery]
        self.batches = batches_of(self.messages)

    def _is_agent(self, index: int) -> bool:
        return self.messages[index].role == "assistant"

    def kept_from(self, index: int) -> int:
        """Return the tokens from a position to the end."""
        return sum(self.sizes[index:])

    def fits(self, index: int) -> bool:
        """Whether no more than the budget is kept from there."""
        return self.kept_from(index) <= self.policy.keep_tokens

    def is_legal(self, index: int) -> bool:
        """Whether a cut there splits no batch."""
        return not any(low < index <= high for low, high in self.batches)

    def boundaries(self) -> list[int]:
        """Return where a turn begins and a cut is allowed, up to the last exchange."""
        found = []
        for index in range(self.plan.start, self.end):
            message = self.messages[index]
            if message.role != "user" or message.is_hidden or message.is_command:
                continue
            while index > self.plan.start and self.messages[index - 1].is_delivery:
                index -= 1  # noqa: PLW2901 - back to what the user replied to
            found.append(index)
        if self.user is not None:
            last = max(i for i in found if i <= self.user)
        else:
            last = min([self.answer, *self.unanswered])
        return [self.plan.start, *(i for i in found if i <= last and self.is_legal(i))]


def batches_of(messages: tuple[Message, ...]) -> list[tuple[int, int]]:
    """Return each call and its result as a pair of positions, found the slow way."""
    pairs: list[tuple[int, int]] = []
    used: set[tuple[int, str]] = set()
    for at, message in enumerate(messages):
        name = message.answers
        if name is None:
            continue
        caller = max((i for i in range(at) if name in messages[i].call_ids), default=None)
        if caller is not None and (caller, name) not in used:
            used.add((caller, name))
            pairs.append((caller, at))
    return pairs


@st.composite
def plans(draw: st.DrawFn) -> Planned:
    """Return a plan for a conversation that is new, or that was compacted before."""
    messages = messages_of(*draw(conversations()))
    policy = draw(POLICIES)
    projection = Projection()
    if draw(st.booleans()):
        projection = Projection(draw(st.integers(0, len(messages))), "an earlier entry")
    plan = plan_compaction(messages, projection, policy, WORDS)
    assume(isinstance(plan, Plan))
    assert isinstance(plan, Plan)
    return Planned(messages, projection, policy, plan)


@given(plans())
def test_a_plan_covers_more_than_before(planned: Planned) -> None:
    """And everything, where no message is to be kept."""
    plan = planned.plan
    assert planned.projection.covers == plan.start < plan.covers <= planned.end
    if not planned.policy.keep_messages:
        assert plan.covers == planned.end


@given(plans())
def test_a_plan_splits_no_batch(planned: Planned) -> None:
    """A call and its results are covered together or kept together."""
    if planned.policy.keep_messages:
        assert planned.is_legal(planned.plan.covers)


@given(plans())
def test_what_is_kept_is_a_legal_history(planned: Planned) -> None:
    """A strict provider accepts it, and nothing of a batch is left out for the cut's sake."""
    kept = planned.messages[planned.plan.covers :]
    history = build_history(kept, "entry")
    assert_is_legal(history)
    whole = [row for row in build_history(planned.messages) if row["role"] == "tool"]
    tools = [row for row in history if row["role"] == "tool"]
    assert tools == whole[len(whole) - len(tools) :]
    answers = sum(high >= planned.plan.covers for _, high in planned.batches)
    if planned.policy.keep_messages:
        assert sum(low >= planned.plan.covers for low, _ in planned.batches) == answers


def assert_is_legal(history: list[dict[str, Any]]) -> None:
    """Check as a strict provider does: every call directly followed by all its results."""
    begin = [row["role"] for row in history].index("user")
    # The deliveries that a user replies to stand ahead of the reply.
    assert all(row["content"].startswith("[Sent from ") for row in history[:begin])
    waiting: list[str] = []
    for row in history:
        if row["role"] == "tool":
            waiting.remove(row["tool_call_id"])
            continue
        assert not waiting
        waiting = [call["id"] for call in row.get("tool_calls") or ()]
    assert not waiting


@given(plans())
def test_the_last_exchange_is_kept_unless_it_alone_is_over_the_budget(planned: Planned) -> None:
    """Then its user message is covered and quoted, and its final answer is kept."""
    plan, user = planned.plan, planned.user
    if not planned.policy.keep_messages or user is None:
        return
    if plan.covers <= user:
        assert plan.quoted is None
        return
    event("cut inside the last turn")
    begin = planned.boundaries()[-1]
    exchange = planned.kept_from(begin) - planned.kept_from(min(planned.answer + 1, planned.end))
    assert exchange > planned.policy.keep_tokens
    assert plan.quoted == user
    assert plan.covers <= planned.answer


@given(plans())
def test_an_unanswered_delivery_is_always_kept(planned: Planned) -> None:
    """The user's reply to it must find it."""
    if planned.policy.keep_messages:
        assert all(index >= planned.plan.covers for index in planned.unanswered)


@given(plans())
def test_no_more_is_kept_than_the_budget_where_a_turn_boundary_allows(planned: Planned) -> None:
    """Tokens win over the number of messages."""
    if planned.policy.keep_messages and any(map(planned.fits, planned.boundaries())):
        assert planned.fits(planned.plan.covers)
        assert planned.plan.covers in planned.boundaries()


@given(plans())
def test_a_turn_that_is_cut_keeps_as_much_as_fits(planned: Planned) -> None:
    """Where even the last legal place is over the budget, that place it is."""
    plan = planned.plan
    if planned.policy.keep_messages and plan.covers > planned.boundaries()[-1]:
        event("cut inside a turn")
        last = min([planned.answer, *planned.unanswered, planned.end - 1])
        assert plan.covers <= last
        later = [i for i in range(plan.covers + 1, last + 1) if planned.is_legal(i)]
        roles = [planned.messages[i] for i in later]
        places = [m for m in roles if m.role in {"user", "assistant"} and not m.is_command]
        assert planned.fits(plan.covers) or not places


@given(plans())
def test_enough_messages_are_kept_where_tokens_allow(planned: Planned) -> None:
    """Fewer only where any more would be over the budget."""
    plan, policy = planned.plan, planned.policy
    if planned.end - plan.covers < policy.keep_messages:
        wanted = max(plan.start, planned.end - policy.keep_messages)
        assert not any(planned.fits(i) for i in planned.boundaries() if i <= wanted)


@given(plans())
def test_the_figures_of_a_plan_are_right(planned: Planned) -> None:
    """Before, kept and at worst after; and the gain is at least the one that was asked for."""
    plan, policy = planned.plan, planned.policy
    before = WORDS.count(planned.projection.entry or "") + planned.kept_from(plan.start)
    assert plan.tokens_before == before
    assert plan.tokens_kept == planned.kept_from(plan.covers)
    assert plan.tokens_after == policy.entry_tokens + plan.tokens_kept + plan.quote_tokens
    assert plan.quote_tokens <= policy.keep_tokens
    assert (before - plan.tokens_after) / before >= policy.min_gain
    floor = policy.min_tokens if planned.projection.entry is None else policy.min_new_tokens
    assert planned.kept_from(plan.start) - plan.tokens_kept >= floor


@given(conversations(), st.sampled_from([0, 1, 4]), st.sampled_from([100, 300]), st.booleans())
def test_an_entry_at_its_cap_is_never_refused_for_lack_of_gain(
    rows: list[Row], keep_messages: int, keep_tokens: int, before: bool
) -> None:
    """What was planned lands: the worst that an engine may write still is enough of a gain."""
    policy = plan_policy(
        keep_messages=keep_messages, keep_tokens=keep_tokens, entry_tokens=200, min_gain=0.3
    )
    fields = {"metadata": {"_last_summary": {"text": "## Goal\nfly"}}} if before else {}
    session = session_of(*rows, last_archived=0, **fields)
    plan = plan_compaction(session.messages, session.projection, policy, TOKENS)
    assume(not isinstance(plan, Verdict))
    assert isinstance(plan, Plan)
    # The boundary itself: an entry that is one token longer would be refused.
    gain = (plan.tokens_before - plan.tokens_after) / plan.tokens_before
    policy = plan_policy(
        keep_messages=keep_messages, keep_tokens=keep_tokens, entry_tokens=200, min_gain=gain
    )
    request = build_request(session, plan, policy, TOKENS)
    body = "## Goal\n" + "w" * 3 + " word" * (request.max_tokens - TOKENS.count("## Goal\nwww"))
    assert TOKENS.count(body) == request.max_tokens
    entry = close_entry(accept_summary(body, request, TOKENS), session, plan, policy, TOKENS)
    assert check_gain(entry, plan, policy, TOKENS) <= plan.tokens_after
    quoted = render_sections(quote_sections(session.messages, plan, policy, TOKENS))
    event("quoted" if quoted else "nothing quoted")
    assert entry.endswith(quoted)
