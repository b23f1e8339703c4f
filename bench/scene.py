"""Folders of sessions in the states in which a scan finds them."""

from __future__ import annotations

import tomllib
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Self

from bench.compacting import KEPT_TURNS, Compaction
from bench.corpus import SESSION_BYTES, link_folder, write_folder, write_session
from compactor.assembly import join_parts
from compactor.config import check_config
from compactor.model import Outcome, PassReport, Reason
from compactor.parts import PassOptions
from compactor.pipeline import run_pass
from compactor.setup import read_clock
from compactor.sqlite_journal import SqliteJournal
from session.jsonl_store import JsonlStore

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

TTL = timedelta(hours=1)
# Not by whole quarters of an hour: that would look like the time of another zone.
AWAY = timedelta(hours=5, minutes=7)
# Low floors: sessions of this size would be too small for the shipped ones.
CONFIG = f"""\
[store]
url = "jsonl:active"
[idle]
ttl = "{TTL.seconds}s"
min_tokens = 1
[keep]
tokens = 1000
[summary]
min_gain = 0.0
"""


@dataclass(frozen=True, slots=True)
class Scene:
    """A folder, the journal that belongs to it, and how many sessions of each verdict it has."""

    what: str
    folder: Path
    journal: SqliteJournal
    expected: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def begin(cls, place: Path, name: str, what: str, expected: Mapping[str, int]) -> Self:
        """Begin a scene with a journal that remembers nothing yet."""
        return cls(what, place / name, SqliteJournal(place / f"{name}-state"), expected)

    @property
    def store(self) -> JsonlStore:
        """The folder, opened anew: nothing is known from the scan before."""
        return JsonlStore([self.folder])

    def compact(self, *, kept_turns: int) -> None:
        """Compact every session, and remember it as a pass would have."""
        self.journal._file._db.execute("PRAGMA synchronous = OFF")  # noqa: SLF001 - filling is not measured
        store = self.store
        first = store.load(store.list_sessions()[0])
        for ref, landed in Compaction.digest(first, kept_turns).write_over(store):
            self.journal.note_landed(ref, landed)

    def scan(self) -> PassReport:
        """Make a dry pass."""
        config = check_config(tomllib.loads(CONFIG), "bench")
        parts = join_parts(config, self.store, self.journal)
        return run_pass(parts, PassOptions(dry_run=True))

    def check(self) -> None:
        """Raise `RuntimeError` unless what is measured is what is said."""
        report = self.scan()
        found = Counter(report.skipped)
        found[Reason.DUE] = report.count(Outcome.WOULD_COMPACT)
        if found != Counter(self.expected):
            message = f"{self.what}: expected {dict(self.expected)}, found {dict(found)}"
            raise RuntimeError(message)


@dataclass(frozen=True, slots=True)
class Scenes:
    """The same sessions four times; `kept` and `covered` are what passes have left behind."""

    active: Scene
    kept: Scene
    covered: Scene
    due: Scene

    @classmethod
    def make(cls, place: Path, sessions: int, due: int) -> Self:
        """Write them all, `due` of the sessions idle in the last one."""
        now = read_clock()
        idle = now - AWAY
        active = Scene.begin(place, "active", "none idle", {Reason.ACTIVE: sessions})
        kept = Scene.begin(
            place, "kept", f"all covered but {KEPT_TURNS} turns", {Reason.COVERED: sessions}
        )
        covered = Scene.begin(
            place, "covered", "all covered to the end", {Reason.COVERED: sessions}
        )
        some = Scene.begin(
            place,
            "due",
            f"{due:,} due, the rest active",
            {Reason.ACTIVE: sessions - due, Reason.DUE: due},
        )
        write_folder(active.folder, sessions, now)
        write_folder(kept.folder, sessions, idle)
        link_folder(kept.folder, covered.folder)
        kept.compact(kept_turns=KEPT_TURNS)
        covered.compact(kept_turns=0)
        link_folder(active.folder, some.folder)
        for number in range(due):
            write_session(some.folder, number, SESSION_BYTES, idle)
        return cls(active, kept, covered, some)

    def check(self) -> None:
        """Check each of them; see `Scene.check`."""
        for scene in (self.active, self.kept, self.covered, self.due):
            scene.check()

    def close(self) -> None:
        """Let go of the journals."""
        for scene in (self.active, self.kept, self.covered, self.due):
            scene.journal.close()
