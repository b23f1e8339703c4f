"""The digest: a hand-off that is made of extracts, judged by what a reader needs of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from compactor.entry import Heading, frame, parse_sections
from compactor.errors import SummaryError
from tests.compactor.digests import (
    CODING,
    MONTH,
    NANOBOT,
    call,
    digest,
    load,
    message,
    section,
)


def test_a_month_of_support_says_what_was_done_what_failed_and_for_whom() -> None:
    """Whoever takes over a long session finds the start, the actions, the ids and the limits."""
    text = digest(*load(MONTH))
    assert "First request (2026-02-02): As a Gold member" in section(text, Heading.GOAL)
    done = section(text, Heading.DONE)
    assert "2026-02-02 to 2026-02-27" in done
    assert "2026-02-25 cancel_reservation(K1NW8N)" in done
    assert "2026-02-23 update_reservation_flights(M05KNL)" in done
    assert "Failed: book_reservation(mohamed_silva_9265)" in done
    assert "total price is 4875, but paid 1625" in done
    assert "successfully updated to the new economy flights on 2024-05-24" in done
    decisions = section(text, Heading.DECISIONS)
    assert "I don't want to fly before 11am EST" in decisions
    assert "book three separate reservations" in decisions
    facts = section(text, Heading.FACTS)
    for identifier in ("mohamed_silva_9265", "certificate_9984806", "3RK2T9", "$1,625"):
        assert identifier in facts


def test_a_coding_session_names_the_files_the_rules_and_the_last_state() -> None:
    """The paths that were changed, what the user forbade, and the error that still stands."""
    text = digest(*load(CODING))
    assert "user-message-selector.ts" in section(text, Heading.GOAL)
    done = section(text, Heading.DONE)
    assert "User: yeah, do it all" in done
    assert "API mismatches" in done
    assert "error TS2305" in done
    assert "invalid themes must NEVER explode" in section(text, Heading.DECISIONS)
    facts = section(text, Heading.FACTS)
    changed = next(line for line in facts.split("\n") if line.startswith("- Files changed: "))
    assert "packages/coding-agent/README.md" in changed
    assert "packages/coding-agent/src/theme/theme.ts" in changed
    assert "#b5bd68" in facts


def test_at_300_tokens_the_goal_the_last_exchange_and_the_rules_are_left() -> None:
    """What is trimmed first is what the agent can most easily look up again."""
    text = digest(*load(MONTH), limit=300)
    assert "As a Gold member" in section(text, Heading.GOAL)
    assert "let me try figuring out the costs" in section(text, Heading.DONE)
    assert "before 11am EST" in section(text, Heading.DECISIONS)
    assert "mohamed_silva_9265" in section(text, Heading.FACTS)


@pytest.mark.parametrize("path", sorted(NANOBOT.glob("*.jsonl")), ids=lambda path: str(path.stem))
def test_every_session_that_nanobot_wrote_is_digested_or_says_nothing(path: Path) -> None:
    """Commands, media, subagents, cron runs, checkpoints: no shape of a row is a surprise."""
    covered = load(path)
    spoken = [row for row in covered if not row.is_command and not row.is_hidden]
    if not spoken:
        with pytest.raises(SummaryError):
            digest(*covered)
        return
    text = digest(*covered)
    assert parse_sections(text)
    assert "User: Continue the active task" not in text


def test_the_same_messages_make_the_same_digest() -> None:
    """No clock, no chance: a second worker writes the same bytes."""
    assert digest(*load(MONTH)) == digest(*load(MONTH))


def test_what_the_user_still_waits_for_is_open() -> None:
    """A turn that stopped at a tool call has not answered anybody."""
    asked = message("user", "Please find out when the parcel arrives.")
    working = message("assistant", "Looking.", tool_calls=[call("track", {"id": "P1"})])
    text = digest(asked, working)
    assert section(text, Heading.OPEN) == (
        "- 2026-05-01 The user waits for an answer: Please find out when the parcel arrives."
    )


def test_a_request_that_a_kept_message_answers_is_not_open() -> None:
    """The kept part is what the model sees next; it must not contradict the entry."""
    asked = message("user", "Please find out when the parcel arrives.")
    answer = message("assistant", "It arrives on Monday.")
    assert section(digest(asked), Heading.OPEN)
    assert not section(digest(asked, kept=(answer,)), Heading.OPEN)


def test_a_question_of_the_agent_is_open_until_the_user_speaks() -> None:
    """Who waits for whom is said, and ends with the next message of the user."""
    rows = (
        message("user", "Book me a table at Da Mario."),
        message("assistant", "Gladly! For how many people shall I book it?"),
    )
    assert "The agent asked and has no answer yet: For how many people" in digest(*rows)
    assert not section(digest(*rows, kept=(message("user", "Four."),)), Heading.OPEN)


def test_messages_to_and_from_other_channels_are_named_with_their_way() -> None:
    """Deliveries, message calls that worked and that failed, and what a timer began."""
    sent = [
        call("message", {"channel": "slack", "chat_id": "C07", "content": "Report is out"}, "m1"),
        call("message", {"channel": "email", "chat_id": "x@y.org", "content": "Hello"}, "m2"),
    ]
    text = digest(
        message("user", "Tell the others that the report is out."),
        message("assistant", "", tool_calls=sent),
        message("tool", "Message sent to slack:C07", tool_call_id="m1", name="message"),
        message("tool", "Error: no such channel", tool_call_id="m2", name="message"),
        message("assistant", "Slack has it, e-mail failed."),
        message("assistant", "Disk full", _cross_channel=True, _source_session="cron:disk"),
        message("assistant", "Stand-up!", day=2, _channel_delivery=True, media=["/a/b.png"]),
        message("user", "make report RPT-7731", day=3, _cron_turn=True, cron_job_name="daily"),
        message("assistant", "Report made.", day=3),
    )
    assert section(text, Heading.CHANNELS).split("\n") == [
        "- 2026-05-01 to slack:C07: Report is out",
        "- 2026-05-03 begun by cron:daily: Task: make report RPT-7731 → Agent: Report made.",
        "- 2026-05-01 to email:x@y.org (failed): Hello",
        "- 2026-05-01 from cron:disk: Disk full",
        "- 2026-05-02 sent unasked: Stand-up! [file: /a/b.png]",
    ]
    assert "RPT-7731" not in section(text, Heading.DONE) + section(text, Heading.FACTS)


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("Bitte ruf mich nie vor 9 an. Danke!", "Bitte ruf mich nie vor 9 an."),
        ("请不要在九点前打电话。谢谢", "请不要在九点前打电话。"),
        ("Please don't touch main. Thanks", "Please don't touch main."),
        ("I'd prefer the aisle. Hello", "I'd prefer the aisle."),
    ],
)
def test_a_rule_is_found_in_more_than_one_language(said: str, found: str) -> None:
    """Rules of the user are kept as they were said."""
    text = digest(message("user", said), message("assistant", "Good."))
    assert section(text, Heading.DECISIONS) == f"- 2026-05-01 User: {found}"


def test_a_rule_that_is_said_again_stands_once() -> None:
    """The newest time it was said is the one that counts."""
    rows = [message("user", "Never call me before 9!", day=day) for day in (1, 2, 3)]
    answered = [message("assistant", "Understood, I won't.")] * 3
    text = digest(*(row for pair in zip(rows, answered, strict=True) for row in pair))
    assert section(text, Heading.DECISIONS) == "- 2026-05-03 User: Never call me before 9!"


def test_what_stands_in_a_paste_is_no_rule_of_the_user() -> None:
    """Logs are full of words that forbid something; what is written around one counts."""
    log = "\n".join(f"{at:02}: never do {at}" for at in range(40))
    text = digest(message("user", f"Look at this log.\n{log}\nDon't restart the host, please."))
    assert section(text, Heading.DECISIONS).count("\n") < 8
    assert "never do 20" not in section(text, Heading.DECISIONS)
    assert "Don't restart the host" in section(text, Heading.DECISIONS)


def test_amounts_and_dates_count_only_where_somebody_said_them() -> None:
    """A tool prints hundreds of them; the identifiers of its results stay."""
    text = digest(
        message("user", "What does it cost in May 2031? My limit is 500 EUR."),
        message("assistant", "", tool_calls=[call("price", {"of": "it"})]),
        message("tool", '{"price": "$999", "on": "2031-12-24", "id": "ZX81-A"}', tool_call_id="c1"),
        message("assistant", "It costs $450."),
    )
    facts = section(text, Heading.FACTS)
    assert all(known in facts for known in ("500 EUR", "$450", "ZX81-A"))
    assert not any(unsaid in facts for unsaid in ("$999", "2031-12-24"))


def test_a_tool_that_fails_is_named_with_its_count_and_its_error() -> None:
    """Whoever takes over need not run into the same wall; what worked since is no failure."""
    rows = [message("user", "Deploy it, please, to the staging host.")]
    for number, result in enumerate(["Error: no route to host", "Error: port 22 closed", "ok"]):
        rows.append(message("assistant", "", tool_calls=[call("deploy", {"to": "stg7"})]))
        rows.append(message("tool", result, tool_call_id="c1", name="deploy"))
        text = digest(*rows)
        if number == 1:
            assert "Failed: deploy ×2 (2026-05-01): Error: port 22 closed" in text  # noqa: RUF001
    after = digest(
        message("user", "Once more, please, and then stop.", day=2),
        message("assistant", "", tool_calls=[call("deploy", {"to": "stg7"})]),
        message("tool", "ok", tool_call_id="c1", name="deploy"),
        previous=frame(text),
    )
    assert "Failed" not in after
    assert "deploy ×4" in after  # noqa: RUF001 - the sign that counts


def test_what_was_said_to_come_is_open_until_a_kept_message_settles_it() -> None:
    """Only plain words make a plan, and a plan that was carried out is none."""
    rows = (
        message("user", "Migrate the billing database."),
        message("assistant", "The schema is moved. Next step: copy the invoices overnight."),
    )
    copied = message("user", "Did you copy the invoices overnight? Next step then!", day=2)
    plan = "2026-05-01 Said to come: Agent: Next step: copy the invoices overnight."
    assert plan in section(digest(*rows), Heading.OPEN)
    assert not section(digest(*rows, kept=(copied,)), Heading.OPEN)


def test_a_slash_command_is_neither_the_goal_nor_an_exchange() -> None:
    """Agents that don't mark their commands leave them in the session as messages."""
    text = digest(message("user", "/mode"), message("user", "Read the manual in full."))
    assert section(text, Heading.GOAL) == "- First request (2026-05-01): Read the manual in full."
    assert "/mode" not in text


