"""Thousands of damaged session files through the whole pipeline: no message line is ever lost."""

from __future__ import annotations

import os
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from compactor.assembly import join_parts
from compactor.config import check_config
from compactor.errors import FailureKind
from compactor.log import start_log
from compactor.model import Outcome, PassReport, Reason, SessionReport
from compactor.parts import PassOptions
from compactor.pipeline import run_pass
from compactor.sqlite_journal import SqliteJournal
from compactor.undo import undo_compaction
from session.errors import UnreadableSessionError
from session.jsonl_store import JsonlStore
from session.store import SessionEntry
from tests.end_to_end.damage import write_damaged
from tests.end_to_end.support import record_type

SEED = 20261130
BATCH = 250  # files of one folder
NOW = datetime(2026, 12, 3, 12, tzinfo=UTC)
_MEMORY = Path("/dev/shm")  # noqa: S108 - a disk would be asked to sync each time
SIZES = [60, pytest.param(5_000, marks=[pytest.mark.soak, pytest.mark.timeout(3000)])]
_CONFIG = """\
[store]
timezone = "UTC"
[idle]
ttl = "1s"
min_tokens = 1
min_new_tokens = 1
exclude = []
[keep]
messages = {keep}
tokens = 300
[summary]
engine = "digest"
max_tokens = 400
min_gain = 0.0
"""


@dataclass(frozen=True)
class Bench:
    """A folder of damaged files, and a worker of our own over it."""

    folder: Path
    store: JsonlStore
    journal: SqliteJournal
    keep: int

    def make_pass(self, *, hours: int = 0) -> PassReport:
        """Make one pass, so many hours later than the first."""
        config = check_config(tomllib.loads(_CONFIG.format(keep=self.keep)), "fuzz")
        parts = join_parts(config, self.store, self.journal)
        parts = replace(parts, clock=lambda: NOW + timedelta(hours=hours))
        with self.store.exclusive():
            report = run_pass(parts, PassOptions())
        assert not report.halted
        return report

    def entries(self) -> dict[str, SessionEntry]:
        """The entries by the names of their files; two may say that they are the same session."""
        return {entry.name: entry for entry in self.store.list_sessions()}

    def states(self) -> dict[str, tuple[bytes, tuple[int, ...]]]:
        """Every session file: its bytes, and what tells whether it was touched."""
        return {
            path.name: (path.read_bytes(), touched(path.stat()))
            for path in self.folder.glob("*.jsonl")
        }


@contextmanager
def a_folder(tmp_path: Path) -> Iterator[Path]:
    """Where the files are: in memory, if there is such a place."""
    where = _MEMORY if _MEMORY.is_dir() else tmp_path
    with tempfile.TemporaryDirectory(dir=where, prefix="fuzz-") as made:
        yield Path(made)


@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize("keep", [4, 0])
def test_no_damage_costs_a_message(keep: int, count: int, tmp_path: Path) -> None:
    """Each file is compacted with every line of it, or left alone with a reason; and back again."""
    start_log("ERROR", "text")
    figures: Counter[str] = Counter()
    for batch in range(0, count, BATCH):
        with a_folder(tmp_path) as folder, closing(SqliteJournal(folder / "state")) as journal:
            write_damaged(folder, min(BATCH, count - batch), SEED + batch + keep)
            store = JsonlStore([folder], agent_stopped=True)
            figures += run_through(Bench(folder, store, journal, keep))
    print(f"keep {keep}:", dict(sorted(figures.items())))  # noqa: T201 - the figures of the soak
    assert figures["files"] == count
    assert figures["compacted"] > count / 5


def run_through(bench: Bench) -> Counter[str]:
    """Compact, look again, take it all back and look a third time; return what came of it."""
    before, entries = bench.states(), bench.entries()
    projections = {
        name: bench.store.load(entry).projection
        for name, entry in entries.items()
        if is_readable(bench, entry)
    }

    first = bench.make_pass()

    after = bench.states()
    assert after.keys() == before.keys()
    keys = {report.ref.key for report in first.sessions if report.outcome is Outcome.COMPACTED}
    done = sorted(name for name in projections if entries[name].ref.key in keys)
    assert len(done) == len(keys)
    for name in done:
        assert_same_lines(before[name][0], after[name][0])
    for name in before.keys() - set(done):
        assert after[name] == before[name], name
    for report in first.sessions:
        assert report.outcome is Outcome.COMPACTED or is_told(report), report

    second = bench.make_pass(hours=1)

    again = [r for r in second.sessions if r.outcome in {Outcome.COMPACTED, Outcome.REAPPLIED}]
    assert not again
    assert bench.states() == after

    for number, name in enumerate(done):
        everything = bool(number % 2)
        undone = undo_compaction(
            bench.store, bench.journal, entries[name], everything=everything, now=NOW
        )
        assert undone.undone, undone
        now, was = bench.store.load(entries[name]).projection, projections[name]
        expected = (0, None) if everything else (was.covers, was.entry)
        assert (now.covers, now.entry) == expected, name
        assert_same_lines(before[name][0], (bench.folder / name).read_bytes())

    third = bench.make_pass(hours=2)

    reasons = Counter(report.reason for report in third.sessions)
    assert reasons[Reason.HELD] == len(done), reasons
    return Counter(
        ["files"] * len(before)
        + ["unlisted"] * (len(before) - len(entries))
        + [
            "compacted" if r.outcome is Outcome.COMPACTED else f"{r.outcome}: {r.reason}"
            for r in first.sessions
        ]
    )


def touched(status: os.stat_result) -> tuple[int, ...]:
    """What changes when anybody writes to a file or to what stands about it."""
    names = ("st_ino", "st_mode", "st_uid", "st_gid", "st_mtime_ns", "st_ctime_ns")
    return tuple(getattr(status, name) for name in names)


def is_readable(bench: Bench, entry: SessionEntry) -> bool:
    """Whether a session can be loaded."""
    try:
        bench.store.load(entry)
    except UnreadableSessionError:
        return False
    return True


def is_told(report: SessionReport) -> bool:
    """Whether a session that was left alone has a reason, and not one that is a fault of ours."""
    if report.outcome is Outcome.SKIPPED:
        return report.reason in set(Reason) and bool(report.detail)
    return report.outcome is Outcome.FAILED and report.reason == FailureKind.BAD_SUMMARY


def assert_same_lines(before: bytes, after: bytes) -> None:
    """One metadata line is another, provider states are gone, and all else is the same bytes."""
    old, new = (
        [line for line in data.split(b"\n") if record_type(line) != "provider_state"]
        for data in (before, after)
    )
    changed = [pair for pair in zip(old, new, strict=True) if pair[0] != pair[1]]
    assert len(changed) == 1
    assert {record_type(line) for line in changed[0]} == {"metadata"}
