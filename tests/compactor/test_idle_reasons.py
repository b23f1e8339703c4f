"""Why a session that is idle long enough is left alone all the same."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from compactor.idle import select_idle
from compactor.journal import SessionMemory, Undone
from compactor.model import Reason, Verdict
from session.projection import STAMP_VERSION, digest_content, digest_text
from session.record import BUSY_KEYS
from session.store import SessionTail
from session.transcript import Transcript
from tests.compactor.builders import (
    NANOBOT,
    NOW,
    Row,
    agent,
    ago,
    automation,
    calls,
    command,
    delivery,
    hidden,
    idle_policy,
    messages_of,
    result,
    tail_of,
    user,
)

HOUR = timedelta(hours=1)
DAY = timedelta(hours=24)


def verdict_of(
    tail: SessionTail,
    memory: SessionMemory | None = None,
    *,
    force: bool = False,
    **policy: Any,
) -> Verdict:
    """Return the verdict."""
    known = memory or SessionMemory()
    return select_idle(tail, known, idle_policy(**policy), now=NOW, force=force)


def at(when: timedelta, *rows: Row) -> list[Row]:
    """Return rows with a time that long ago."""
    return [{"timestamp": ago(when)} | row for row in rows]


TALK = at(HOUR, user("one"), agent("two"), user("three"), agent("four"))

# Waiting is not idle.

BUSY_ROWS = [
    [user("are you there?")],
    [user(), calls("a")],
    [user(), calls("a", "b"), result("a")],
    [user(), calls("a"), result("a")],
    [user(), {"role": "assistant", "content": "", "tool_calls": [{"function": {}}]}],
    [user(), delivery(), hidden(), automation("tick"), agent("tock")],
]


@pytest.mark.parametrize("rows", BUSY_ROWS)
@pytest.mark.parametrize("force", [False, True])
def test_a_user_who_waits_is_busy(rows: list[Row], force: bool) -> None:
    """Unanswered, half answered, on the way: with force too, until a day has passed."""
    assert verdict_of(tail_of(*at(HOUR, *rows)), force=force).reason is Reason.BUSY
    assert verdict_of(tail_of(*at(DAY, *rows)), force=force).reason is Reason.DUE


@pytest.mark.parametrize("key", BUSY_KEYS)
@pytest.mark.parametrize("force", [False, True])
def test_a_record_that_says_so_is_busy(key: str, force: bool) -> None:
    """Nanobot's own marks of a turn that is being worked on."""
    tail = tail_of(*TALK, metadata={key: {"any": "thing"}})
    assert verdict_of(tail, force=force).reason is Reason.BUSY
    assert verdict_of(tail_of(*TALK, metadata={key: None}), force=force).reason is Reason.DUE


@pytest.mark.parametrize("force", [False, True])
def test_a_checkpoint_is_busy(force: bool) -> None:
    """The state of a turn in flight lies beside the file; after a day it is dead."""
    tail = replace(tail_of(*TALK), in_flight=True)
    assert verdict_of(tail, force=force).reason is Reason.BUSY
    dead = replace(tail_of(*at(DAY, user(), agent())), in_flight=True)
    assert verdict_of(dead, force=force).reason is Reason.DUE


def test_a_turn_that_a_timer_began_is_no_dead_turn() -> None:
    """Nobody may have spoken for days: the turn is as old as its rows."""
    rows = [*at(3 * DAY, user(), agent()), *at(HOUR, automation("tick"), calls("a"))]
    assert verdict_of(replace(tail_of(*rows), in_flight=True)).reason is Reason.BUSY
    assert verdict_of(tail_of(*rows)).reason is Reason.DUE


def test_how_long_a_dead_turn_lives_is_configured() -> None:
    """Two hours here."""
    tail = tail_of(*at(HOUR, user()))
    assert verdict_of(tail, stuck_after=2 * HOUR).reason is Reason.BUSY
    assert verdict_of(tail, stuck_after=HOUR).reason is Reason.DUE


def test_an_answer_ends_the_wait() -> None:
    """A call that an earlier message left open is no running turn."""
    rows = at(HOUR, user(), calls("a"), agent("that did not work"))
    assert verdict_of(tail_of(*rows)).reason is Reason.DUE


# Covered, whoever covered it.


