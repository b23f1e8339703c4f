"""Generated conversations: everything that a session may hold, in any mixture."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.compactor.builders import (
    Row,
    agent,
    automation,
    calls,
    command,
    delivery,
    hidden,
    result,
    user,
    words,
)

TEXTS = st.sampled_from([0, 1, 5, 20, 60, 150]).map(words)
Rows = list[Row]
# The ids of calls and of their results; few, so that they come again.
BATCHES = [
    ("a", "a"),
    ("b", "b"),
    ("ab", "ab"),
    ("ab", "ba"),
    ("abc", "cab"),
    ("ab", "a"),
    ("abc", "bb"),
    ("a", ""),
    ("aa", "aa"),
    ("b", "a"),
]


@st.composite
def batches(draw: st.DrawFn) -> Rows:
    """Return parallel calls with their results, of which some may be missing, late or too many."""
    ids, answered = draw(st.sampled_from(BATCHES))
    text = draw(TEXTS)
    between = [draw(strays())] if draw(st.integers(0, 9)) == 0 else []
    return [calls(*ids, content=text), *between, *(result(name, text) for name in answered)]


def strays() -> st.SearchStrategy[Row]:
    """Return rows that can come anywhere: deliveries, markers, commands, orphans, no messages."""
    return st.one_of(
        TEXTS.map(delivery),
        TEXTS.map(command),
        st.builds(hidden),
        TEXTS.map(lambda text: result("a", text)),
        st.builds(lambda: {"note": "an object without a role"}),
        TEXTS.map(user),
    )


@st.composite
def turns(draw: st.DrawFn) -> Rows:
    """Return a turn that a user or a timer begins; it may have no end."""
    deliveries = [delivery(draw(TEXTS))] * draw(st.sampled_from([0, 0, 1, 3]))
    begin = draw(st.sampled_from([user, user, user, automation]))(draw(TEXTS))
    steps = draw(st.lists(batches(), max_size=draw(st.sampled_from([1, 2, 6]))))
    end = [agent(draw(TEXTS))] if draw(st.integers(0, 5)) else []
    return [*deliveries, begin, *(row for step in steps for row in step), *end]


def conversations() -> st.SearchStrategy[Rows]:
    """Return whole conversations, with and without a user, with and without an end."""
    monologue = st.lists(TEXTS.map(agent), min_size=1, max_size=6)
    block = st.one_of(turns(), turns(), turns(), st.lists(strays(), max_size=2), monologue)
    return st.lists(block, max_size=5).map(
        lambda blocks: [row for block in blocks for row in block]
    )
