"""A pass over copies of real session files: what compacts, and that nothing else changes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from freezegun import freeze_time

from tests.end_to_end.support import (
    DATA,
    SAMPLES,
    Invoke,
    add_messages,
    copy_sessions,
    grow,
    message_lines,
    read_header,
)

LATER = "2026-12-03 12:00:00"
FOLDERS = {
    "samples": SAMPLES,
    "0.3.5 ok": DATA / "v0.3.5" / "ok",
    "0.3.5 bad": DATA / "v0.3.5" / "bad",
    "0.2.2": DATA / "v0.2.2" / "sessions",
}
ONCE = ("once", "--agent-stopped", "--json", "--all")


@pytest.mark.parametrize(
    "grown",
    [pytest.param(False, marks=pytest.mark.soak), True],
    ids=["as they are", "grown"],
)
@pytest.mark.parametrize("source", FOLDERS.values(), ids=FOLDERS)
@freeze_time(LATER)
def test_a_pass_keeps_every_message_line(
    source: Path, place: Path, invoke: Invoke, *, grown: bool
) -> None:
    """Every message line has the same bytes, in the same order, none added, none gone."""
    folder = place / "sessions"
    copy_sessions(source, folder)
    if grown:
        for path in folder.glob("*.jsonl"):
            grow(path)
    before = {path.name: path.read_bytes() for path in folder.glob("*.jsonl")}

    ran = invoke(*ONCE)

    after = {path.name: path.read_bytes() for path in folder.glob("*.jsonl")}
    assert ran.code == 0
    assert after.keys() == before.keys()
    for name, data in before.items():
        assert message_lines(after[name]) == message_lines(data), name
    check_sums(ran.json)
    assert ran.json["compacted"] > 0 or not grown
    assert ran.json["failed"] == ran.json["conflict"] == 0


def check_sums(report: dict[str, int | dict[str, int]]) -> None:
    """`scanned` is due and skipped, `due` is the sum of the outcomes."""
    skipped = report["skipped"]
    assert isinstance(skipped, dict)
    outcomes = ("compacted", "reapplied", "would_compact", "conflict", "failed")
    assert report["due"] == sum(int(str(report[name])) for name in outcomes)
    assert report["scanned"] == int(str(report["due"])) + sum(skipped.values())


@freeze_time(LATER)
def test_real_conversations_compact_with_low_floors(place: Path, invoke: Invoke) -> None:
    """At least twelve of the fifteen samples compact, and a second pass compacts nothing."""
    copy_sessions(SAMPLES, place / "sessions")
    assert invoke(*ONCE).json["compacted"] >= 12

    again = invoke(*ONCE)

    assert again.json["due"] == 0
    assert again.json["skipped"]["covered"] >= 12


@freeze_time(LATER)
def test_long_conversations_compact_with_the_shipped_configuration(
    place: Path, invoke: Invoke
) -> None:
    """The two long dialogues and the coding session are worth it, a short one is not."""
    shipped = Path(__file__).parents[2] / "config.toml"
    (place / "config.toml").write_text(shipped.read_text())
    copy_sessions(SAMPLES, place / "sessions")

    ran = invoke(*ONCE, "--engine", "digest")

    for key in ("telegram:airline-week", "whatsapp:airline-month", "cli:pi-coding"):
        assert ran.session(key)["outcome"] == "compacted"
    assert ran.session("telegram:airline-1")["reason"] == "small"
    assert ran.json["compacted"] == 4


@freeze_time(LATER)
def test_a_compaction_moves_no_time_and_no_owner(place: Path, invoke: Invoke) -> None:
    """`updated_at`, `created_at`, mode, owner and mtime are the same afterwards."""
    copy_sessions(SAMPLES, place / "sessions")
    path = place / "sessions" / "dGVsZWdyYW06YWlybGluZS13ZWVr.jsonl"
    path.chmod(0o640)
    os.utime(path, ns=(1_700_000_000_123_456_789, 1_700_000_000_987_654_321))
    before, header = path.stat(), read_header(path)

    assert invoke(*ONCE).json["compacted"] >= 12

    after, now = path.stat(), read_header(path)
    assert now["last_archived"] == now["last_consolidated"] > 0
    assert (now["updated_at"], now["created_at"]) == (header["updated_at"], header["created_at"])
    assert now["metadata"]["_last_summary"]["last_active"] == header["updated_at"]
    same = ("st_mode", "st_uid", "st_gid", "st_mtime_ns")
    assert [getattr(after, name) for name in same] == [getattr(before, name) for name in same]


def test_new_messages_are_compacted_into_a_revised_entry(place: Path, invoke: Invoke) -> None:
    """After more turns the entry is a revision: it keeps what held, and covers more."""
    copy_sessions(SAMPLES, place / "sessions")
    path = place / "sessions" / "dGVsZWdyYW06YWlybGluZS13ZWVr.jsonl"
    with freeze_time(LATER):
        invoke(*ONCE)
    first = read_header(path)["metadata"]["_compaction"]
    turns = [
        {"role": role, "content": f"{text} {n}", "timestamp": "2026-12-04T10:00:00"}
        for n in range(6)
        for role, text in (
            ("user", "My new address is 12 Harbour Lane and my membership is SILVER-7734, note it"),
            ("assistant", "I have noted your new address and your membership."),
        )
    ]
    add_messages(path, *turns)

    with freeze_time("2026-12-05 12:00:00"):
        ran = invoke(*ONCE)

    assert ran.session("telegram:airline-week")["outcome"] == "compacted"
    metadata = read_header(path)["metadata"]
    second = metadata["_compaction"]
    assert (first["generation"], second["generation"]) == (1, 2)
    assert second["covers"] > first["covers"]
    assert second["previous"]["covers"] == first["covers"]
    assert second["previous"]["previous"] is None
    assert "SILVER-7734" in metadata["_last_summary"]["text"]
    assert metadata["_last_summary"]["text"].count("## Goal") == 1


@freeze_time(LATER)
def test_what_nanobot_compacted_itself_is_covered(place: Path, invoke: Invoke) -> None:
    """A session that ends with nanobot's hidden marker is `covered`, not `busy`."""
    copy_sessions(DATA / "v0.3.5" / "ok", place / "sessions")

    ran = invoke(*ONCE)

    assert ran.session("cli:compacted_twice")["reason"] == "covered"


