"""`compactor check`: each broken set-up has a line of its own, and what it says repairs it."""

from __future__ import annotations

import os
import re
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.end_to_end.checking import (
    Case,
    Line,
    assert_healthy,
    change,
    look,
    obey,
    run_case,
    type_in,
    write_setting,
)
from tests.end_to_end.support import LOW_FLOORS, SAMPLES, Invoke, copy_sessions


def drop_named_line(line: Line, place: Path) -> None:
    """Take the key that the detail names out of the file, or the line that it counts."""
    file = place / "config.toml"
    rows = file.read_text().splitlines()
    counted = re.search(r"at line (\d+)", line.detail)
    named = re.search(r"^\w+\.(\w+): ", line.detail, re.MULTILINE)
    if counted:
        del rows[int(counted[1]) - 1]
    else:
        assert named, line.detail
        rows = [row for row in rows if not row.startswith(named[1])]
    file.write_text("\n".join([*rows, ""]))


def set_what_is_allowed(line: Line, place: Path) -> None:
    """Set the first value that the detail allows."""
    allowed = re.search(r"(\w+)\.(\w+): input should be '(\w+)'", line.detail)
    assert allowed, line.detail
    write_setting(place / "config.toml", allowed[1], allowed[2], f'"{allowed[3]}"')


def lose_sessions(place: Path) -> None:
    """The folder is away."""
    (place / "sessions").rename(place / "elsewhere")


def create_and_fill(line: Line, place: Path) -> None:
    """Make the folder, and let the agent begin to write there."""
    line.run_command()
    copy_sessions(SAMPLES, place / "sessions")


def name_the_folder(line: Line, place: Path) -> None:
    """Set the key that the remedy names to where the sessions are."""
    assert "[store] url" in line.remedy
    write_setting(place / "config.toml", "store", "url", '"jsonl:sessions"')


def link_a_session(place: Path) -> None:
    """A session file that is none."""
    (place / "sessions" / "YmFkOmxpbms.jsonl").symlink_to(place / "config.toml")


def write_journal(data: bytes) -> Callable[[Path], None]:
    """Something else is in the journal's place."""

    def break_it(place: Path) -> None:
        (place / "state").mkdir(mode=0o700)
        (place / "state" / "journal.sqlite3").write_bytes(data)

    return break_it


def age_journal(place: Path) -> None:
    """A later release was here."""
    write_journal(b"")(place)
    db = sqlite3.connect(place / "state" / "journal.sqlite3")
    db.execute("PRAGMA user_version = 99")
    db.close()


def damage_journal(place: Path) -> None:
    """A page in the middle is overwritten; the file can still be opened."""
    write_journal(b"")(place)
    file = place / "state" / "journal.sqlite3"
    db = sqlite3.connect(file)
    db.execute("CREATE TABLE t (x TEXT)")
    db.executemany("INSERT INTO t VALUES (?)", [("x" * 3000,)] * 40)
    db.execute("PRAGMA user_version = 2")
    db.commit()
    db.close()
    with file.open("r+b") as pages:
        pages.seek(4096 + 8)
        pages.write(b"\xff" * 64)


def make_folder_of_journal(place: Path) -> None:
    """A folder has the journal's name."""
    (place / "state" / "journal.sqlite3").mkdir(parents=True)
    (place / "state").chmod(0o700)


def put_file_for_state(place: Path) -> None:
    """A file has the state folder's name."""
    (place / "state").write_text("in the way")
    (place / "state.aside").write_text("so was this once")


