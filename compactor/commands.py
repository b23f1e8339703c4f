"""What each command does: it opens what it needs, has it done, and prints what came of it."""

from __future__ import annotations

import json
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
from loguru import logger

from compactor.events import Event
from compactor.making import read_making
from compactor.model import Outcome
from compactor.parts import PassOptions
from compactor.render import (
    make_console,
    print_messages,
    print_pass,
    print_stored,
    progress_on,
    say_unknown,
    stored,
)
from compactor.render_status import print_status
from compactor.report import describe_pass, describe_status, describe_stored
from compactor.scan import find_entry
from compactor.service import read_service
from compactor.setup import Setup, read_clock
from compactor.station import Station
from compactor.status import read_status
from compactor.tokens import TokenCounter
from compactor.undo import undo_compaction
from compactor.ways import say_ways

if TYPE_CHECKING:
    from rich.console import Console

    from compactor.model import PassReport
    from compactor.ways import Way

FAILED_EXIT = 3


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
    station = Station.open(setup, asks=not options.dry_run, agent_stopped=agent_stopped)
    ways = setup.find_ways(station.store, agent_stopped=agent_stopped)
    _tell_ways(setup, ways)
    with ExitStack() as held:
        if not options.dry_run:
            station.check()  # before anything is made among the sessions
            station.hold()
            held.callback(station.release)
        show_progress = held.enter_context(progress_on(_console(setup)))
        options = replace(options, progress=show_progress)
        report = station.make_pass(options, "once", ways)
    if setup.as_json:
        _print_json(describe_pass(report, everything=everything))
    else:
        shown = report.sessions if everything else report.due
        print_pass(_console(setup), report, shown, now=read_clock())
    for fault in (report.stopped_by, *report.faults):
        if fault is not None:
            raise fault
    return FAILED_EXIT if report.count(Outcome.FAILED) else 0


def run(setup: Setup) -> int:
    """Make passes until told to stop; returns the exit code."""
    from compactor.notify import Notifier  # noqa: PLC0415 - the others need no scheduler
    from compactor.worker import Worker  # noqa: PLC0415

    def tell(report: PassReport) -> None:
        if setup.as_json:
            click.echo(json.dumps(describe_pass(report)))

    service = read_service()
    station = Station.open(setup)
    station.check()
    station.hold()
    station.store.list_sessions()  # whose they are: another user's are no work for us
    worker = Worker(station, Notifier(service.notify_socket), watchdog=service.watchdog, tell=tell)
    return worker.run()


def status(setup: Setup, *, passes: int) -> int:
    """Print what the worker did lately, and what waits."""
    with closing(setup.open_journal(read_only=True)) as journal:
        found = read_status(
            journal,
            setup.open_store,
            setup.config.idle_policy(),
            passes=passes,
            now=read_clock(),
        )
    if setup.as_json:
        _print_json(describe_status(found))
    else:
        print_status(_console(setup), found, now=read_clock())
    return 0


def _tell_ways(setup: Setup, ways: dict[str, Way]) -> None:
    """Say first of all whether what follows will have an effect."""
    for place, way in ways.items():
        level = "DEBUG" if way.works or not setup.as_json else "WARNING"
        logger.bind(folder=place, way=str(way.kind), detail=way.sentence).log(
            level, Event.WAY_FOUND
        )
    if not setup.as_json:
        for line in say_ways(ways):
            _console(setup).print(stored(line, style="dim"))


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
        print_messages(_console(setup), session.get_history())
        return 0
    making = read_making(session, lambda: setup.open_journal(read_only=True))
    if setup.as_json:
        if making.problem is not None:
            _console(setup).print(stored(say_unknown(making.problem)))
        _print_json(describe_stored(session, making, prompt=prompt))
    else:
        counter = TokenCounter(setup.config.summary.counter)
        print_stored(_console(setup), session, making, counter)
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
        _console(setup).print(stored(result.sentence))
    return 0 if result.settled else FAILED_EXIT


def _print_json(document: dict[str, Any]) -> None:
    click.echo(json.dumps(document, indent=2))


def _console(setup: Setup) -> Console:
    """Return where a person reads; with `--json` nothing else goes to standard output."""
    return make_console(stderr=setup.as_json)
