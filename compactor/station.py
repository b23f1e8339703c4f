"""What a worker works with while one configuration is in force: its sessions, held, and its key."""

from __future__ import annotations

from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from compactor.api_key import read_api_key
from compactor.assembly import join_parts
from compactor.pass_log import PassOutcome, PassRecord
from compactor.pipeline import run_pass
from compactor.report import count_pass
from compactor.setup import Setup, read_clock
from session.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from compactor.model import PassReport
    from compactor.parts import PassOptions
    from compactor.ways import Way
    from session.store import SessionStore


@dataclass(frozen=True, slots=True)
class Station:
    """A configuration that was found good, and what it opens."""

    setup: Setup
    key: str
    store: SessionStore
    _held: ExitStack = field(default_factory=ExitStack)

    @classmethod
    def open(cls, setup: Setup, *, asks: bool = True, agent_stopped: bool = False) -> Station:
        """Read the key, if the endpoint will be asked, and open the sessions.

        Raises `ConfigError` and `StoreError`.
        """
        asks = asks and setup.config.summary.engine == "openai"
        key = read_api_key(setup.config.llm, setup.file, setup.folder) if asks else ""
        return cls(setup, key, setup.open_store(agent_stopped=agent_stopped))

    def hold(self) -> None:
        """Hold the sessions as their one worker; raises `StoreError`."""
        self._held.enter_context(self.store.exclusive())

    def release(self) -> None:
        """Let go of the sessions."""
        self._held.close()

    def hold_again(self) -> None:
        """Hold the sessions once more, after `release`.

        Where another worker was faster, each pass says so, and tries again.
        """
        with suppress(StoreError):
            self.hold()

    def check(self) -> None:
        """Raise `ConfigError` and `JournalError` where a pass could not be made."""
        self.setup.config.idle_policy()
        self.setup.open_journal().close()

    def note(self, record: PassRecord) -> None:
        """Remember a pass that came to nothing; raises `JournalError`."""
        with closing(self.setup.open_journal()) as journal:
            journal.note_pass(record)

    def make_pass(
        self,
        options: PassOptions,
        command: str,
        ways: dict[str, Way],
        *,
        counts: Mapping[str, int] | None = None,
    ) -> PassReport:
        """Make one pass and note it, with more `counts`; what it opens is closed when it ends."""
        config = self.setup.config
        with ExitStack() as held:
            journal = self.setup.open_journal(read_only=options.dry_run)
            held.callback(journal.close)
            parts = join_parts(config, self.store, journal, key=self.key)
            parts = replace(parts, ways=ways, idle=replace(parts.idle, leap=options.leap))
            held.callback(parts.engine.close)
            began_at = read_clock()
            report = run_pass(parts, options)
            if not options.dry_run:
                record = record_pass(report, began_at, command)
                journal.note_pass(replace(record, counts={**record.counts, **(counts or {})}))
            return report


def record_pass(report: PassReport, began_at: datetime, command: str) -> PassRecord:
    """Return what is remembered of a pass."""
    outcome, problem = PassOutcome.DONE, report.halted
    if report.faults:
        problem = "; ".join(filter(None, (problem, *map(str, report.faults))))
    if report.halted:
        outcome = PassOutcome.HALTED
    if report.stopped_by is not None:
        outcome, problem = PassOutcome.STOPPED, str(report.stopped_by)
    return PassRecord(began_at, report.seconds, command, outcome, problem, count_pass(report))
