"""What `show` tells an operator of an entry: where it comes from, what it cost, what is kept."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.end_to_end.support import SAMPLES, Invoke, copy_sessions

KEY = "telegram:airline-week"
FOLD = """INSERT INTO ledger (id, at, place, key, outcome, calls, usage, seconds)
          SELECT 1, at, place, key, 'folded', 2, ?, 9.0 FROM ledger"""
PAID = "UPDATE ledger SET calls = 1, usage = ?, seconds = 14.2, audit = ? WHERE outcome <> 'folded'"


@pytest.fixture
def compacted(place: Path, invoke: Invoke) -> Path:
    """A folder with one session that was compacted, and we are in it."""
    copy_sessions(SAMPLES, place / "sessions")
    assert invoke("once", "--agent-stopped", "--key", KEY, "--json").json["compacted"] == 1
    return place


@contextmanager
def journal_of(place: Path) -> Iterator[sqlite3.Connection]:
    """The journal's file, to write to."""
    with closing(sqlite3.connect(place / "state" / "journal.sqlite3")) as db, db:
        yield db


def pay(place: Path) -> None:
    """Have the entry cost three calls, two of them for parts."""
    usage = {"prompt": 40_000, "cached": 1_024, "completion": 1_000, "reasoning": 600}
    with journal_of(place) as db:
        db.execute("UPDATE ledger SET id = 2")
        db.execute(FOLD, [json.dumps({"prompt": 8_210, "completion": 900})])
        figure = json.dumps({"wanted": 17, "found": 14, "appended": 3})
        db.execute(PAID, [json.dumps(usage), figure])


def test_an_entry_that_no_model_wrote_cost_nothing(compacted: Path, invoke: Invoke) -> None:
    """It says so, and which messages are kept."""
    shown = invoke("show", KEY).out.splitlines()
    assert shown[1].endswith("messages are covered")
    assert shown[2].startswith("generation 1, by digest at 2")
    assert shown[3].startswith("covered: 2026-03-02T17:00:25 to 2026-03-09T23:58:45, ")
    assert re.fullmatch(r"audit: \d+ of 40 identifiers in the text, \d+ appended", shown[4])
    assert shown[5] == "cost: no model was asked"
    assert shown[6] == "kept: 4 messages, 126 tokens, 2026-03-09T23:59:10 to 2026-03-10T00:00:25"


def test_audit_and_cost_of_an_entry_are_shown(
    compacted: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Calls, how many of them for parts, tokens and time; no line is wider than a terminal."""
    pay(compacted)
    monkeypatch.setenv("COLUMNS", "80")
    shown = invoke("show", KEY).out
    assert "\naudit: 14 of 17 identifiers in the text, 3 appended\n" in shown
    assert (
        "cost: 3 calls (2 of them for parts), 48,210 tokens in (1,024 cached), 1,900 out "
        "(600 reasoning), 14.2 s"
    ) in " ".join(shown.split())

    told = invoke("show", KEY, "--json").json
    assert told["audit"] == {"wanted": 17, "found": 14, "appended": 3}
    assert told["cost"].pop("seconds") == 14.2
    usage = {"prompt": 48_210, "cached": 1_024, "completion": 1_900, "reasoning": 600}
    assert told["cost"] == {"calls": 3, "parts": 2, "usage": usage}


def test_only_the_entry_that_stands_has_its_cost_shown(compacted: Path, invoke: Invoke) -> None:
    """Not one that was undone, and not one of another worker's journal."""
    pay(compacted)
    with journal_of(compacted) as db:
        db.execute("UPDATE ledger SET tokens_after = tokens_after + 1")
    told = invoke("show", KEY, "--json").json
    assert (told["audit"], told["cost"]) == (None, None)
    assert "cost:" not in invoke("show", KEY).out

    assert invoke("undo", KEY).code == 0
    shown = invoke("show", KEY)
    assert "no message is covered" in shown.out
    assert "cost:" not in shown.out


@pytest.mark.parametrize("fault", ["junk", "newer", "row"])
def test_a_journal_that_can_not_be_read_hides_nothing_else(
    compacted: Path, invoke: Invoke, fault: str
) -> None:
    """The session is shown, with a line that says why there is no cost."""
    whole = invoke("show", KEY).out
    if fault == "junk":
        (compacted / "state" / "journal.sqlite3").write_bytes(b"[red]\x1b no database" * 99)
    else:
        with journal_of(compacted) as db:
            change = (
                "PRAGMA user_version = 9" if fault == "newer" else "UPDATE ledger SET usage='{'"
            )
            db.execute(change)

    shown = invoke("show", KEY)
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.count("\naudit and cost are not known: ") == 1
    begin, end = re.split(r"audit: .*\ncost: no model was asked", whole)
    assert shown.out.startswith(begin)
    assert shown.out.endswith(end)
    assert "\x1b" not in shown.out
    told = invoke("show", KEY, "--json")
    assert told.code == 0
    assert (told.json["audit"], told.json["cost"]) == (None, None)
    assert told.json["entry"]
    assert "audit and cost are not known" in told.err


def test_showing_needs_no_journal_and_makes_none(place: Path, invoke: Invoke) -> None:
    """A session that nobody compacted is shown too."""
    copy_sessions(SAMPLES, place / "sessions")
    shown = invoke("show", KEY)
    assert (shown.code, shown.err) == (0, "")
    assert "no message is covered\nkept: 577 messages, " in shown.out
    assert not (place / "state" / "journal.sqlite3").exists()
