"""What each command does; here the parts are put together, and the clock is read."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from loguru import logger

from compactor.check import (
    State,
    check_endpoint,
    check_store,
    check_ways,
    check_written_over,
    run_checks,
)
from compactor.config import Config, find_config, load_config, read_api_key
from compactor.digest import DigestSummarizer
from compactor.errors import ConfigError
from compactor.identity import become_owner
from compactor.journal import Journal, MemoryJournal
from compactor.log import start_log
from compactor.making import read_making
from compactor.model import Outcome
from compactor.nanobot_signs import read_signs
from compactor.openai_summarizer import OpenAISummarizer
from compactor.parts import Parts, PassOptions
from compactor.pipeline import run_pass
from compactor.render import (
    make_console,
    print_findings,
    print_messages,
    print_pass,
    print_stored,
    progress_on,
    say_unknown,
    stored,
)
from compactor.report import describe_pass, describe_stored
from compactor.scan import find_entry
from compactor.sqlite_journal import FILE_NAME, SqliteJournal
from compactor.tokens import TokenCounter, load_encoding
from compactor.undo import undo_compaction
from compactor.ways import find_way, say_ways
from session.location import open_store

if TYPE_CHECKING:
    from rich.console import Console

    from compactor.llm_client import LlmClient
    from compactor.summarize import Summarizer
    from compactor.ways import Way
    from session.store import SessionStore

FAILED_EXIT = 3
CURRENT_FOLDER = "the current folder"


@dataclass(frozen=True, slots=True)
class Setup:
    """What a command is told: the configuration, what its paths are relative to, how to answer."""

    config: Config
    file: str
    store_folder: Path
    state: Path
    as_json: bool

    @classmethod
    def load(
        cls, config_file: Path | None, url: str | None, *, as_json: bool, verbose: bool
    ) -> Setup:
        """Read the configuration and start the log.

        Paths in the file are relative to it, a URL on the command line to where it was typed.
        """
        file = find_config(config_file)
        config = load_config(file)
        folder = _here() if file is None else _here() / file.parent
        if url is not None:
            section = config.store.model_copy(update={"url": url})
            config = config.model_copy(update={"store": section})
        start_log("DEBUG" if verbose else config.log.level, config.log.format)
        try:
            state = folder / Path(config.state.dir).expanduser()
        except RuntimeError:
            fault = f"state.dir: {config.state.dir!r} names the home of an unknown user"
            raise ConfigError(str(file), (fault,)) from None
        name = "the defaults" if file is None else str(file)
        return cls(config, name, folder if url is None else _here(), state, as_json)

    def open_store(self, *, agent_stopped: bool = False) -> SessionStore:
        """Open the sessions, as their owner."""
        store = open_store(
            self.config.store.url, relative_to=self.store_folder, agent_stopped=agent_stopped
        )
        become_owner(store.places, self.state, load=self._load)
        return store

    def _load(self) -> None:
        self.config.idle_policy()
        load_encoding(self.config.summary.counter)

    def find_ways(self, store: SessionStore, *, agent_stopped: bool = False) -> dict[str, Way]:
        """Return for each folder the way by which its agent will see a compaction."""
        return {
            place: find_way(
                read_signs(Path(place)),
                self.config.idle_policy(),
                keep_messages=self.config.keep.messages,
                agent_stopped=agent_stopped,
            )
            for place in store.places
        }

    def open_journal(self, *, read_only: bool = False) -> Journal:
        """Open the journal; who only reads gets an empty one where there is none yet."""
        if read_only and not os.path.exists(self.state / FILE_NAME):  # noqa: PTH110 - no errors
            return MemoryJournal()
        return SqliteJournal(self.state, read_only=read_only)

    @property
    def console(self) -> Console:
        """Where a person reads; with `--json` nothing else goes to standard output."""
        return make_console(stderr=self.as_json)


def _here() -> Path:
    try:
        return Path.cwd()
    except OSError:
        fault = "it is gone; change to another one"
        raise ConfigError(CURRENT_FOLDER, (fault,)) from None


def read_clock() -> datetime:
    """Return now, in UTC."""
    return datetime.now(UTC)  # noqa: TID251 - the edge, where the clock is read


def join_parts(config: Config, store: SessionStore, journal: Journal, *, key: str = "") -> Parts:
    """Put together what a pass works with; `key` is that of the endpoint."""
    counter = TokenCounter(config.summary.counter)
    digest = DigestSummarizer(counter)
    engine: Summarizer = digest
    if config.summary.engine == "openai":
        engine = OpenAISummarizer(
            config.llm.model,
            lambda: connect(config, key),
            counter,
            context_window=config.llm.context_window,
            reasoning_tokens=config.llm.reasoning_tokens,
            retries=config.llm.retries,
            pause=config.llm.retry_pause,
        )
    return Parts(
        store=store,
        journal=journal,
        engine=engine,
        fallback=digest if config.summary.on_failure == "digest" and engine is not digest else None,
        counter=counter,
        idle=config.idle_policy(),
        plan=config.plan_policy(),
        calls=config.call_limits(),
        limits=config.pass_policy(),
        clock=read_clock,
    )


def connect(config: Config, key: str) -> LlmClient:
    """Build the client of the configured endpoint; the SDK is imported only here."""
    from compactor.llm_client import LlmClient, LlmSettings  # noqa: PLC0415 - it takes a second

    llm = config.llm
    settings = LlmSettings(
        base_url=llm.base_url,
        model=llm.model,
        api_key=key,
        timeout=llm.timeout,
        max_tokens_parameter=llm.max_tokens_parameter,
        reasoning_tokens=llm.reasoning_tokens,
        reasoning_effort=llm.reasoning_effort,
        temperature=llm.temperature,
        extra_headers=llm.extra_headers,
        extra_body=llm.extra_body,
        environment_proxy=llm.environment_proxy,
    )
    return LlmClient(settings, read_clock)


def once(
    setup: Setup,
    *,
    folder: str | None,
    everything: bool,
    dry_run: bool,
    keys: tuple[str, ...],
    force: bool,
    engine: str | None,
    agent_stopped: bool,
) -> int:
    """Make one pass and print what came of it; returns the exit code."""
    if engine is not None:
        summary = setup.config.summary.model_copy(update={"engine": engine})
        setup = replace(setup, config=setup.config.model_copy(update={"summary": summary}))
    options = PassOptions(keys=keys, folder=folder, force=force, dry_run=dry_run)
    return _pass(setup, options, everything=everything, agent_stopped=agent_stopped)


def scan(
    setup: Setup,
    *,
    folder: str | None,
    everything: bool,
    keys: tuple[str, ...],
    force: bool,
) -> int:
    """Print what a pass would do; a person sees every session, whether due or not."""
    options = PassOptions(keys=keys, folder=folder, force=force, dry_run=True)
    return _pass(setup, options, everything=everything or not setup.as_json)


def _pass(
    setup: Setup, options: PassOptions, *, everything: bool, agent_stopped: bool = False
) -> int:
    asks = setup.config.summary.engine == "openai" and not options.dry_run
    key = read_api_key(setup.config.llm, setup.file) if asks else ""
    store = setup.open_store(agent_stopped=agent_stopped)
    ways = setup.find_ways(store, agent_stopped=agent_stopped)
    _tell_ways(setup, ways)
    with ExitStack() as held:
        if not options.dry_run:
            held.enter_context(store.exclusive())
        journal = setup.open_journal(read_only=options.dry_run)
        held.callback(journal.close)
        parts = replace(join_parts(setup.config, store, journal, key=key), ways=ways)
        held.callback(parts.engine.close)
        show_progress = held.enter_context(progress_on(setup.console))
        report = run_pass(parts, replace(options, progress=show_progress))
    if setup.as_json:
        _print_json(describe_pass(report, everything=everything))
    else:
        shown = report.sessions if everything else report.due
        print_pass(setup.console, report, shown, now=read_clock())
    if report.stopped_by is not None:
        raise report.stopped_by
    return FAILED_EXIT if report.count(Outcome.FAILED) else 0


def _tell_ways(setup: Setup, ways: dict[str, Way]) -> None:
    """Say first of all whether what follows will have an effect."""
    for place, way in ways.items():
        level = "DEBUG" if way.works or not setup.as_json else "WARNING"
        logger.bind(folder=place, way=str(way.kind), detail=way.sentence).log(level, "way_found")
    if not setup.as_json:
        for line in say_ways(ways):
            setup.console.print(stored(line, style="dim"))


def show(
    setup: Setup,
    *,
    key: str,
    folder: str | None,
    prompt: bool,
) -> int:
    """Print one session: its entry, how that was made, and what is kept; or what would be sent."""
    store = setup.open_store()
    session = store.load(find_entry(store.list_sessions(), key, folder))
    if prompt and not setup.as_json:
        print_messages(setup.console, session.get_history())
        return 0
    making = read_making(session, lambda: setup.open_journal(read_only=True))
    if setup.as_json:
        if making.problem is not None:
            setup.console.print(stored(say_unknown(making.problem)))
        _print_json(describe_stored(session, making, prompt=prompt))
    else:
        counter = TokenCounter(setup.config.summary.counter)
        print_stored(setup.console, session, making, counter)
    return 0


def undo(
    setup: Setup,
    *,
    key: str,
    folder: str | None,
    everything: bool,
) -> int:
    """Take back a compaction and say what stands now; returns the exit code."""
    store = setup.open_store()
    entry = find_entry(store.list_sessions(), key, folder)
    with ExitStack() as held:
        journal = setup.open_journal()
        held.callback(journal.close)
        result = undo_compaction(store, journal, entry, everything=everything, now=read_clock())
    if setup.as_json:
        _print_json(result.describe())
    else:
        setup.console.print(stored(result.sentence))
    return 0 if result.settled else FAILED_EXIT


def check(setup: Setup) -> int:
    """Look whether it can work here; returns 0, or the exit code of the first failure."""
    config = setup.config

    def look_at_store() -> tuple[State, str]:
        return check_store(setup.open_store)

    def look_at_ways() -> tuple[State, str]:
        return check_ways(setup.find_ways(setup.open_store()))

    def look_at_journal() -> tuple[State, str]:
        with closing(setup.open_journal(read_only=True)) as journal:
            return check_written_over(journal, read_clock())

    def look_at_endpoint() -> tuple[State, str]:
        if config.summary.engine == "digest":
            return State.OK, "the digest engine asks no endpoint"
        key = read_api_key(config.llm, setup.file)
        return check_endpoint(lambda: connect(config, key), max_tokens=config.summary.max_tokens)

    findings = run_checks(
        [
            ("configuration", lambda: (State.OK, setup.file)),
            ("store", look_at_store),
            ("adoption", look_at_ways),
            ("written over", look_at_journal),
            ("endpoint", look_at_endpoint),
        ]
    )
    if setup.as_json:
        _print_json({"findings": [finding.describe() for finding in findings]})
    else:
        print_findings(setup.console, findings)
    return next((finding.exit_code for finding in findings if finding.exit_code), 0)


def _print_json(document: dict[str, Any]) -> None:
    click.echo(json.dumps(document, indent=2))
