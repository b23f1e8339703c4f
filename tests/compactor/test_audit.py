"""Which identifiers a summary should name, and the list of those that it does not."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactor.audit import LIMIT, audit_figure, find_missing, render_missing, select_wanted
from compactor.model import AuditFigure
from compactor.tokens import TokenCounter
from session.message import Message
from tests.compactor.audits import call, wanted_of
from tests.compactor.builders import Row, agent, result, row, user
from tests.compactor.labelled import read_lines

KEY = "ghp_" + "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z"  # made up


# Turns that name nothing, so that what is ahead of them is not in the last ones.
CALM = [user("and now?"), agent("wait"), user("still nothing?"), agent("no")]


# --- who, how late, how often ---


def test_what_the_user_wrote_comes_before_what_the_agent_said_and_this_before_its_calls() -> None:
    """However late the weaker speaker was, as long as none of it is in the last turns."""
    rows = [user("about ORD-111"), agent("it is ORD-222"), call({"path": "docs/c.md"}), *CALM]
    assert wanted_of(*rows) == ("ORD-111", "ORD-222", "docs/c.md")


def test_of_one_speaker_the_later_comes_first() -> None:
    """What was said last is what will be asked about."""
    assert wanted_of(user("ORD-111"), user("ORD-222"), *CALM) == ("ORD-222", "ORD-111")


def test_of_one_speaker_the_more_frequent_comes_first() -> None:
    """What comes back is what it is about."""
    rows = [user("ORD-111"), user("ORD-111"), user("ORD-222"), user("ORD-111 again"), *CALM]
    rows[2], rows[3] = rows[3], rows[2]
    assert wanted_of(*rows)[0] == "ORD-111"


def test_what_the_agent_ended_with_passes_what_the_user_wrote_long_ago() -> None:
    """The result of the conversation stands in its last turns."""
    rows = [user("about ORD-111"), *CALM * 10, user("book it"), agent("booked as ORD-222")]
    assert wanted_of(*rows) == ("ORD-222", "ORD-111")


def test_an_identifier_of_both_counts_as_the_users() -> None:
    """Whoever named it first."""
    rows = [agent("ORD-111"), user("take ORD-111"), *[agent("or ORD-222")] * 4, *CALM]
    assert wanted_of(*rows) == ("ORD-111", "ORD-222")


def test_what_a_timer_said_counts_as_the_agents() -> None:
    """Nobody asked for it."""
    rows = [user("ORD-111"), user("report on ORD-222", _cron_turn=True), *CALM]
    assert wanted_of(*rows) == ("ORD-111", "ORD-222")


def test_a_time_and_a_word_in_backticks_come_behind_what_names_one_thing() -> None:
    """`width` and noon are named by many a text that does not mean them."""
    assert wanted_of(user("at 12:00 set `width` in a.py"))[0] == "a.py"


def test_tool_output_names_nothing_by_itself() -> None:
    """Tools print too much."""
    assert wanted_of(user("look"), result("c1", "ORD-111 and /etc/hosts"), agent("done")) == ()


def test_tool_output_raises_what_somebody_named() -> None:
    """Repeated use tells what mattered."""
    rows = [user("ORD-111 or ORD-222"), *[result("c1", "ord-222 is open")] * 4, *CALM]
    assert wanted_of(*rows) == ("ORD-222", "ORD-111")


def test_at_most_forty_are_returned_the_users_last_ones_first() -> None:
    """A flood has an end."""
    found = wanted_of(*[user(f"ORD-{number}") for number in range(1000, 1500)])
    assert len(found) == LIMIT
    assert found[0] == "ORD-1499"


def test_the_limit_can_be_another() -> None:
    """A small one, or none."""
    rows = [user("ORD-111, ORD-222, ORD-333")]
    assert len(wanted_of(*rows, limit=2)) == 2
    assert wanted_of(*rows, limit=0) == ()


# --- what is read ---


@pytest.mark.parametrize(
    "skipped",
    [
        user("/work ORD-111", _command=True),
        agent("ORD-111", _hidden_history=True),
        {"content": "ORD-111"},
        row("system", "ORD-111"),
        agent("<think>is it ORD-111?</think>yes"),
        agent("yes", reasoning_content="ORD-111"),
        user(None),
        user(7),
        user({"text": "ORD-111"}),
        agent("", tool_calls="ORD-111"),
        agent("", tool_calls=[None, {"function": None}, {"function": {"arguments": None}}]),
        user("```\nORD-111\n```"),
    ],
)
def test_what_is_no_conversation_is_not_read(skipped: Row) -> None:
    """Commands, markers, rows without a role, thoughts, and content of no known shape."""
    assert wanted_of(skipped, user("hello")) == ()


def test_a_text_behind_a_thought_is_read() -> None:
    """Also where the thought has no end."""
    assert wanted_of(agent("<think>a</think>ORD-111 <think>ORD-222")) == ("ORD-111", "ORD-222")


def test_a_list_of_parts_is_read_without_its_images() -> None:
    """As a channel that carries pictures writes it."""
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "QUJD" * 900}}
    assert wanted_of(user([{"type": "text", "text": "see docs/a.md"}, image])) == ("docs/a.md",)


def test_the_values_of_a_call_are_read_without_its_secrets_and_long_texts() -> None:
    """A key is a secret by the name ahead of it; a file's text is no name."""
    rows = [
        user("go"),
        call({"path": "docs/a.md", "password": "hunter2-99", "text": "ORD-111 " * 90}),
    ]
    assert wanted_of(*rows) == ("docs/a.md",)


