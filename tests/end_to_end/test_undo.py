"""Taking a compaction back, and what happens to one that somebody else writes over."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from freezegun import freeze_time

from tests.end_to_end.support import (
    SAMPLES,
    Invoke,
    Ran,
    add_messages,
    filler,
    message_lines,
    read_header,
    save_header,
)

KEY = "telegram:airline-week"
NAME = "dGVsZWdyYW06YWlybGluZS13ZWVr.jsonl"
FIRST, SECOND, THIRD = "2026-12-03 12:00:00", "2026-12-10 12:00:00", "2026-12-17 12:00:00"


@pytest.fixture
def path(place: Path) -> Path:
    """One long conversation, not compacted yet."""
    path = place / "sessions" / NAME
    path.write_bytes((SAMPLES / NAME).read_bytes())
    return path


def once(invoke: Invoke, at: str, *arguments: str) -> Ran:
    """One pass at that time."""
    with freeze_time(at):
        return invoke("once", "--agent-stopped", "--json", "--all", *arguments)


def speak(path: Path, day: str) -> None:
    """Let the user and the agent say something worth compacting."""
    add_messages(path, *filler(8, day, "later"))


def projection(path: Path) -> tuple[Any, ...]:
    """The cursor, the entry and the stamp as they stand."""
    header = read_header(path)
    metadata = header["metadata"]
    return header["last_archived"], metadata.get("_last_summary"), metadata.get("_compaction")


def test_undo_gives_the_full_history_back_and_it_stays_back(path: Path, invoke: Invoke) -> None:
    """After an undo of the first compaction nothing is covered, and three passes leave it so."""
    original = path.read_bytes()
    once(invoke, FIRST)

    with freeze_time(FIRST):
        undone = invoke("undo", KEY, "--json")

    assert undone.json["undone"] is True
    cursor, summary, stamp = projection(path)
    assert (cursor, summary) == (0, None)
    assert stamp["undone"]["messages"] == 577
    assert message_lines(path.read_bytes()) == message_lines(original)
    before = path.read_bytes()
    for at in (FIRST, SECOND, THIRD):
        assert once(invoke, at).session(KEY)["reason"] == "held"
    assert path.read_bytes() == before


def test_undo_goes_back_one_compaction_and_all_goes_back_to_none(
    path: Path, invoke: Invoke
) -> None:
    """The previous entry stands again, word for word; `--all` then removes that too."""
    once(invoke, FIRST)
    first = projection(path)
    speak(path, "2026-12-04")
    assert once(invoke, SECOND).session(KEY)["outcome"] == "compacted"

    with freeze_time(SECOND):
        invoke("undo", KEY)

    cursor, summary, stamp = projection(path)
    assert (cursor, summary["text"]) == (first[0], first[1]["text"])
    assert stamp["undone"]["covers"] > cursor
    assert {**stamp, "undone": 0, "kept_at": 0} == {**first[2], "undone": 0, "kept_at": 0}
    assert once(invoke, SECOND).session(KEY)["reason"] == "held"
    with freeze_time(SECOND):
        invoke("undo", KEY, "--all")
    assert projection(path)[:2] == (0, None)


def test_undone_stays_undone_when_a_save_restores_it(path: Path, invoke: Invoke) -> None:
    """Neither a save without the tombstone nor one with the old stamp brings it back into force."""
    plain = read_header(path)
    once(invoke, FIRST)
    compacted = read_header(path)
    with freeze_time(FIRST):
        invoke("undo", KEY)

    for restored in (plain, compacted):
        save_header(path, restored)
        before = path.read_bytes()
        assert once(invoke, SECOND).session(KEY)["reason"] == "held"
        assert path.read_bytes() == before


def test_the_user_ends_a_hold_and_so_does_force(path: Path, invoke: Invoke) -> None:
    """A delivery does not end it; a word of the user does, and `--force` does."""
    once(invoke, FIRST)
    with freeze_time(FIRST):
        invoke("undo", KEY)
    proactive = {"role": "assistant", "content": "news", "_channel_delivery": True}
    add_messages(path, proactive | {"timestamp": "2026-12-04T10:00:00"})
    assert once(invoke, SECOND).session(KEY)["reason"] == "held"
    kept = path.read_bytes()

    assert once(invoke, SECOND, "--key", KEY, "--force").session(KEY)["outcome"] == "compacted"

    path.write_bytes(kept)
    speak(path, "2026-12-04")
    assert once(invoke, SECOND).session(KEY)["outcome"] == "compacted"


def test_what_was_written_over_is_applied_again_without_asking(
    path: Path, invoke: Invoke, place: Path
) -> None:
    """The same entry comes back from the journal, once per idle stretch; then it has no effect."""
    plain = read_header(path)
    once(invoke, FIRST)
    first = projection(path)
    forget_answers(place)

    save_header(path, plain)
    again = once(invoke, FIRST)

    assert again.session(KEY)["outcome"] == "reapplied"
    assert again.json["due"] == again.json["reapplied"] == 1
    assert projection(path) == first
    save_header(path, plain)
    assert once(invoke, FIRST).session(KEY)["reason"] == "no_effect"
    speak(path, "2026-12-04")
    assert once(invoke, SECOND).session(KEY)["outcome"] == "reapplied"
    assert projection(path)[:2] == first[:2]


def forget_answers(place: Path) -> None:
    """Drop the journal's answers, so that only what landed can bring an entry back."""
    with sqlite3.connect(place / "state" / "journal.sqlite3") as journal:
        journal.execute("DELETE FROM answer")


