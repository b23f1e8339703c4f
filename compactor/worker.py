"""The worker that runs until it is told to stop: signals, the schedule, the watchdog.

Passes are made in the scheduler's thread. This one waits for signals, and never for anything that a
pass may wait for: so it always hears them, and can say whether passes progress.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from datetime import timedelta
from enum import Enum, auto
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from loguru import logger

from compactor.durations import say_span
from compactor.errors import CompactorError, ConfigError
from compactor.events import Event
from compactor.pulse import Clocks, is_fresh
from compactor.rounds import Rounds
from compactor.schedule import say_every
from compactor.scheduler import PassScheduler
from compactor.setup import read_clock
from compactor.station import Station
from session.errors import SessionError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from compactor.config import Config
    from compactor.model import PassReport
    from compactor.notify import Notifier

STOPPING = "the worker is stopping"
_BEAT = timedelta(seconds=5)
_QUICKEST_BEAT = timedelta(seconds=0.05)
_SURPLUS = timedelta(seconds=5)  # beyond the grace period, until what was given up has ended
_STOPS = (signal.SIGTERM, signal.SIGINT)


class _Wish(Enum):
    STOP = auto()
    RELOAD = auto()
    LOOK = auto()  # a pass has ended: what had to wait for that can be done


class Worker:
    """Makes passes until SIGTERM or SIGINT, and reads its configuration again on SIGHUP.

    `station` is held already. `watchdog` is how often systemd wants a sign of life. `tell` is
    called with the report of each pass.
    """

    def __init__(
        self,
        station: Station,
        notifier: Notifier,
        *,
        watchdog: timedelta | None,
        tell: Callable[[PassReport], None],
    ) -> None:
        self._notifier = notifier
        self._beat = _BEAT if watchdog is None else max(min(_BEAT, watchdog / 3), _QUICKEST_BEAT)
        self._wishes: SimpleQueue[_Wish] = SimpleQueue()
        self._tell = tell
        self._rounds = Rounds(station, self._hand_on, lambda: self._wishes.put(_Wish.LOOK))
        self._scheduler = PassScheduler(self._rounds.make_pass, self._rounds.note_lack)

    @property
    def _config(self) -> Config:
        return self._rounds.station.setup.config

    def run(self) -> int:
        """Work until told to stop; returns the exit code."""
        for number in _STOPS:
            signal.signal(number, self._hear_stop)
        if hasattr(signal, "SIGHUP"):  # absent on Windows
            signal.signal(signal.SIGHUP, self._hear_reload)
        self._say_configured(Event.WORKER_STARTED)
        self._scheduler.start(self._config.idle.scan_every)
        self._notifier.ready(self._rounds.status)
        self._attend()
        return self._stop()

    def _hear_stop(self, _number: int, _frame: FrameType | None) -> None:
        for number in _STOPS:
            signal.signal(number, signal.SIG_DFL)  # a second one ends us at once
        self._wishes.put(_Wish.STOP)

    def _hear_reload(self, _number: int, _frame: FrameType | None) -> None:
        self._wishes.put(_Wish.RELOAD)

    def _hand_on(self, report: PassReport) -> None:
        try:
            self._tell(report)
        except OSError:  # nobody reads us any more
            self._wishes.put(_Wish.STOP)

    def _attend(self) -> None:
        """Wait for a wish, until it is the one to stop."""
        wants_reload = False
        clocks = _read_clocks()
        while True:
            try:
                wish = self._wishes.get(timeout=self._beat.total_seconds())
            except Empty:
                wish = None
            if wish is _Wish.STOP:
                return
            if wish is _Wish.RELOAD:
                wants_reload = True
                if self._rounds.running_for is not None:
                    logger.info(Event.RELOAD_PENDING)
            if wants_reload:
                with self._rounds.between() as free:
                    if free:
                        self._reload()
                        wants_reload = False
            clocks = self._follow_clock(clocks)
            self._give_sign()

    def _follow_clock(self, before: Clocks) -> Clocks:
        """Reckon the schedule anew where the clock was set: the next pass may be a day ahead."""
        clocks = _read_clocks()
        jump = clocks.has_jumped(before)
        if jump is not None:
            logger.bind(by_seconds=round(jump.total_seconds())).warning(Event.CLOCK_SET)
            self._scheduler.change(self._config.idle.scan_every)
        return clocks

    def _give_sign(self) -> None:
        fresh = is_fresh(
            self._config.pass_policy(),
            running_for=self._rounds.running_for,
            next_run=self._scheduler.next_run,
            now=read_clock(),
        )
        if fresh:
            self._notifier.watchdog()
        self._notifier.status(self._rounds.status)

    def _reload(self) -> None:
        """Take all of a new configuration, or nothing of it."""
        old = self._rounds.station
        self._notifier.reloading(self._rounds.status)
        try:
            new = Station.open(old.setup.reload())
            new.check()
            old.release()  # it may be the same folders
            new.hold()
        except (CompactorError, SessionError) as error:
            told = str(error)
            if isinstance(error, ConfigError):
                told = f"{error.file}: {'; '.join(error.faults)}"
            logger.bind(detail=told).error(Event.CONFIG_REFUSED)
            old.hold_again()
        else:
            self._rounds.exchange(new)
            new.setup.start_log()
            self._scheduler.change(self._config.idle.scan_every)
            self._say_configured(Event.CONFIG_RELOADED)
        self._notifier.ready(self._rounds.status)

    def _say_configured(self, event: Event) -> None:
        config, file = self._config, self._rounds.station.setup.file
        ttl = config.idle.ttl
        logger.bind(
            config=file,
            store=config.store.url,
            every=say_every(config.idle.scan_every),
            ttl="off" if ttl is None else say_span(ttl),
            engine=config.summary.engine,
        ).info(event)

    def _stop(self) -> int:
        """Come to an end within the grace period, whatever a pass waits for."""
        logger.info(Event.WORKER_STOPPING)
        self._notifier.stopping(STOPPING)
        self._scheduler.pause()
        if not self._rounds.end(STOPPING, self._config.limits.grace + _SURPLUS):
            logger.error(Event.PASS_STUCK)
            sys.stderr.flush()
            os._exit(CompactorError.exit_code)  # a thread that can't be ended would keep us
        self._scheduler.stop()
        self._rounds.station.release()
        logger.info(Event.WORKER_STOPPED)
        return 0


def _read_clocks() -> Clocks:
    return Clocks(read_clock(), time.monotonic())
