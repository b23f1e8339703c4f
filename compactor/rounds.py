"""The passes of a worker, one after the other: what each is told, and what is told of it."""

from __future__ import annotations

import random
import re
import threading
import time
from collections import Counter
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from loguru import logger

from compactor.durations import say_span
from compactor.errors import CompactorError, JournalError
from compactor.events import Event
from compactor.halt import Halt
from compactor.parts import PassOptions
from compactor.pass_log import PassOutcome, PassRecord
from compactor.pause import EndpointPause
from compactor.pulse import Clocks
from compactor.report import count_pass, say_pass
from compactor.scheduler import Lack
from compactor.setup import read_clock
from session.errors import SessionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from compactor.model import Leap, PassReport
    from compactor.station import Station
    from compactor.ways import Way
    from session.errors import StoreError

COMMAND = "run"
_LEVELS = {Lack.SKIPPED: "DEBUG", Lack.MISSED: "WARNING"}


class Rounds:
    """Makes passes with one station at a time, in the scheduler's thread.

    `tell` is called with the report of each pass, `rest` after each, when there is time for other
    things. Everything else may be asked from another thread.
    """

    def __init__(
        self, station: Station, tell: Callable[[PassReport], None], rest: Callable[[], None]
    ) -> None:
        self.station = station
        self._last = "no pass yet"  # what came of the last one, in a sentence
        self._is_bad = False  # whether it failed, or was stopped by a fault
        self._tell = tell
        self._rest = rest
        self._passing = threading.Lock()  # held by a pass, and while the station changes
        self._stopping = threading.Event()
        self._halt = Halt()
        self._begun: float | None = None  # when the pass under way began, on the steady clock
        self._count = 0
        self._pause = EndpointPause()
        self._clocks = _read_clocks()
        self._leap: Leap | None = None
        self._ways: dict[str, Way] = {}
        self._left_out: set[str] = set()
        self._lacks: Counter[str] = Counter()

    @property
    def status(self) -> str:
        """What is being done, and what came of the last pass, in a line."""
        running = self.running_for
        if running is None:
            return self._last
        return f"a pass is under way for {say_span(running)}; {self._last}"

    @property
    def running_for(self) -> timedelta | None:
        """How long a pass has been under way, None where none is."""
        begun = self._begun
        return None if begun is None else timedelta(seconds=time.monotonic() - begun)

    @contextmanager
    def between(self) -> Iterator[bool]:
        """Begin no pass while this lasts; yields False if one is under way."""
        free = self._passing.acquire(blocking=False)
        try:
            yield free
        finally:
            if free:
                self._passing.release()

    def exchange(self, station: Station) -> None:
        """Go on with another station: what was known of endpoint and agents is to be found anew."""
        self.station = station
        self._pause, self._ways = EndpointPause(), {}

    def end(self, reason: str, patience: timedelta) -> bool:
        """Begin nothing new, and wait for a pass under way; False if it has not ended by then."""
        self._stopping.set()
        self._halt.request(reason)
        ended = self._passing.acquire(timeout=patience.total_seconds())
        if ended:  # one that waits to begin sees that it must not, and has to end too
            self._passing.release()
        return ended

    def make_pass(self) -> None:
        """Make one pass. What it raises is for `note_lack`."""
        jitter = self.station.setup.config.idle.scan_jitter
        if jitter is not None and self._count:
            self._stopping.wait(random.uniform(0, jitter.total_seconds()))  # noqa: S311 - no secret
        try:
            with self._passing:
                self._halt = Halt()
                if not self._stopping.is_set():
                    self._begin()
        finally:
            self._rest()

    def _begin(self) -> None:
        self._count += 1
        self._begun = time.monotonic()
        try:
            self._work()
        finally:
            self._begun = None

    def _work(self) -> None:
        station = self.station
        station.store.tend()
        self._find_ways()
        fault = self._pause.fault_at(read_clock())
        options = PassOptions(halt=self._halt, fault=fault, leap=self._look_at_clock())
        report = station.make_pass(options, COMMAND, self._ways, counts=self._take())
        is_news = fault is None and self._pause.note(report, read_clock())
        self._last = f"last pass at {read_clock():%H:%M:%S} UTC: {say_pass(report)}"
        if is_news:
            logger.bind(detail=str(report.stopped_by)).error(Event.PASS_STOPPED)
        self._tell_left_out(report.faults)
        if report.halted:
            logger.bind(detail=report.halted).warning(Event.PASS_HALTED)
        counts = {name: count for name, count in count_pass(report).items() if count}
        was_bad, self._is_bad = self._is_bad, report.stopped_by is not None
        is_told = report.due or (was_bad and not self._is_bad)
        logger.bind(**counts, seconds=round(report.seconds, 3)).log(
            "INFO" if is_told else "DEBUG", Event.PASS_FINISHED
        )
        self._tell(report)

    def _tell_left_out(self, faults: Sequence[StoreError]) -> None:
        """Tell of places that can't be used, when that is news."""
        told = {str(fault): fault for fault in faults}
        for text, fault in told.items():
            if text not in self._left_out:
                reason = _code_of(type(fault).__name__)
                logger.bind(reason=reason, detail=text).error(Event.PLACE_LEFT_OUT)
        self._left_out = set(told)

    def _look_at_clock(self) -> Leap | None:
        """Find out whether the clock was set forward, which makes nobody idle."""
        before, self._clocks = self._clocks, _read_clocks()
        self._leap = self._clocks.find_leap(before, self._leap)
        return self._leap

    def _find_ways(self) -> None:
        """Find the way in force in each folder, and tell what is new."""
        known, self._ways = self._ways, self.station.setup.find_ways(self.station.store)
        for place, way in self._ways.items():
            if known.get(place) != way:
                level = "INFO" if way.works else "WARNING"
                told = logger.bind(folder=place, way=str(way.kind), detail=way.sentence)
                told.log(level, Event.WAY_FOUND)

    def note_lack(self, lack: Lack, error: BaseException | None) -> None:
        """Tell and count that a pass was not made, or not to its end."""
        if lack is not Lack.FAILED:
            self._lacks[f"runs_{lack}"] += 1
            logger.log(_LEVELS[lack], Event(f"pass_{lack}"))
            return
        ours = isinstance(error, CompactorError | SessionError)
        # The text of an error that nobody expected may quote what people wrote.
        kind = type(error).__name__
        problem = self.station.setup.say(error) if isinstance(error, Exception) and ours else kind
        logger.bind(reason=_code_of(kind), detail=problem).error(Event.PASS_FAILED)
        self._is_bad = True
        self._last = f"last pass at {read_clock():%H:%M:%S} UTC failed: {problem}"
        with suppress(JournalError):  # it may be what failed
            self.station.note(
                PassRecord(read_clock(), 0.0, COMMAND, PassOutcome.FAILED, problem, self._take())
            )

    def _take(self) -> dict[str, int]:
        """Return the runs that were not made since a pass was noted last."""
        taken, self._lacks = dict(self._lacks), Counter()
        return taken


def _code_of(kind: str) -> str:
    """Return the name of an error as a reason code: `store_unavailable`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind.removesuffix("Error")).lower()


def _read_clocks() -> Clocks:
    # It goes on while the machine sleeps: what was said before is older then.
    awake = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return Clocks(read_clock(), time.clock_gettime(awake))
