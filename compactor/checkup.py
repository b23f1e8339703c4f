"""The command `check`: its lines, what each of them needs, and the document that comes of them.

A configuration that can't be used is a line like any other. What depends on the section that is
wrong is said not to be looked at; so is what depends on sessions that can't be listed.
"""

from __future__ import annotations

import json
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from compactor.api_key import find_key_file, read_api_key
from compactor.assembly import connect
from compactor.checks.clock import check_clock, tell_no_zone
from compactor.checks.configuration import (
    check_configuration,
    describe_values,
    read_values,
)
from compactor.checks.effect import check_ways, check_written_over
from compactor.checks.endpoint import check_endpoint, check_window, tell_missing_key
from compactor.checks.finding import Line, NotLookedAtError, ok, run_checks
from compactor.checks.idleness import check_rhythm, check_ttl
from compactor.checks.journal import check_journal
from compactor.checks.newest import load_newest
from compactor.checks.place import check_permissions, check_space
from compactor.checks.sessions import check_store
from compactor.checks.tokenizer import check_tokenizer
from compactor.config import (
    StateSection,
    find_config,
    load_config,
    load_sound_sections,
)
from compactor.errors import ConfigError, JournalError, TokenizerError
from compactor.render import make_console, print_findings, stored
from compactor.setup import Setup, read_clock

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from compactor.checks.configuration import Value
    from compactor.checks.finding import Said
    from compactor.config import Config
    from compactor.model import IdlePolicy
    from session.store import SessionEntry, SessionStore, SessionTail

_LOOKED_INTO = 50  # sessions: those that were written last
_NO_MODEL = "the digest engine asks no endpoint"


def check_up(*, config_file: Path | None, url: str | None, as_json: bool, verbose: bool) -> int:
    """Look whether it can work here; returns 0, or the exit code of the first failure."""
    file = find_config(config_file)
    checkup = _load(file, url, as_json=as_json, verbose=verbose)
    findings = run_checks(checkup.looks() if checkup.setup else checkup.looks()[:1])
    if as_json:
        document = {
            "findings": [finding.describe() for finding in findings],
            "configuration": describe_values(checkup.values),
        }
        click.echo(json.dumps(document, indent=2))
    else:
        console = make_console()
        print_findings(console, findings)
        for value in checkup.values if verbose else ():
            console.print(stored(value.line, style="dim"))
    return next((finding.said.exit_code for finding in findings if finding.said.exit_code), 0)


def _load(file: Path | None, url: str | None, *, as_json: bool, verbose: bool) -> Checkup:
    """Read the configuration, or as much of it as can be used."""

    def set_up(config: Config) -> Setup:
        return Setup.of(config, file, url, as_json=as_json, verbose=verbose)

    try:
        setup = set_up(load_config(file))
        setup.start_log()
        return Checkup(setup, url)
    except ConfigError as error:
        fault = error
    config, faulty = load_sound_sections(file)
    with suppress(ConfigError):
        return Checkup(set_up(config), url, fault, faulty)
    with suppress(ConfigError):  # `state.dir` is a fault that only shows when it is used
        config = config.model_copy(update={"state": StateSection()})
        return Checkup(set_up(config), url, fault, faulty | {"state"})
    return Checkup(None, url, fault)