def test_what_an_agent_adds_to_a_message_by_itself_is_left_out() -> None:
    """The agent nanobot appends the clock to what the user says, and marks it."""
    suffix = "[Runtime Context]\nCurrent time: 2026-05-01 10:00\n[/Runtime Context]"
    said = f"Which day is it today?\n\n{suffix}"
    text = digest(message("user", said, _runtime_context={"version": 1, "suffix": suffix}))
    assert "Which day is it today?" in text
    assert "Current time" not in text


def test_what_nobody_asks_for_again_is_not_listed() -> None:
    """Ids of tool calls, line numbers, and files that stand in another list already."""
    text = digest(
        message("user", "Fix src/app/main.py:120:7, see call_MY94XabcdefGHIJK and order QX-4471."),
        message("assistant", "", tool_calls=[call("edit", {"path": "src/app/main.py"})]),
        message("tool", "ok", tool_call_id="c1", name="edit"),
        message("assistant", "Fixed; README.md says so as well."),
    )
    assert section(text, Heading.FACTS).split("\n") == [
        "- Ids: QX-4471",
        "- Files changed: src/app/main.py",
        "- Files and paths: README.md",
    ]


def test_a_statement_says_what_it_is_about_and_is_known() -> None:
    """Neither `That is AB1234.` nor `I don't know` helps whoever reads it later."""
    said = "I don't know if my desk number is free. That is AB1234. My order id is AB1234."
    text = digest(message("user", said), message("assistant", "Found."))
    assert section(text, Heading.FACTS).split("\n") == [
        "- 2026-05-01 User: My order id is AB1234.",
        "- Ids: AB1234",
    ]