def stamped(covers: int, messages: int, text: str = "entry") -> dict[str, Any]:
    """Return the metadata that a compaction of ours leaves."""
    stamp = {
        "version": STAMP_VERSION,
        "covers": covers,
        "messages": messages,
        "generation": 1,
        "text": digest_text(text),
        "content": digest_content(messages_of(*TALK[:covers])),
    }
    return {"_last_summary": {"text": text}, "_compaction": stamp}


def covering(covers: int, **more: Any) -> dict[str, Any]:
    """Return a header with a cursor."""
    return {"last_archived": covers, "last_consolidated": covers} | more


def test_a_session_whose_messages_are_all_covered_is_covered() -> None:
    """Whoever set the cursor, and whatever nobody said came after it."""
    rest = at(HOUR, hidden(), delivery(), command(), automation(), agent("tick"))
    assert verdict_of(tail_of(*TALK, **covering(4))).reason is Reason.COVERED
    assert verdict_of(tail_of(*TALK, *rest, **covering(4))).reason is Reason.COVERED
    assert verdict_of(tail_of(*TALK, *rest, **covering(3))).reason is Reason.DUE
    spoken = at(HOUR, user(), agent())
    assert verdict_of(tail_of(*TALK, *rest, *spoken, **covering(4))).reason is Reason.DUE


def test_kept_messages_that_were_there_at_the_compaction_are_covered() -> None:
    """The stamp says how many there were; only what was said since makes it due again."""
    fields = covering(2, metadata=stamped(2, 4))
    assert verdict_of(tail_of(*TALK, **fields)).reason is Reason.COVERED
    later = at(HOUR, user(), agent())
    assert verdict_of(tail_of(*TALK, *at(HOUR, delivery()), **fields)).reason is Reason.COVERED
    assert verdict_of(tail_of(*TALK, *later, **fields)).reason is Reason.DUE
    assert verdict_of(tail_of(*TALK, *later[1:], **fields)).reason is Reason.DUE


@pytest.mark.parametrize("messages", [None, "4", [], 4.5])
def test_a_stamp_that_went_through_other_hands_is_no_error(messages: object) -> None:
    """One odd record must not stop a scan."""
    metadata = stamped(2, 4)
    metadata["_compaction"]["messages"] = messages
    assert verdict_of(tail_of(*TALK, **covering(2, metadata=metadata))).reason is Reason.DUE


def test_a_session_in_which_nobody_spoke_is_covered() -> None:
    """A timer that talks to itself is nobody."""
    rows = at(HOUR, automation(), agent("tick"), delivery())
    assert verdict_of(tail_of(*rows)).reason is Reason.COVERED


def test_a_session_that_nanobot_compacted_is_covered_and_not_busy() -> None:
    """It ends with nanobot's hidden user row, which is no user who waits."""
    name = "Y2xpOmNvbXBhY3RlZF90d2ljZQ.jsonl"
    transcript = Transcript.parse((NANOBOT / name).read_bytes())
    assert transcript.header is not None
    assert transcript.messages[-1].role == "user"
    tail = replace(tail_of(), header=transcript.header, messages=transcript.messages)
    now = NOW + 30 * DAY
    assert select_idle(tail, SessionMemory(), idle_policy(), now=now).reason is Reason.COVERED


# Held: the operator took it back.


def undone(covers: int, messages: int) -> Undone:
    """Return what an undo leaves in the journal."""
    return Undone(covers, digest_content(messages_of(*TALK[:covers])), messages)


def tombstone(covers: int, messages: int) -> dict[str, Any]:
    """Return what an undo leaves in the record."""
    mark = undone(covers, messages)
    told = {"covers": covers, "content": mark.content, "messages": messages, "at": "2026-11-30"}
    return {"metadata": {"_compaction": {"version": 1, "undone": told}}}


HOLDS = [
    pytest.param(tombstone(2, 4), SessionMemory(), id="tombstone"),
    pytest.param({}, SessionMemory(undone=undone(2, 4)), id="journal"),
]