class Checkup:
    """Looks at one set-up, line by line, and keeps what it opened for the lines that follow.

    `setup` is None where not even the current folder is known; `faulty` are the sections of the
    configuration that can't be used.
    """

    def __init__(
        self,
        setup: Setup | None,
        url: str | None,
        fault: ConfigError | None = None,
        faulty: frozenset[str] = frozenset(),
    ) -> None:
        self.setup, self._url, self._fault, self._faulty = setup, url, fault, faulty
        self._store: SessionStore | None = None
        self._entries: Sequence[SessionEntry] | None = None
        self._policy: IdlePolicy | None = None
        self._key: str | ConfigError = ""
        if setup is not None and self._asks:
            # Before anything is opened: root, who may read its file, becomes the sessions' owner.
            try:
                self._key = read_api_key(setup.config.llm, setup.file, setup.folder)
            except ConfigError as error:
                self._key = error

    @property
    def _asks(self) -> bool:
        known = self.setup is not None and not self._faulty & {"summary", "llm"}
        return known and self._config.summary.engine == "openai"

    @property
    def _sound(self) -> Setup:
        """The setup; the lines that ask for it are not there without one."""
        if self.setup is None:
            raise NotLookedAtError(Line.CONFIGURATION)
        return self.setup

    @property
    def _config(self) -> Config:
        return self._sound.config

    @property
    def values(self) -> list[Value]:
        """Every value of the configuration that can be used, and where it is from."""
        if self.setup is None:
            return []
        return read_values(
            self._config,
            self.setup.file,
            store_is_option=self._url is not None,
            faulty=self._faulty,
        )

    def looks(self) -> list[tuple[Line, Callable[[], Said]]]:
        """Return the lines by name, in the order in which they are looked at and shown."""
        return [
            (Line.CONFIGURATION, self._look_at_configuration),
            (Line.STORE, self._look_at_store),
            (Line.PERMISSIONS, self._look_at_permissions),
            (Line.WORKER, self._look_at_worker),
            (Line.DISK, self._look_at_disk),
            (Line.CLOCK, self._look_at_clock),
            (Line.TTL, self._look_at_ttl),
            (Line.RHYTHM, self._look_at_rhythm),
            (Line.ADOPTION, self._look_at_ways),
            (Line.JOURNAL, self._look_at_journal),
            (Line.WRITTEN_OVER, self._look_at_outcomes),
            (Line.TOKENIZER, self._look_at_tokenizer),
            (Line.WINDOW, self._look_at_window),
            (Line.ENDPOINT, self._look_at_endpoint),
        ]

    def _need(self, *sections: str) -> Config:
        """Return the configuration, if these sections of it can be used."""
        if self._faulty & set(sections):
            raise NotLookedAtError(Line.CONFIGURATION)
        return self._config

    def _need_store(self) -> SessionStore:
        if self._store is None:
            raise NotLookedAtError(Line.STORE)
        return self._store

    def _need_places(self) -> Sequence[str]:
        """Return the folders; of a glob, not those that only happen to match it."""
        places = self._need_store().places
        if len(places) == 1 or self._entries is None:
            return places
        return sorted({entry.ref.place for entry in self._entries})

    def _need_entries(self) -> Sequence[SessionEntry]:
        if self._entries is None:
            raise NotLookedAtError(Line.STORE)
        return self._entries

    def _need_policy(self) -> IdlePolicy:
        self._need("store", "idle")
        if self._policy is None:
            raise NotLookedAtError(Line.CLOCK)
        return self._policy

    def _newest(self, limit: int) -> list[SessionTail]:
        newest = load_newest(self._need_store(), self._need_entries(), limit)
        return [session.tail for session in newest]

    def _look_at_configuration(self) -> Said:
        file = "" if self.setup is None else self.setup.file
        return check_configuration(self.values, file, self._fault)

    def _look_at_store(self) -> Said:
        if self._url is None:
            self._need("store")
        self._store = self._sound.open_store()
        self._entries = self._store.list_sessions()
        return check_store(self._store, self._entries)

    def _look_at_permissions(self) -> Said:
        config = self._need("state", "llm")
        key = None
        with suppress(ConfigError):  # the line of the endpoint tells
            key = find_key_file(config.llm, self._sound.file, self._sound.folder)
        return check_permissions(self._need_places(), self._sound.state, key)

    def _look_at_worker(self) -> Said:
        if self._need_store().has_worker():
            return ok("a worker holds the sessions at present")
        return ok("no worker holds the sessions at present")

    def _look_at_disk(self) -> Said:
        self._need("state")
        places = [*map(Path, self._need_places()), self._sound.state]
        return check_space(places, self._need_entries())

    def _look_at_clock(self) -> Said:
        config = self._need("store", "idle")
        try:
            self._policy = config.idle_policy()
        except ConfigError as error:
            return tell_no_zone(error)
        newest = next(iter(self._newest(1)), None)
        return check_clock(newest, self._policy, read_clock())

    def _look_at_ttl(self) -> Said:
        config = self._need("idle")
        return check_ttl(config.idle.ttl, config.idle.channels)

    def _look_at_rhythm(self) -> Said:
        policy = self._need_policy()
        return check_rhythm(self._newest(_LOOKED_INTO), policy, read_clock())

    def _look_at_ways(self) -> Said:
        self._need_policy()
        self._need("keep")
        return check_ways(self._sound.find_ways(self._need_store()))

    def _look_at_journal(self) -> Said:
        self._need("state")
        return check_journal(self._sound.state)

    def _look_at_outcomes(self) -> Said:
        self._need("state")
        try:
            with closing(self._sound.open_journal(read_only=True)) as journal:
                return check_written_over(journal, read_clock())
        except JournalError:
            raise NotLookedAtError(Line.JOURNAL) from None

    def _look_at_tokenizer(self) -> Said:
        return check_tokenizer(self._need("summary").summary.counter)

    def _look_at_window(self) -> Said:
        config = self._need("summary", "llm")
        if not self._asks:
            return ok(_NO_MODEL)
        try:
            return check_window(config)
        except TokenizerError:
            raise NotLookedAtError(Line.TOKENIZER) from None

    def _look_at_endpoint(self) -> Said:
        config = self._need("summary", "llm")
        if not self._asks:
            return ok(_NO_MODEL)
        key = self._key
        if isinstance(key, ConfigError):
            return tell_missing_key(key)
        return check_endpoint(lambda: connect(config, key), config)