CASES = [
    Case(
        "an unknown key",
        change("[keep]", "[keep]\nmesages = 3"),
        "configuration",
        "fail",
        78,
        "keep.mesages: unknown key; expected one of messages",
        drop_named_line,
    ),
    Case(
        "a value that is not allowed",
        change('"digest"', '"gpt"'),
        "configuration",
        "fail",
        78,
        "summary.engine",
        set_what_is_allowed,
    ),
    Case(
        "no TOML",
        change("[keep]", "= nonsense\n[keep]"),
        "configuration",
        "fail",
        78,
        "is no TOML",
        drop_named_line,
    ),
    Case(
        "the home of nobody",
        change("[keep]", '[state]\ndir = "~nobody-is-there/x"\n[keep]'),
        "configuration",
        "fail",
        78,
        "state.dir",
        drop_named_line,
    ),
    Case(
        "no folder", lose_sessions, "store", "fail", 69, "there is no such folder", create_and_fill
    ),
    Case(
        "no such kind of store",
        change("jsonl:sessions", "redis:x"),
        "store",
        "fail",
        78,
        "expected jsonl:DIR",
        name_the_folder,
    ),
    Case(
        "a file for a folder",
        change("jsonl:sessions", "jsonl:config.toml"),
        "store",
        "fail",
        69,
        "is no folder",
        name_the_folder,
    ),
    Case(
        "a glob of nothing",
        change("jsonl:sessions", "jsonl:none*"),
        "store",
        "fail",
        69,
        "there is no such folder",
        name_the_folder,
    ),
    Case(
        "a folder without sessions",
        change("jsonl:sessions", "jsonl:."),
        "store",
        "warn",
        0,
        "0 sessions: is this the right folder?",
        name_the_folder,
    ),
    Case(
        "a link for a session", link_a_session, "store", "warn", 0, "1 of them unreadable", type_in
    ),
    Case(
        "every TTL off",
        change('ttl = "1s"', 'ttl = "off"'),
        "ttl",
        "warn",
        0,
        "no session is ever compacted",
        obey,
    ),
    Case(
        "a file for the state",
        put_file_for_state,
        "journal",
        "fail",
        78,
        "it is no folder",
        type_in,
    ),
    Case(
        "a folder for the journal",
        make_folder_of_journal,
        "journal",
        "fail",
        78,
        "it is no file",
        type_in,
    ),
    Case(
        "no journal",
        write_journal(b"no database" * 99),
        "journal",
        "fail",
        78,
        "file is not a database",
        type_in,
    ),
    Case("a journal of a later release", age_journal, "journal", "fail", 78, "version 99", type_in),
    Case("a damaged journal", damage_journal, "journal", "fail", 78, "is damaged", type_in),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_broken_is_told_and_what_is_told_repairs_it(
    case: Case, healthy: Path, invoke: Invoke
) -> None:
    """The line, the exit code, the words; then the remedy to the letter, and all is well."""
    run_case(case, healthy, invoke)


def test_a_missing_vocabulary_is_told(
    healthy: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is fetched over the network."""
    monkeypatch.setattr(tempfile, "tempdir", str(healthy))
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        monkeypatch.delenv(variable, raising=False)
    write_setting(healthy / "config.toml", "summary", "counter", '"cl100k_base"')
    code, lines = look(invoke)
    assert (code, lines["tokenizer"].state) == (78, "fail")
    obey(lines["tokenizer"], healthy)
    assert_healthy(invoke)


def test_a_file_that_is_not_there_is_a_line_too(
    healthy: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever named it, it is created or another one is named."""
    (healthy / "config.toml").rename(healthy / "other.toml")
    monkeypatch.setenv("COMPACTOR_CONFIG", "missing.toml")
    code, lines = look(invoke)
    assert (code, lines["configuration"].state) == (78, "fail")
    assert "name another file with --config" in lines["configuration"].remedy
    assert look(invoke, "--config", "other.toml")[0] == 0
    (healthy / "missing.toml").write_bytes((healthy / "other.toml").read_bytes())
    assert_healthy(invoke)


def test_a_current_folder_that_is_gone_is_the_one_line(
    healthy: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing else has a place then."""
    gone = healthy / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    code, lines = look(invoke)
    assert (code, list(lines)) == (78, ["configuration"])
    assert lines["configuration"].remedy == "change to another one"
    os.chdir(healthy)
    assert_healthy(invoke)


def test_what_does_not_depend_on_a_faulty_section_is_looked_at(
    healthy: Path, invoke: Invoke
) -> None:
    """Every fault is a part of one line, and each line that needs them says so."""
    file = healthy / "config.toml"
    file.write_text(file.read_text() + '[llm]\ntimeout = 3\nmodle = "x"\n')
    code, lines = look(invoke)
    assert code == 78
    assert re.findall(r"llm\.\w+", lines["configuration"].detail) == ["llm.timeout", "llm.modle"]
    unseen = {name for name, line in lines.items() if line.detail.startswith("not looked at")}
    assert unseen == {"permissions", "window", "endpoint"}
    assert "the line 'configuration'" in lines["endpoint"].remedy
    assert lines["store"].state == "ok"


def test_without_any_section_a_store_of_the_command_line_is_looked_at(
    healthy: Path, invoke: Invoke
) -> None:
    """The sessions are named there."""
    (healthy / "config.toml").write_text("= nonsense")
    assert look(invoke)[1]["store"].detail.startswith("not looked at")
    assert look(invoke, "--store", "jsonl:sessions")[1]["store"].state == "ok"


def test_each_value_is_told_with_its_origin(healthy: Path, invoke: Invoke) -> None:
    """From the file, from the command line, or the default; never what may be a token."""
    file = healthy / "config.toml"
    file.write_text(f'{LOW_FLOORS}[llm]\nextra_headers = {{ "X-Token" = "s3cret" }}\n')
    ran = invoke("check", "--json", "--store", "jsonl:sessions")
    values = ran.json["configuration"]
    assert values["store.url"] == {"value": "jsonl:sessions", "origin": "--store"}
    assert values["idle.ttl"] == {"value": "1s", "origin": "config.toml"}
    assert values["llm.timeout"] == {"value": "1m", "origin": "default"}
    assert values["llm.extra_headers"]["value"] == {"X-Token": "(not shown)"}
    told, more = invoke("check"), invoke("check", "--verbose")
    assert "config.toml sets idle.ttl, idle.min_tokens" in told.out
    assert "keep.tokens" not in told.out
    assert "keep.tokens = 4000  (default)" in more.out
    assert "s3cret" not in ran.out + told.out + more.out + more.err


def test_a_check_changes_no_byte(healthy: Path, invoke: Invoke) -> None:
    """No journal is begun, no folder made."""
    before = sorted(healthy.rglob("*"))
    assert_healthy(invoke)
    assert sorted(healthy.rglob("*")) == before
