"""What a command is told, and what it opens with that: the sessions, the journal, the clock."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from loguru import logger

from compactor.config import CURRENT_FOLDER, Config, find_config, load_config
from compactor.errors import CompactorError, ConfigError
from compactor.events import Event
from compactor.hidden_keys import KeyHider
from compactor.identity import become_owner
from compactor.journal import Journal, MemoryJournal
from compactor.journal_file import FILE_NAME
from compactor.log import start_log
from compactor.nanobot_signs import read_signs
from compactor.service import read_service
from compactor.sqlite_journal import SqliteJournal
from compactor.tokens import load_encoding
from compactor.ways import find_way
from session.errors import StoreUnavailableError
from session.listing import naming
from session.location import open_store

if TYPE_CHECKING:
    from collections.abc import Callable

    from compactor.ways import Way
    from session.store import SessionStore


@dataclass(frozen=True, slots=True)
class Setup:
    """What a command is told: the configuration, what its paths are relative to, how to answer.

    `reload` reads it all again, as it was asked for.
    """

    config: Config
    file: str
    folder: Path
    store_folder: Path
    state: Path
    as_json: bool
    verbose: bool
    reload: Callable[[], Setup]

    @classmethod
    def load(
        cls, config_file: Path | None, url: str | None, *, as_json: bool, verbose: bool
    ) -> Setup:
        """Read the configuration; raises `ConfigError`.

        Paths in the file are relative to it, a URL on the command line to where it was typed.
        """
        file = find_config(config_file)
        return cls.of(load_config(file), file, url, as_json=as_json, verbose=verbose)

    @classmethod
    def of(
        cls, config: Config, file: Path | None, url: str | None, *, as_json: bool, verbose: bool
    ) -> Setup:
        """Find out what the paths of a configuration are relative to."""
        folder = _here() if file is None else _here() / file.parent
        if url is not None:
            section = config.store.model_copy(update={"url": url})
            config = config.model_copy(update={"store": section})
        try:
            state = folder / Path(config.state.dir).expanduser()
        except RuntimeError:
            fault = f"state.dir: {config.state.dir!r} names the home of an unknown user"
            raise ConfigError(str(file), (fault,)) from None
        name = "the defaults" if file is None else str(file)
        again = partial(cls.load, file, url, as_json=as_json, verbose=verbose)
        store_folder = folder if url is None else _here()
        return cls(config, name, folder, store_folder, state, as_json, verbose, again)

    def start_log(self) -> None:
        """Send events to standard error, as the configuration says."""
        log = self.config.log
        start_log(
            "DEBUG" if self.verbose else log.level,
            log.format,
            hide=KeyHider(self.state).hide if log.keys == "hash" else None,
            to_journal=read_service().journal,
        )

    def say(self, error: Exception) -> str:
        """Return what a service may say of an error, which may name the file of a session."""
        told = str(error)
        if self.config.log.keys == "hash":
            told = str(KeyHider(self.state).hide({"detail": told})["detail"])
        return told

    def open_store(self, *, agent_stopped: bool = False) -> SessionStore:
        """Open the sessions, as their owner."""
        store = open_store(
            self.config.store.url, relative_to=self.store_folder, agent_stopped=agent_stopped
        )
        become_owner(store.places, self.state, load=self._load)
        return store

    def _load(self) -> None:
        # Who needs what is amiss will say so.
        with suppress(CompactorError):
            self.config.idle_policy()
        with suppress(CompactorError):
            load_encoding(self.config.summary.counter)

    def find_ways(self, store: SessionStore, *, agent_stopped: bool = False) -> dict[str, Way]:
        """Return for each folder the way by which its agent will see a compaction.

        Raises `StoreUnavailableError` where a folder can't be looked into, if there is no other.
        """
        ways = {}
        for place in store.places:
            try:
                with naming(Path(place)):
                    signs = read_signs(Path(place))
            except StoreUnavailableError:
                if len(store.places) == 1:
                    raise
                continue  # its sessions are left out, and that is told with them
            ways[place] = find_way(
                signs,
                self.config.idle_policy(),
                keep_messages=self.config.keep.messages,
                agent_stopped=agent_stopped,
            )
        return ways

    def open_journal(self, *, read_only: bool = False) -> Journal:
        """Open the journal; who only reads gets an empty one where there is none yet."""
        is_new = not os.path.exists(self.state / FILE_NAME)  # noqa: PTH110 - no errors
        if read_only and is_new:
            return MemoryJournal()
        journal = SqliteJournal(self.state, read_only=read_only)
        if is_new:
            logger.bind(path=str(self.state / FILE_NAME)).info(Event.JOURNAL_BEGUN)
        return journal


def _here() -> Path:
    try:
        return Path.cwd()
    except OSError:
        fault = "it is gone; change to another one"
        raise ConfigError(CURRENT_FOLDER, (fault,)) from None


def read_clock() -> datetime:
    """Return now, in UTC."""
    return datetime.now(UTC)  # noqa: TID251 - the edge, where the clock is read
