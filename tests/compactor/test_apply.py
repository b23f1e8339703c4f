"""From an entry to the change that is committed, and what is remembered of it."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime, timedelta, timezone
from typing import Any, cast

import pytest

from compactor.apply import (
    apply_projection,
    is_written_over,
    landed_by,
    reapply_projection,
    still_says,
)
from compactor.journal import Answer, Landed
from session.message import Message
from session.projection import ProjectionChange, read_projection, write_projection
from session.record import StampDict
from session.store import StoredSession
from tests.compactor.builders import (
    NOW,
    agent,
    automation,
    delivery,
    messages_of,
    session_of,
    stored,
    user,
)

ANSWER = Answer("sha256:q", "## Goal\nfly", "openai", "gpt", "v1", NOW)
ROWS = [
    user("Grüße \ud83d", note="no time"),
    agent("two", timestamp="2026-11-28T09:00:00"),
    delivery("report", timestamp="2026-11-29T09:00:00", _source_session="slack:7"),
    automation("tick", cron_job_name="daily", timestamp="2026-11-29T10:00:00"),
    {"note": "no role", "timestamp": 5},
    user("kept", timestamp="2026-11-30T09:00:00", _source_session="unseen"),
]
ENTRY = "the entry, with a lone \ud800"
UPDATED = "2026-11-30T09:00:01.123456"


def session(*more: dict[str, Any], **fields: Any) -> StoredSession:
    """Return the session that is compacted here."""
    return session_of(*ROWS, *more, **({"updated_at": UPDATED} | fields))


def change_of(before: StoredSession, covers: int = 5, entry: str = ENTRY) -> ProjectionChange:
    """Return the change that a compaction of it makes."""
    return apply_projection(
        before, covers, entry, ANSWER, tokens_before=900, tokens_after=90, counter="o200k_base"
    )


def projected(before: StoredSession, change: ProjectionChange) -> StoredSession:
    """Return the session as a store has it after the change."""
    return stored(write_projection(before.header, change, kept_at=77), before.messages)


def stamp_of(change: ProjectionChange) -> dict[str, Any]:
    """Return the stamp of a change."""
    return cast("dict[str, Any]", change.stamp)


def sha(data: bytes) -> str:
    """Return a digest as DESIGN 4 writes it."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def content_of(rows: list[dict[str, Any]]) -> str:
    """Digest messages as DESIGN 4 says: sorted keys, no spaces, ASCII escapes, a newline."""
    lines = (json.dumps(row, sort_keys=True, separators=(",", ":")) + "\n" for row in rows)
    return sha("".join(lines).encode("ascii"))


def test_the_stamp_says_what_the_entry_was_made_of() -> None:
    """Every field of it, the digests worked out here once more."""
    before = session()
    change = change_of(before)
    assert change.stamp == {
        "version": 1,
        "covers": 5,
        "messages": 6,
        "digest": sha(b"".join(message.raw + b"\n" for message in before.messages[:5])),
        "content": content_of(ROWS[:5]),
        "text": sha(ENTRY.encode("utf-8", "surrogatepass")),
        "kept_at": 0,
        "generation": 1,
        "summarized_at": "2026-11-30T12:00:00Z",
        "engine": "openai",
        "model": "gpt",
        "prompt": "v1",
        "tokens_before": 900,
        "tokens_after": 90,
        "counter": "o200k_base",
        "first_at": "2026-11-28T09:00:00",
        "last_at": "2026-11-29T10:00:00",
        "sources": ["cron:daily", "slack:7"],
        "previous": None,
    }
    projection = change.projection
    assert (projection.covers, projection.entry) == (5, ENTRY)
    assert projection.last_active == UPDATED
    assert projection.stamp == change.stamp


def test_a_stamp_that_was_written_is_read_as_ours() -> None:
    """The header of the record holds all that a later pass needs."""
    after = projected(session(), change_of(session()))
    stamp = read_projection(after.header, 6).stamp
    assert stamp is not None
    assert stamp["kept_at"] == 77
    assert after.projection.fits(after.messages)
    assert after.header.updated_at == UPDATED


@pytest.mark.parametrize("updated", [None, 5])
def test_a_session_without_a_readable_time_gets_none(updated: object) -> None:
    """Nanobot's place for it takes a string."""
    assert change_of(session(updated_at=updated)).projection.last_active == ""