@freeze_time(LATER)
def test_nothing_of_ours_lies_outside_the_hidden_folder(place: Path, invoke: Invoke) -> None:
    """Beside the sessions there are only `.compactor` and the lock that agents share."""
    copy_sessions(SAMPLES, place / "sessions")
    before = {path.name for path in (place / "sessions").iterdir()}

    invoke(*ONCE)

    new = {path.name for path in (place / "sessions").iterdir()} - before
    assert ".compactor" in new
    assert new <= {".compactor", ".session-files.lock"}


@freeze_time(LATER)
def test_a_session_that_nothing_is_kept_of_closes_with_its_last_exchange(
    place: Path, invoke: Invoke
) -> None:
    """With `keep.messages = 0` the cursor goes to the end, and the entry quotes the end."""
    config = place / "config.toml"
    config.write_text(config.read_text().replace("messages = 4", "messages = 0"))
    folder = place / "sessions"
    copy_sessions(DATA / "v0.3.5" / "ok", folder)
    path = folder / "dGVsZWdyYW06NTU1.jsonl"
    rows = path.read_bytes().split(b"\n")
    path.write_bytes(
        b"\n".join(
            [
                rows[0],
                *(
                    json.dumps(
                        {
                            "role": role,
                            "content": f"{text} " * 3000,
                            "timestamp": "2026-11-29T08:00:00",
                        }
                    ).encode()
                    for role, text in (("user", "early words"), ("assistant", "early answer"))
                ),
                *rows[1:],
            ]
        )
    )

    ran = invoke(*ONCE)

    row = ran.session("telegram:555")
    assert (row["outcome"], row["covers"]) == ("compacted", 8)
    entry = read_header(path)["metadata"]["_last_summary"]["text"]
    assert entry.index("## Last exchange") < entry.index("> User: ok, done")
    assert entry.index("> User: ok, done") < entry.index("> Agent: great")
    assert entry.index("## Delivered, unanswered") < entry.index("> 📈 daily chart")
