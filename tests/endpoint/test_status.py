"""`compactor status`: what the worker did, and which sessions wait for whom."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from tests.end_to_end.support import Invoke
from tests.endpoint.server import Server, answer, error
from tests.endpoint.support import OTHERS, SHORT, SHORT_KEY, Place
from tests.endpoint.test_run_service import write_over


def test_before_the_first_pass_there_is_little_to_say(place: Place, invoke: Invoke) -> None:
    """And nothing is made for it."""
    told = invoke("status", "--json").json
    assert told["passes"] == []
    assert told["sessions"] == []
    assert told["running"] is False
    assert told["totals"]["all time"]["calls"] == 0
    assert not (place.folder / "state").exists()
    assert not (place.sessions / ".compactor").exists()
    assert "no pass yet" in invoke("status").out


def test_passes_and_totals(bare: Place, server: Server, invoke: Invoke) -> None:
    """The newest pass comes first; the sums are those of the ledger."""
    bare.add(SHORT, *OTHERS)
    server.play(error(500), *[answer()] * 9)
    bare.configure(llm="retries = 0", concurrency=1)
    assert invoke("once").code == 3
    assert invoke("once").code == 0

    told = invoke("status", "--json").json

    newest, first = told["passes"]
    assert (first["command"], first["outcome"], first["problem"]) == ("once", "done", None)
    assert first["counts"]["failed"] == 1
    assert first["counts"]["compacted"] == 3
    assert newest["counts"]["parked"] == 1
    day = told["totals"]["24 hours"]
    assert day["outcomes"] == {"compacted": 3, "failed": 1}
    assert day["calls"] == 4
    assert day["prompt"] == 2100
    assert day["tokens_before"] > day["tokens_after"] > 0
    assert told["totals"]["all time"] == day
    assert [row["reason"] for row in told["sessions"]] == ["parked"]
    assert "unavailable" in told["sessions"][0]["detail"]
    assert len(invoke("status", "--json", "--passes", "1").json["passes"]) == 1


def test_a_fault_of_the_account_is_told(place: Place, server: Server, invoke: Invoke) -> None:
    """With what to do."""
    server.play(error(401))
    assert invoke("once").code == 78
    told = invoke("status").out
    assert "stopped" in told
    assert "api_key_env" in told


def test_held_sessions_are_listed_until_the_user_speaks(place: Place, invoke: Invoke) -> None:
    """What an operator took back waits, also while it is too fresh to be due."""
    assert invoke("once").code == 0
    assert invoke("undo", SHORT_KEY).code == 0
    place.configure(ttl="900d")
    told = invoke("status", "--json").json["sessions"]
    assert [(row["key"], row["reason"]) for row in told] == [(SHORT_KEY, "held")]
    assert "held" in invoke("status").out


def test_what_agents_wrote_over_is_counted(place: Place, invoke: Invoke) -> None:
    """Each was applied again without a call."""
    invoke("once")
    write_over(place)
    assert invoke("once", "--json").json["reapplied"] == 1
    assert invoke("status", "--json").json["written_over"] == 1
    assert "agents wrote over 1 compaction in the last 30 days" in invoke("status").out


def test_where_the_sessions_are_gone_the_journal_still_speaks(place: Place, invoke: Invoke) -> None:
    """What can't be known is null, and why is told."""
    invoke("once")
    place.sessions.rename(place.folder / "elsewhere")
    ran = invoke("status", "--json")
    assert ran.code == 0
    assert ran.json["running"] is None
    assert ran.json["sessions"] is None
    assert "there is no such folder" in ran.json["problem"]
    assert len(ran.json["passes"]) == 1
    assert "nobody can tell" in invoke("status").out


@pytest.mark.parametrize("command", [("status",), ("status", "--json")])
def test_a_journal_that_can_not_be_read_is_an_error(
    place: Place, invoke: Invoke, command: tuple[str, ...]
) -> None:
    """Its name and the way out are told."""
    invoke("once")
    (place.folder / "state" / "journal.sqlite3").write_bytes(b"no database" * 100)
    ran = invoke(*command)
    assert ran.code == 78
    assert "journal.sqlite3" in ran.err
    assert "move it aside" in ran.err


def test_a_key_that_plays_tricks_is_shown_harmless(place: Place, invoke: Invoke) -> None:
    """No markup counts, no escape sequence comes through."""
    path = place.path()
    lines = path.read_bytes().split(b"\n")
    header = json.loads(lines[0]) | {"key": "cli:[bold]\x1b[31m"}
    (place.sessions / "cli_x.jsonl").write_bytes(
        b"\n".join([json.dumps(header).encode(), *lines[1:]])
    )
    path.unlink()
    invoke("once")
    invoke("undo", "cli:[bold]\x1b[31m")
    told = invoke("status").out
    assert "[bold]" in told
    assert "\x1b" not in told


def test_status_changes_nothing(place: Place, invoke: Invoke) -> None:
    """Neither the sessions nor the journal."""
    invoke("once")

    def look() -> dict[str, tuple[bytes, int]]:
        files = [path for path in Path(place.folder).rglob("*") if path.is_file()]
        return {str(path): (path.read_bytes(), os.stat(path).st_mtime_ns) for path in files}  # noqa: PTH116

    before = look()
    assert invoke("status").code == 0
    assert look() == before
    assert stat.S_IMODE((place.folder / "state").stat().st_mode) == 0o700
