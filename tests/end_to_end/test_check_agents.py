"""`compactor check` and what agents do: their clocks, their rhythm, and nanobot's own ways."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from freezegun import freeze_time

from compactor.journal import LedgerEntry
from compactor.model import Outcome
from compactor.sqlite_journal import SqliteJournal
from session.adopter import Adopter
from session.model import SessionRef
from tests.end_to_end.checking import (
    Case,
    Line,
    assert_healthy,
    look,
    obey,
    run_case,
    write_setting,
)
from tests.end_to_end.support import Invoke

KEY = "telegram:beat"
STEM = "dGVsZWdyYW06YmVhdA"


def write_session(
    place: Path, times: list[datetime], *, key: str = KEY, stem: str = STEM, zone: bool = False
) -> None:
    """A session in which the user spoke at these times; they are naive, unless `zone`."""
    said = [
        moment.isoformat() if zone else moment.replace(tzinfo=None).isoformat() for moment in times
    ]
    header = {"_type": "metadata", "key": key, "updated_at": said[-1], "metadata": {}}
    rows = [
        {"role": role, "content": "ping", "timestamp": at}
        for at in said
        for role in ("user", "assistant")
    ]
    text = "".join(json.dumps(row) + "\n" for row in [header, *rows])
    (place / "sessions" / f"{stem}.jsonl").write_text(text)


def speak_in_zone(hours: float, *, zone: bool = False) -> Callable[[Path], None]:
    """The agent's clock shows so many hours more than ours."""

    def break_it(place: Path) -> None:
        now = datetime.now(UTC)  # noqa: TID251 - the command reads the same clock
        write_session(place, [now + timedelta(hours=hours)], zone=zone)

    return break_it


def set_agents_clock(line: Line, place: Path) -> None:
    """The agent writes with the right time from now on."""
    assert "set the agent's clock" in line.remedy
    speak_in_zone(0, zone=True)(place)


def beat(minutes: int) -> Callable[[Path], None]:
    """A heartbeat, ten times until now, and a TTL of half an hour."""

    def break_it(place: Path) -> None:
        write_setting(place / "config.toml", "idle", "ttl", '"30m"')
        now = datetime.now(UTC)  # noqa: TID251 - the command reads the same clock
        write_session(
            place, [now - n * timedelta(minutes=minutes) for n in range(9, -1, -1)], zone=True
        )

    return break_it


def exclude(line: Line, place: Path) -> None:
    """Add the key that the remedy spells to the list that it names."""
    added = re.match(r'add ("[^"]*") to \[idle\] exclude', line.remedy)
    assert added, line.remedy
    write_setting(place / "config.toml", "idle", "exclude", f"[{added[1]}]")


def let_nanobot_come(place: Path) -> None:
    """The folder is nanobot's, which would write over a compaction."""
    (place / "sessions" / ".session-files.lock").touch(0o600)
    (place / "sessions" / ".workspace").write_text("/somewhere")
    (place / "config.json").write_text('{"agents": {"defaults": {}}}')


def take_second_way(line: Line, place: Path) -> None:
    """Do what stands behind (2)."""
    way = line.remedy.partition("(2) ")[2].partition("; or")[0]
    assert way == "set [keep] messages to 0 in our config.toml", line.remedy
    write_setting(place / "config.toml", "keep", "messages", "0")


CASES = [
    Case("another zone, ahead", speak_in_zone(2), "clock", "warn", 0, "ahead of now by 1", obey),
    Case(
        "another zone, behind", speak_in_zone(-3), "clock", "warn", 0, "3h later than it says", obey
    ),
    Case(
        "a wrong clock",
        speak_in_zone(1.1, zone=True),
        "clock",
        "warn",
        0,
        "ahead of now by",
        set_agents_clock,
    ),
    Case(
        "a beat within the TTL",
        beat(10),
        "rhythm",
        "warn",
        0,
        "speaks every 10m and its TTL is 30m: it never becomes idle",
        exclude,
    ),
    Case(
        "a TTL within the beat",
        beat(60),
        "rhythm",
        "warn",
        0,
        "speaks every 1h and its TTL is 30m: it is compacted again and again",
        obey,
    ),
    Case(
        "nanobot without our plugin",
        let_nanobot_come,
        "adoption",
        "warn",
        0,
        "would write over it",
        take_second_way,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_broken_is_told_and_what_is_told_repairs_it(
    case: Case, healthy: Path, invoke: Invoke
) -> None:
    """The line, the exit code, the words; then the remedy to the letter, and all is well."""
    run_case(case, healthy, invoke)


def test_a_zone_without_a_meaning_is_told(
    healthy: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What needs the zone is not looked at, and the rest is."""
    monkeypatch.setenv("TZ", "Nowhere/Land")
    code, lines = look(invoke)
    assert (code, lines["clock"].state) == (78, "fail")
    assert "TZ: " in lines["clock"].detail
    assert "the line 'clock'" in lines["adoption"].detail
    assert lines["store"].state == "ok"
    obey(lines["clock"], healthy)
    assert_healthy(invoke)


def test_a_plugin_beside_nanobots_own_compaction_is_told(healthy: Path, invoke: Invoke) -> None:
    """The way out names nanobot's key and file."""
    let_nanobot_come(healthy)
    adopter = Adopter(healthy / "sessions", "nanobot-plugin", idle_compact_after_minutes=15)
    _, lines = look(invoke)
    adopter.close()
    assert lines["adoption"].state == "warn"
    assert "idleCompactAfterMinutes to 0" in lines["adoption"].remedy
    adopter = Adopter(healthy / "sessions", "nanobot-plugin", idle_compact_after_minutes=0)
    assert_healthy(invoke)
    adopter.close()


def test_what_agents_wrote_over_is_told_for_a_month(healthy: Path, invoke: Invoke) -> None:
    """How often, and which line says how to end it; then it is past."""
    journal = SqliteJournal(healthy / "state")
    ref = SessionRef(str(healthy / "sessions"), "sessions", KEY)
    now = datetime.now(UTC)  # noqa: TID251 - the command reads the same clock
    for days in (1, 2, 40):
        journal.write_ledger(ref, LedgerEntry(now - timedelta(days=days), Outcome.REAPPLIED, None))
    journal.close()
    code, lines = look(invoke)
    assert (code, lines["written over"].state) == (0, "warn")
    assert "wrote over 2 compactions" in lines["written over"].detail
    assert "see to the line 'adoption'" in lines["written over"].remedy
    with freeze_time(now + timedelta(days=31)):
        assert_healthy(invoke)
