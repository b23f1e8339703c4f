"""What the commands say when something is wrong, what they never touch, and how fast they start."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from freezegun import freeze_time

from tests.end_to_end.support import DATA, SAMPLES, Invoke, copy_sessions

LATER = "2026-12-03 12:00:00"
NOBODY = 65534
needs_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can play two users"
)


def test_every_fault_of_a_configuration_is_named_at_once(place: Path, invoke: Invoke) -> None:
    """Exit 78, each key with what would be right, and nothing was started."""
    (place / "config.toml").write_text(
        '[store]\nurl = 3\n[idle]\nttl = "soon"\nmin_token = 5\n[keep]\nmessages = -1\n[lgo]\n'
    )

    ran = invoke("once")

    assert ran.code == 78
    for part in ("store.url", "idle.ttl", "idle.min_token", "keep.messages", "lgo", "min_tokens"):
        assert part in ran.err
    assert sorted(path.name for path in place.iterdir()) == ["config.toml", "sessions"]


def test_a_missing_store_is_said_with_the_way_out(place: Path, invoke: Invoke) -> None:
    """Exit 69, one line that names the folder."""
    ran = invoke("once", "--store", "jsonl:nowhere")

    assert (ran.code, ran.out) == (69, "")
    assert str(place / "nowhere") in ran.err
    assert "create it" in ran.err
    assert ran.err.count("\n") == 1


def test_an_unknown_kind_of_store_is_a_fault_of_the_configuration(
    place: Path, invoke: Invoke
) -> None:
    """Exit 78, with the form that is expected."""
    ran = invoke("scan", "--store", "redis:x")

    assert ran.code == 78
    assert "jsonl:DIR" in ran.err


@needs_root
def test_the_files_of_another_user_are_refused(place: Path, invoke: Invoke) -> None:
    """Exit 78, naming file, owner and remedy; no byte is written."""
    copy_sessions(SAMPLES, place / "sessions")
    name = "dGVsZWdyYW06YWlybGluZS13ZWVr.jsonl"
    os.chown(place / "sessions" / name, NOBODY, NOBODY)

    ran = invoke("once")

    assert ran.code == 78
    assert name in ran.err
    assert "run it as" in ran.err
    assert not (place / "sessions" / ".compactor").exists()


@needs_root
def test_root_becomes_the_owner_and_leaves_nothing_of_its_own(tmp_path: Path) -> None:
    """Run by root over a user's folder, every file afterwards belongs to that user."""
    # A folder that the user can reach: pytest's own are root's alone.
    with_access = Path(subprocess.check_output(["mktemp", "-d"], text=True).strip())
    with_access.chmod(0o755)
    sessions = with_access / "sessions"
    sessions.mkdir()
    copy_sessions(SAMPLES, sessions)
    for path in [sessions, *sessions.iterdir()]:
        os.chown(path, NOBODY, NOBODY)
    interpreter = "/usr/bin/env"
    ran = subprocess.run(
        [
            interpreter,
            sys.executable,
            "-m",
            "compactor",
            "once",
            "--agent-stopped",
            "--engine=digest",
            "--json",
            "--store",
            f"jsonl:{sessions}",
        ],
        cwd=with_access,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    owners = {path.stat().st_uid for path in sessions.rglob("*")}
    state = (with_access / "state").stat().st_uid
    subprocess.run(["rm", "-rf", str(with_access)], check=True)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["compacted"] == 4
    assert (owners, state) == ({NOBODY}, NOBODY)
    assert tmp_path.exists()


@pytest.mark.parametrize("arguments", [("scan",), ("once", "--dry-run")], ids=" ".join)
@freeze_time(LATER)
def test_a_dry_run_changes_no_byte(arguments: tuple[str, ...], place: Path, invoke: Invoke) -> None:
    """Neither in the store nor beside it."""
    copy_sessions(SAMPLES, place / "sessions")
    before = snapshot(place)

    ran = invoke(*arguments, "--json")

    assert ran.json["would_compact"] >= 12
    assert ran.json["tokens_before"] > ran.json["tokens_after"] > 0
    assert snapshot(place) == before


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file below a folder, with content and time."""
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("arguments", [("--help",), ("scan",)], ids=" ".join)
def test_a_start_imports_nothing_heavy(arguments: tuple[str, ...], place: Path) -> None:
    """`--help`, and `scan` with nothing due, import neither a model's SDK nor a tokenizer."""
    copy_sessions(DATA / "v0.3.5" / "ok", place / "sessions")
    (place / "config.toml").write_text('[idle]\nttl = "300d"\n[store]\ntimezone = "UTC"\n')
    code = (
        "import sys, atexit, compactor.cli as c\n"
        "atexit.register(lambda: print(sorted({m.split('.')[0] for m in sys.modules})))\n"
        f"c.main({list(arguments)!r})"
    )

    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=place, capture_output=True, text=True, check=True
    )

    loaded = ran.stdout.splitlines()[-1]
    assert "'compactor'" in loaded
    for heavy in ("openai", "sqlalchemy", "tiktoken"):
        assert f"'{heavy}'" not in loaded


HOSTILE = {
    "telegram:[/red]x": "[bold]not bold[/bold]",
    "telegram:\x1b[2J\x1b]0;owned\x07": "\x1b[31mred\x1b[0m \u202etxt.exe",
    "../../etc/passwd": "out of here",
    "telegram:a\nb": "two\nlines",
}