def test_a_cleared_session_begins_anew(path: Path, invoke: Invoke, place: Path) -> None:
    """After a `/new` that left the stamp in place, the stamp is ignored and its text forgotten."""
    once(invoke, FIRST)
    header = read_header(path)
    header["last_archived"] = header["last_consolidated"] = 0
    del header["metadata"]["_last_summary"]
    path.write_bytes(json.dumps(header).encode() + b"\n")
    speak(path, "2026-12-04")

    ran = once(invoke, SECOND)

    assert ran.session(KEY)["outcome"] == "compacted"
    stamp = projection(path)[2]
    assert (stamp["generation"], stamp["previous"]) == (1, None)
    entry = projection(path)[1]["text"]
    assert "reservation" not in entry
    with sqlite3.connect(place / "state" / "journal.sqlite3") as journal:
        stored = " ".join(row[0] for row in journal.execute("SELECT landed FROM memory"))
    assert "reservation" not in stored


def test_a_compaction_of_somebody_else_stands(path: Path, invoke: Invoke) -> None:
    """Once the agent has compacted for itself, ours is never put in its place."""
    once(invoke, FIRST)
    header = read_header(path)
    header["last_archived"] = header["last_consolidated"] = 577
    header["metadata"]["_last_summary"] = {"text": "the agent's own", "last_active": ""}
    save_header(path, header)

    assert once(invoke, FIRST).session(KEY)["reason"] == "covered"
    with freeze_time(FIRST):
        refused = invoke("undo", KEY)
    assert "not ours" in refused.out
    assert projection(path)[:2] == (577, {"text": "the agent's own", "last_active": ""})


def test_undo_of_our_entry_restores_the_one_that_was_not_ours(path: Path, invoke: Invoke) -> None:
    """The projection that the agent had made is remembered and comes back."""
    header = read_header(path)
    header["last_archived"] = header["last_consolidated"] = 30
    header["metadata"]["_last_summary"] = {"text": "the agent's own", "last_active": "then"}
    save_header(path, header)
    once(invoke, FIRST)
    assert projection(path)[0] > 30

    with freeze_time(FIRST):
        invoke("undo", KEY)

    assert projection(path)[:2] == (30, {"text": "the agent's own", "last_active": "then"})


def test_nothing_to_undo_is_said_and_is_no_failure(path: Path, invoke: Invoke) -> None:
    """A session that was never compacted is left as it is."""
    before = path.read_bytes()

    ran = invoke("undo", KEY)

    assert (ran.code, path.read_bytes()) == (0, before)
    assert "nothing to undo" in ran.out
