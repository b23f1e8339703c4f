"""What hostile files and odd surroundings must not do: stop a pass, or end in a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from freezegun import freeze_time

from tests.end_to_end.support import (
    SAMPLES,
    Invoke,
    add_messages,
    copy_sessions,
    filler,
    message_lines,
    read_header,
    save_header,
)
from tests.end_to_end.test_command_line import write_session

LATER = "2026-12-03 12:00:00"
ONCE = ("once", "--agent-stopped", "--json", "--all")


@freeze_time(LATER)
def test_a_late_line_beside_an_odd_one_is_grafted(place: Path, invoke: Invoke) -> None:
    """A mark of an unheard-of type stops neither the recovery nor the other sessions."""
    path = write_session(place / "sessions", "telegram:1", "x")
    rows = path.read_text().split("\n")
    rows.insert(1, json.dumps({"_type": ["x"], "role": "user", "content": "odd"}))
    path.write_text("\n".join(rows))
    with path.open("ab") as held:
        assert invoke(*ONCE).json["compacted"] == 1
        held.write(b'{"role":"user","content":"late","timestamp":"2026-12-03T11:00:00"}\n')
        held.flush()

        ran = invoke(*ONCE)

    assert ran.code == 0
    assert message_lines(path.read_bytes())[-2].startswith(b'{"role":"user","content":"late"')


@pytest.mark.parametrize("value", [10**30, 2**63 - 1, -5, True, "12", None, [1]], ids=repr)
@pytest.mark.parametrize("field", ["kept_at", "messages", "covers", "generation", "previous"])
@freeze_time(LATER)
def test_a_stamp_with_nonsense_in_it_stops_nothing(
    field: str, value: object, place: Path, invoke: Invoke
) -> None:
    """Neither a pass nor `show` nor `undo` trips over it, and no cursor out of range is written."""
    path = write_session(place / "sessions", "telegram:1", "x")
    invoke(*ONCE)
    header = read_header(path)
    header["metadata"]["_compaction"][field] = value
    save_header(path, header)

    for arguments in (ONCE, ("show", "telegram:1"), ("undo", "telegram:1")):
        assert invoke(*arguments).code == 0, arguments

    assert 0 <= read_header(path)["last_archived"] <= 24


@freeze_time(LATER)
def test_how_deep_a_line_is_nested_decides_once_for_all(place: Path, invoke: Invoke) -> None:
    """A line that Python can only sometimes read is no message to any command."""
    path = write_session(place / "sessions", "telegram:1", "x")
    rows = path.read_text().split("\n")
    rows.insert(1, '{"role":"user","content":"x","deep":' + "[" * 984 + "]" * 984 + "}")
    path.write_text("\n".join(rows))

    ran = invoke(*ONCE)

    assert ran.session("telegram:1")["messages"] == 24
    assert invoke("show", "telegram:1", "--json").json["messages"] == 24
    assert rows[1].encode() in path.read_bytes()


@freeze_time(LATER)
def test_a_folder_limits_a_pass(place: Path, invoke: Invoke) -> None:
    """`--folder` alone leaves the other folders alone; a wrong one exits 2 with the right ones."""
    for name in ("a", "b"):
        (place / "g" / name).mkdir(parents=True)
        write_session(place / "g" / name, f"telegram:{name}", "x")
    store = ("--store", "jsonl:g/*")

    assert [r["key"] for r in invoke(*ONCE, *store, "--folder", "a").json["sessions"]] == [
        "telegram:a"
    ]
    wrong = invoke(*ONCE, *store, "--folder", "zz")
    assert wrong.code == 2
    assert "'a', 'b'" in wrong.err


@freeze_time(LATER)
def test_a_glob_makes_nothing_in_folders_without_sessions(place: Path, invoke: Invoke) -> None:
    """A folder that only happens to match stays as it is."""
    (place / "unrelated").mkdir()
    copy_sessions(SAMPLES, place / "sessions")

    invoke(*ONCE, "--store", "jsonl:*")

    assert not list((place / "unrelated").iterdir())


@freeze_time(LATER)
def test_a_missing_vocabulary_is_said_and_parks_nobody(
    place: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 78, naming the file; the sessions are due again as soon as it is there."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(place))
    write_session(place / "sessions", "telegram:1", "x")
    config = place / "config.toml"
    config.write_text(config.read_text() + 'counter = "cl100k_base"\n')

    ran = invoke(*ONCE)

    assert ran.code == 78
    assert "cl100k_base" in ran.err
    assert invoke(*ONCE, "--config", write_low(place)).json["compacted"] == 1


def write_low(place: Path) -> str:
    """The same configuration with the built-in counter."""
    text = (place / "config.toml").read_text().replace('counter = "cl100k_base"\n', "")
    (place / "low.toml").write_text(text)
    return "low.toml"


@freeze_time(LATER)
def test_what_the_user_says_after_messages_went_missing_counts(place: Path, invoke: Invoke) -> None:
    """A stamp that counts more messages than there are hides nothing that was said since."""
    path = write_session(place / "sessions", "telegram:1", "x")
    invoke(*ONCE)
    path.write_bytes(b"\n".join(path.read_bytes().split(b"\n")[:-5]) + b"\n")
    add_messages(path, *filler(1, "2026-12-01", "later"))

    assert invoke(*ONCE).session("telegram:1")["reason"] != "covered"


@freeze_time(LATER)
def test_the_longest_names_are_no_obstacle(place: Path, invoke: Invoke) -> None:
    """A session whose file name has 255 bytes is compacted like any other."""
    path = write_session(place / "sessions", "telegram:" + "x" * 177, "x")
    assert len(path.name) == 254

    assert invoke(*ONCE).json["compacted"] == 1


@freeze_time(LATER)
def test_a_hidden_folder_that_is_a_link_is_refused(place: Path, invoke: Invoke) -> None:
    """Originals never end up elsewhere."""
    write_session(place / "sessions", "telegram:1", "x")
    (place / "elsewhere").mkdir()
    (place / "sessions" / ".compactor").symlink_to(place / "elsewhere")

    ran = invoke(*ONCE)

    assert ran.code == 69
    assert ".compactor" in ran.err
    assert not list((place / "elsewhere").iterdir())


@freeze_time(LATER)
def test_a_session_without_a_word_is_small(place: Path, invoke: Invoke) -> None:
    """Nothing that an entry could tell is foreseen, and is no failure."""
    path = write_session(place / "sessions", "telegram:1", "x")
    header, *_ = path.read_text().split("\n")
    rows = [
        {"role": role, "content": "… " * 400, "timestamp": "2026-11-01T10:00:00"}
        for _ in range(12)
        for role in ("user", "assistant")
    ]
    path.write_text("\n".join([header, *map(json.dumps, rows), ""]))

    assert invoke(*ONCE).session("telegram:1")["reason"] == "small"


SURROUNDINGS: dict[str, dict[str, Any]] = {
    "a terminal that can't show the text": {"env": {"PYTHONIOENCODING": "ascii"}},
    "a plain locale": {"env": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}},
    "a zone that is a folder": {"env": {"TZ": "/etc"}, "code": 78},
    "a full disk to print on": {"stdout": "/dev/full", "code": 1},
    "a configuration with a giant number": {
        "config": f"[keep]\nmessages = {'9' * 5000}",
        "code": 78,
    },
    "a configuration nested too deep": {"config": f"x = {'[' * 3000}", "code": 78},
    "a store with too long a name": {"args": ["--store", f"jsonl:{'x' * 300}"], "code": 69},
    "a state folder of nobody": {"config": '[state]\ndir = "~nosuchuser/x"', "code": 78},
    "a state folder with a long name": {"config": f'[state]\ndir = "{"x" * 300}"'},
}


@pytest.mark.parametrize("case", SURROUNDINGS.values(), ids=SURROUNDINGS)
def test_no_surrounding_brings_a_surprise(case: dict[str, Any], place: Path) -> None:
    """Each ends with a code of its own and a sentence, or works."""
    write_session(place / "sessions", "telegram:ünï", "grüße, 世界")
    if "config" in case:
        (place / "config.toml").write_text(case["config"])
    with Path(case.get("stdout", place / "printed")).open("w") as printed:
        ran = subprocess.run(
            [sys.executable, "-m", "compactor", "scan", *case.get("args", [])],
            cwd=place,
            env=dict(os.environ) | case.get("env", {}),  # noqa: TID251 - a child needs one
            stdout=printed,
            stderr=subprocess.PIPE,
            check=False,
            timeout=100,
        )
    assert ran.returncode == case.get("code", 0), ran.stderr
    if "stdout" not in case:
        assert b"Traceback" not in ran.stderr
        assert b"File " not in ran.stderr