def test_a_time_of_another_zone_is_stamped_in_utc() -> None:
    """Whatever the journal gives back."""
    tokyo = timezone(timedelta(hours=9))
    answer = Answer("", "", "digest", None, "v1", datetime(2026, 11, 30, 21, tzinfo=tokyo))
    change = apply_projection(
        session(), 5, ENTRY, answer, tokens_before=9, tokens_after=1, counter="x"
    )
    assert stamp_of(change)["summarized_at"] == "2026-11-30T12:00:00Z"


def previous_of(before: StoredSession) -> tuple[int, dict[str, Any] | None]:
    """Return the generation of another compaction, and what its stamp keeps of the one before."""
    stamp = stamp_of(change_of(before, covers=6, entry="newer"))
    return stamp["generation"], stamp["previous"]


def test_the_stamp_keeps_the_one_before_it() -> None:
    """With its entry, one level deep: an undo restores it."""
    first = change_of(session())
    second = projected(session(), first)
    generation, previous = previous_of(second)
    assert generation == 2
    assert previous == stamp_of(first) | {"kept_at": 77, "entry": ENTRY}
    third = projected(second, change_of(second, covers=6, entry="newer"))
    assert (previous_of(third)[1] or {})["previous"] is None


def test_the_stamp_keeps_a_projection_that_was_not_ours() -> None:
    """Somebody else's cursor and summary, as they were."""
    foreign = {"_last_summary": {"text": "theirs", "last_active": "2026-11-28"}}
    assert previous_of(session(last_archived=3, metadata=foreign)) == (
        1,
        {"covers": 3, "entry": "theirs", "last_active": "2026-11-28"},
    )
    assert previous_of(session(last_archived=3)) == (
        1,
        {"covers": 3, "entry": None, "last_active": None},
    )


# What the journal keeps, and what becomes of it.


def landed() -> Landed:
    """Return what is remembered of the first compaction."""
    return landed_by(session(), change_of(session()))


def test_what_landed_is_enough_to_apply_it_again() -> None:
    """The entry, the stamp, and what it replaced."""
    stamp = stamp_of(change_of(session()))
    assert landed() == Landed(5, content_of(ROWS[:5]), ENTRY, stamp, 0, None)
    foreign = {"_last_summary": {"text": "theirs"}}
    before = session(last_archived=3, metadata=foreign)
    assert landed_by(before, change_of(before)).base_covers == 3
    assert landed_by(before, change_of(before)).base_text == sha(b"theirs")


def test_messages_that_say_the_same_still_say_it() -> None:
    """However their lines are spelled, and whatever came after them."""
    assert still_says(session(user("more")), landed())
    spelled = tuple(Message(json.dumps(row, separators=(",", ":")).encode()) for row in ROWS)
    again = stored(session().header, spelled)
    assert spelled[0].raw != session().messages[0].raw
    assert still_says(again, landed())


def test_messages_that_were_cleared_or_changed_do_not() -> None:
    """Not one of the covered ones may be gone."""
    assert not still_says(session_of(*ROWS[:4]), landed())
    assert not still_says(session_of(), landed())
    changed = [*ROWS[:4], {"note": "other"}, ROWS[5]]
    assert not still_says(session_of(*changed), landed())


def test_the_projection_that_was_replaced_is_written_over_ours() -> None:
    """It is back; any other one was made since, by somebody else, and stands."""
    assert is_written_over(session(), landed())
    ours = projected(session(), change_of(session()))
    assert not is_written_over(ours, landed())
    assert not is_written_over(session(last_archived=3), landed())
    theirs = session(metadata={"_last_summary": {"text": "theirs"}})
    assert not is_written_over(theirs, landed())


def test_what_was_written_over_is_applied_again_as_it_was() -> None:
    """Only the digest is of the lines as they are now, and the projection is theirs."""
    spelled = tuple(messages_of(*ROWS)[:5]) + messages_of(user("kept"), user("more"))
    spelled = (Message(json.dumps(ROWS[0], sort_keys=True).encode()), *spelled[1:])
    now = stored(session().header, spelled)
    change = reapply_projection(now, landed())
    stamp = stamp_of(change)
    digest = sha(b"".join(message.raw + b"\n" for message in spelled[:5]))
    assert digest != landed().stamp["digest"]
    assert stamp == dict(landed().stamp) | {"digest": digest}
    assert (change.projection.covers, change.projection.entry) == (5, ENTRY)
    assert projected(now, change).projection.fits(spelled)
    assert set(stamp) <= set(StampDict.__annotations__)