@freeze_time(LATER)
def test_hostile_keys_and_contents_are_shown_escaped(place: Path, invoke: Invoke) -> None:
    """No markup counts, no control character arrives, and no path leaves the folder."""
    folder = place / "sessions"
    for key, content in HOSTILE.items():
        write_session(folder, key, content)
    outside = snapshot(place.parent)

    ran = invoke("once", "--agent-stopped", "--all")

    assert ran.code == 0
    for said in (ran.out, ran.err):
        assert "\x1b" not in said
        assert "\x07" not in said
        assert "\u202e" not in said
    assert "telegram:[/red]x" in ran.out
    for key in HOSTILE:
        for arguments in (("show", key), ("show", key, "--prompt")):
            shown = invoke(*arguments)
            assert shown.code == 0
            assert "\x1b" not in shown.out
            assert "\u202e" not in shown.out
    changed = {
        name for name, content in snapshot(place.parent).items() if outside.get(name) != content
    }
    allowed = f"{place.name}/sessions/", f"{place.name}/state/"
    assert all(name.startswith(allowed) for name in changed)


def write_session(folder: Path, key: str, content: str) -> Path:
    """A session worth compacting, under nanobot's name for its key."""
    stem = base64.urlsafe_b64encode(key.encode()).rstrip(b"=").decode()
    at = "2026-11-01T10:00:00"
    header = {"_type": "metadata", "key": key, "created_at": at, "updated_at": at, "metadata": {}}
    rows = [
        {"role": role, "content": f"{content} {n} " + "and so on " * 40, "timestamp": at}
        for n in range(12)
        for role in ("user", "assistant")
    ]
    path = folder / f"{stem}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in [header, *rows]))
    return path


@freeze_time(LATER)
def test_the_stem_decides_where_it_and_the_header_disagree(place: Path, invoke: Invoke) -> None:
    """A file whose name spells one key and whose header another is listed under its name's."""
    path = write_session(place / "sessions", "telegram:1", "x")
    path.write_text(path.read_text().replace('"telegram:1"', '"telegram:2"'))

    ran = invoke("scan", "--json", "--all")

    assert [row["key"] for row in ran.json["sessions"]] == ["telegram:1"]


def test_a_key_that_is_not_there_exits_2_with_candidates(place: Path, invoke: Invoke) -> None:
    """A slip of the finger is answered with what was probably meant."""
    copy_sessions(SAMPLES, place / "sessions")

    ran = invoke("show", "telegram:airline-weak")

    assert ran.code == 2
    assert "'telegram:airline-week'" in ran.err


def test_a_key_in_several_folders_needs_a_folder(place: Path, invoke: Invoke) -> None:
    """Exit 2 with the folders; `--folder` decides."""
    for name in ("one", "two"):
        (place / name).mkdir()
        copy_sessions(SAMPLES, place / name)
    store = ("--store", "jsonl:[ot]*[eo]")

    assert "'one', 'two'" in invoke("show", "telegram:airline-week", *store).err
    assert invoke("show", "telegram:airline-week", *store).code == 2
    shown = invoke("show", "telegram:airline-week", *store, "--folder", "two", "--json")
    assert shown.json["folder"] == "two"


def test_a_second_worker_is_turned_away(place: Path, invoke: Invoke, spawn: Invoke) -> None:
    """Exit 75 while another process holds the folder, and none once it is gone."""
    copy_sessions(SAMPLES, place / "sessions")
    code = (
        "import sys; from session import open_store\n"
        "with open_store('jsonl:sessions').exclusive():\n"
        "    print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=place, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        refused = invoke("once")
        looked = invoke("scan", "--json")
        holder.kill()
    assert (refused.code, looked.code) == (75, 0)
    assert "another worker" in refused.err
    assert spawn("once", "--agent-stopped", cwd=place).code == 0


def test_unreadable_sessions_do_not_stop_the_others(place: Path, invoke: Invoke) -> None:
    """Each is named with its reason, and the rest is compacted."""
    folder = place / "sessions"
    copy_sessions(SAMPLES, folder)
    (folder / "YmFkOmVtcHR5.jsonl").write_bytes(b"")
    (folder / "YmFkOmxpbms.jsonl").symlink_to(place / "config.toml")
    (folder / "YmFkOmRpcg.jsonl").mkdir()

    ran = invoke("once", "--agent-stopped", "--json", "--all")

    assert ran.code == 0
    assert ran.json["compacted"] >= 12
    assert ran.json["skipped"]["unreadable"] == 3
    assert "symbolic link" in ran.session("bad:link")["detail"]
    assert ran.session("bad:empty")["detail"] == "empty"


def test_progress_and_log_never_mix_with_the_document(place: Path, spawn: Invoke) -> None:
    """With `--json` standard output is one JSON document, whatever else is said."""
    copy_sessions(SAMPLES, place / "sessions")

    ran = spawn("once", "--agent-stopped", "--json", "--verbose", cwd=place)

    assert ran.json["compacted"] >= 12
    assert "session_compacted" in ran.err


def test_messages_are_never_logged(place: Path, spawn: Invoke) -> None:
    """Neither the text log nor the JSON log holds a word of a conversation."""
    write_session(place / "sessions", "telegram:9", "xylophone-secret-word")
    config = place / "config.toml"

    for form in ("text", "json"):
        config.write_text(f'{config.read_text()}\n[log]\nformat = "{form}"\nlevel = "DEBUG"\n')
        ran = spawn("once", "--agent-stopped", "--force", cwd=place)
        config.write_text(config.read_text().split("\n[log]")[0])
        assert ran.code == 0
        assert "xylophone" not in ran.err
        assert "xylophone" not in ran.out