@pytest.mark.parametrize(("fields", "memory"), HOLDS)
def test_what_was_undone_is_held_until_the_user_speaks(
    fields: dict[str, Any], memory: SessionMemory
) -> None:
    """A delivery, a marker, a timer or a late answer does not end it; force does."""
    assert verdict_of(tail_of(*TALK, **fields), memory).reason is Reason.HELD
    assert verdict_of(tail_of(*TALK, **fields), memory, force=True).reason is Reason.DUE
    for rest in ([delivery()], [hidden()], [automation(), agent("tick")], [agent("by the way")]):
        tail = tail_of(*TALK, *at(HOUR, *rest), **fields)
        assert verdict_of(tail, memory).reason is Reason.HELD
    spoken = tail_of(*TALK, *at(HOUR, user("hello again"), agent()), **fields)
    assert verdict_of(spoken, memory).reason is Reason.DUE


def test_what_was_undone_is_held_whoever_restores_it() -> None:
    """A save of the agent may bring the undone compaction back."""
    restored = tail_of(*TALK, **covering(2, metadata=stamped(2, 4)))
    assert verdict_of(restored, SessionMemory(undone=undone(2, 4))).reason is Reason.HELD


@pytest.mark.parametrize(("fields", "memory"), HOLDS)
def test_a_session_that_was_cleared_is_not_held(
    fields: dict[str, Any], memory: SessionMemory
) -> None:
    """What was undone is gone."""
    fresh = at(HOUR, user("a new start"), agent("welcome"), user("four"), agent("rows"))
    assert verdict_of(tail_of(*fresh, **fields), memory).reason is Reason.DUE
    assert (
        verdict_of(tail_of(*fresh[:1], agent(timestamp=ago(HOUR)), **fields)).reason is Reason.DUE
    )


def test_what_is_held_needs_every_message() -> None:
    """Of a session that was not read whole it can't be told, so it is looked at closer."""
    tail = replace(tail_of(*TALK, **tombstone(2, 4)), first=None)
    assert verdict_of(tail).reason is Reason.DUE


# Parked: it failed.


def test_a_session_that_failed_waits_for_its_time() -> None:
    """The wait ends by itself, to the second, and force ends it."""
    memory = SessionMemory(parked_until=NOW, parked_for="bad_summary", failures=1)
    assert verdict_of(tail_of(*TALK), memory).reason is Reason.DUE
    later = replace(memory, parked_until=NOW + timedelta(seconds=1))
    verdict = verdict_of(tail_of(*TALK), later)
    assert verdict.reason is Reason.PARKED
    assert verdict.detail == "bad_summary; next try at 2026-11-30T12:00:01+00:00"
    assert verdict_of(tail_of(*TALK), later, force=True).reason is Reason.DUE


# Of several reasons, the first is told.


def test_of_several_reasons_the_first_is_told() -> None:
    """Unreadable, off, excluded, active, busy, held, covered, parked: in this order."""
    memory = SessionMemory(
        undone=undone(4, 5), parked_until=NOW + HOUR, parked_for="bad_summary", failures=1
    )
    said: list[Reason] = []
    rows = [*TALK, user()]
    fields = covering(5)
    options: dict[str, Any] = {"channels": {"telegram": None}, "exclude": ("telegram:*",)}

    def tell(rows: list[Row]) -> None:
        said.append(verdict_of(tail_of(*rows, **fields), memory, **options).reason)

    tell(rows)
    rows = [*TALK, *at(timedelta(0), user())]
    tell(rows)
    options["channels"] = {}
    tell(rows)
    options["exclude"] = ()
    tell(rows)
    rows = [*TALK, *at(HOUR, user())]
    tell(rows)
    rows.extend(at(HOUR, agent()))
    tell(rows)
    memory = replace(memory, undone=None)
    fields = covering(6)
    tell(rows)
    fields = {}
    tell(rows)
    memory = SessionMemory()
    tell(rows)
    assert said == [
        Reason.UNREADABLE,
        Reason.OFF,
        Reason.EXCLUDED,
        Reason.ACTIVE,
        Reason.BUSY,
        Reason.HELD,
        Reason.COVERED,
        Reason.PARKED,
        Reason.DUE,
    ]


def test_a_verdict_can_be_shown() -> None:
    """Its detail is one line of text, without anything of what was said."""
    for rows in BUSY_ROWS:
        detail = verdict_of(tail_of(*at(HOUR, *rows))).detail
        assert detail
        assert "\n" not in detail
        assert "are you there" not in json.dumps(detail)
