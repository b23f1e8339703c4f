"""The demonstration: real sample sessions, compacted in a throw-away folder, before and after."""

from __future__ import annotations

import json
import os
import tempfile
import tomllib
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.rule import Rule
from rich.text import Text

from compactor.assembly import join_parts
from compactor.config import check_config
from compactor.journal import MemoryJournal
from compactor.log import start_log
from compactor.parts import PassOptions
from compactor.pipeline import run_pass
from compactor.render import make_console, print_messages, print_pass
from compactor.report import describe_pass, describe_stored
from compactor.scan import find_entry
from compactor.setup import read_clock
from session.location import open_store

if TYPE_CHECKING:
    from rich.console import Console

    from session.store import StoredSession

SAMPLES = Path(__file__).parent / "samples"
SHOWN = "telegram:airline-week"
RETURN = "Hi, I am back. Which of my trips still has something open?"
_AWAY = timedelta(hours=3)
_CONFIG = """\
[store]
url = "jsonl:."
timezone = "UTC"
[idle]
ttl = "10m"          # everything else is the shipped default:
min_tokens = 4000    # removable tokens below which a session is left alone
[keep]
messages = 8
tokens = 4000
[summary]
engine = "digest"
max_tokens = 1200
min_gain = 0.3
"""


def run_demo(*, as_json: bool, target: Path | None) -> int:
    """Set up the samples, compact them, and show what came of it; returns the exit code."""
    now = read_clock()
    start_log("WARNING", "text")  # what happens is shown below
    with ExitStack() as held:
        if target is None:
            folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="compactor-demo-")))
        else:
            folder = target
            folder.mkdir(parents=True, exist_ok=True)
            if any(folder.iterdir()):
                message = f"{str(folder)!r} is not empty: name a new folder"
                raise click.UsageError(message)
        _copy_samples(folder, now)
        return _compact(folder, now, as_json=as_json, stays=target is not None)


def _compact(folder: Path, now: datetime, *, as_json: bool, stays: bool) -> int:
    config = check_config(tomllib.loads(_CONFIG), "demo")
    store = open_store(f"jsonl:{folder}", agent_stopped=True)
    with store.exclusive():
        report = run_pass(join_parts(config, store, MemoryJournal()), PassOptions())
    _say(folder, SHOWN, RETURN, now)
    session = store.load(find_entry(store.list_sessions(), SHOWN))
    if as_json:
        shown = {"pass": describe_pass(report, everything=True)}
        shown["returning"] = describe_stored(session, prompt=True)
        click.echo(json.dumps(shown, indent=2))
        return 0
    console = make_console()
    console.print(Rule(Text("The configuration", style="bold")))
    console.print(Text(_CONFIG))
    console.print(Rule(Text("Before and after", style="bold")))
    print_pass(console, report, report.sessions, now=now)
    console.print()
    _show_return(console, session)
    if stays:
        console.print(Text(f"The sessions are in {folder}; look around with"))
        console.print(Text(f"  compactor show {SHOWN} --store jsonl:{folder}"))
    return 0


def _show_return(console: Console, session: StoredSession) -> None:
    """Print what the model of the returning user sees."""
    title = f"{session.ref.key}: the user is back, and this is what the model sees"
    console.print(Rule(Text(title, style="bold")))
    history = session.get_history()
    print_messages(console, history, limit=5000)
    told = f"{len(history)} of {len(session.messages)} messages are sent"
    console.print(Text(f"{told}; the file still holds all of them, byte for byte.", style="bold"))


def _copy_samples(folder: Path, now: datetime) -> None:
    for path in sorted(SAMPLES.glob("*.jsonl")):
        records = [json.loads(line) for line in path.read_bytes().splitlines()]
        times = [record["timestamp"] for record in records if "timestamp" in record]
        shift = now.replace(tzinfo=None) - _AWAY - max(map(datetime.fromisoformat, times))
        copy = folder / path.name
        lines = (json.dumps(_moved(record, shift), ensure_ascii=False) for record in records)
        copy.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        spoken = (now - _AWAY).timestamp()
        os.utime(copy, (spoken, spoken))


def _moved(record: dict[str, Any], shift: timedelta) -> dict[str, Any]:
    """Return a record of another day."""
    moved = dict(record)
    for name in ("timestamp", "created_at", "updated_at"):
        if name in record:
            then = datetime.fromisoformat(record[name]) + shift
            moved[name] = then.isoformat(timespec="seconds")
    return moved


def _say(folder: Path, key: str, text: str, now: datetime) -> None:
    """Append what the returning user says, as an agent would."""
    store = open_store(f"jsonl:{folder}")
    entry = find_entry(store.list_sessions(), key)
    message = {
        "role": "user",
        "content": text,
        "timestamp": now.replace(tzinfo=None).isoformat(timespec="seconds"),
    }
    with (folder / entry.name).open("a", encoding="utf-8") as file:
        file.write(json.dumps(message) + "\n")