def test_a_secret_is_never_wanted() -> None:
    """Whoever wrote it."""
    assert wanted_of(user(f"use `{KEY}`"), agent(f"used {KEY}"), call({"key": KEY})) == ()


def test_of_a_huge_message_the_head_and_the_tail_are_read() -> None:
    """What somebody says of a paste stands ahead of it or behind it."""
    found = wanted_of(user(f"ORD-111 {'word ' * 200_000} ORD-222"))
    assert found == ("ORD-111", "ORD-222")


def test_of_a_huge_session_the_beginning_and_the_end_are_read() -> None:
    """Bounded in characters: the first messages, and then from the last one backwards."""
    middle = [user("word " * 500 + f"ORD-{number}") for number in range(1000, 3000)]
    found = wanted_of(user("begin with ORD-111"), *middle, user("end with ORD-222"))
    assert found[0] == "ORD-222"
    assert "ORD-2999" in found
    assert "ORD-1999" not in found
    assert "ORD-111" in wanted_of(user("begin with ORD-111"), *[user("word " * 900)] * 2000)


# --- one identifier, several spellings ---


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        ("on 2026-03-02", "on March 2, 2026", "March 2, 2026"),
        ("on March 2", "on 2026-03-02", "2026-03-02"),
        ("for $1,250.00", "for 1250 USD", "1250 USD"),
        ("https://www.example.com/a/", "http://example.com/a", "http://example.com/a"),
        ("see `Load_All`", "see `load_all()`", "load_all()"),
        ("in theme.ts", "in src/ui/theme.ts", "src/ui/theme.ts"),
    ],
)
def test_spellings_of_one_identifier_are_one(first: str, second: str, kept: str) -> None:
    """The later is returned, and of a short and a full one the full one."""
    assert wanted_of(user(first), user(second)) == (kept,)


def test_the_full_path_takes_the_place_of_the_name_alone() -> None:
    """Also where a weaker speaker wrote it; a second name of it goes."""
    rows = [user("docs/a.md, theme.ts and ui/theme.ts"), agent("src/ui/theme.ts"), *CALM]
    assert wanted_of(*rows) == ("docs/a.md", "src/ui/theme.ts")


def test_what_is_appended_is_found_afterwards() -> None:
    """The list is a part of the entry, so the next audit counts it."""
    wanted = wanted_of(user("ORD-111, `a_b`, docs/a.md, $1,250.00 on 14 August at 3pm"))
    text, count = render_missing(find_missing(wanted, "## Done\nNothing."), lambda _: True)
    assert count == len(wanted) == 6
    assert find_missing(wanted, text) == ()


# --- the list and the figure ---


def test_the_missing_are_listed_in_backticks_one_a_line() -> None:
    """Harmless whatever they hold: no line of their own, no control, no secret."""
    missing = ["ORD-111", "a\n## Goal", "b`c", "\x1b[31md\u202e", f"see {KEY}", " "]
    text, count = render_missing(missing, lambda _: True)
    assert text.splitlines() == [
        "- `ORD-111`",
        "- `a ## Goal`",
        "- `` b`c ``",
        "- `[31md`",
        "- `see [redacted:github_token]`",
    ]
    assert count == 5


def test_as_many_are_listed_as_fit() -> None:
    """One that is too long leaves the room to the shorter ones behind it."""
    counter = TokenCounter()
    missing = ["ORD-111", "/a" * 100, *(f"ORD-{number}" for number in range(200, 300))]
    text, count = render_missing(missing, lambda text: counter.count(text) <= 60)
    assert 3 < count < 20
    assert text.splitlines()[:2] == ["- `ORD-111`", "- `ORD-200`"]
    assert counter.count(text) <= 60
    assert render_missing(missing, lambda _: False) == ("", 0)


def test_the_figure_counts_the_wanted_the_found_and_the_appended() -> None:
    """As a report shows it."""
    assert audit_figure(["a", "b", "c"], ["b", "c"], 1) == AuditFigure(
        wanted=3, found=1, appended=1
    )


# --- anything at all ---

_CONTENT = st.one_of(
    st.sampled_from([line.text for lines in read_lines().values() for line in lines]),
    st.text(st.characters(codec=None), max_size=20),
    st.none(),
    st.lists(
        st.one_of(
            st.text(max_size=9), st.none(), st.fixed_dictionaries({"text": st.text(max_size=9)})
        )
    ),
)
_ROWS = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", "system", 3]), "content": _CONTENT},
    optional={"tool_calls": st.one_of(st.none(), st.text(max_size=3), st.lists(st.none()))},
)


@settings(max_examples=150)
@given(st.lists(_ROWS, max_size=6))
def test_no_session_makes_it_raise_and_what_is_wanted_is_named_by_itself(rows: list[Row]) -> None:
    """Deterministic, at most forty, none twice, and each found where it stands."""
    messages = [Message(b"", one) for one in rows]
    wanted = select_wanted(messages)
    assert wanted == select_wanted(messages)
    assert len(set(wanted)) == len(wanted) <= LIMIT
    assert find_missing(wanted, "\n".join(wanted)) == ()


@pytest.mark.parametrize(
    "hostile", ["1,", "a ", "<think>", "</think>", "May 1", "€1", "_", "\\_", "v1."]
)
def test_a_long_run_of_what_almost_matches_comes_to_an_end(hostile: str) -> None:
    """The suite's time limit is the judge: a pattern that backtracks would need hours."""
    text = hostile * (100_000 // len(hostile))
    assert len(wanted_of(agent(text), user(text))) <= LIMIT
    assert len(find_missing(["v1.2", "Blue Heron", "4400123456", "€9"], text)) >= 3
