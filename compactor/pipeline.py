"""One pass: scan, then select, plan, summarize, apply and save each session that looks due.

One bad session never stops the others; a fault of the endpoint's account stops them all, since it
would only be met again.
"""

from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import chain, zip_longest
from typing import TYPE_CHECKING

from compactor.ask import Asker
from compactor.errors import AbandonedError
from compactor.journal import SessionMemory
from compactor.model import PassReport, Reason, SessionReport, Verdict
from compactor.scan import Candidate, find_entries, scan_sessions, skip
from compactor.session_pass import SessionPass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from compactor.errors import StopError
    from compactor.parts import Parts, PassOptions
    from session.model import SessionRef
    from session.store import SessionEntry

# Sessions at work for each that is asked about: others are prepared and saved while those wait.
_AT_WORK = 1.5


def run_pass(parts: Parts, options: PassOptions) -> PassReport:
    """Look at every session and compact those that are due.

    Raises `StoreError` and `JournalError`, which end the pass, and `UnknownSessionError` and
    `AmbiguousKeyError` for a key that names no session or several.
    """
    begin = time.monotonic()
    halt, limits = options.halt, parts.limits
    with halt.watching(limits.deadline, limits.grace, parts.engine.close):
        reports, stopped_by = _work(parts, options)
        seconds = time.monotonic() - begin
        faults = tuple(parts.store.faults.values())
        # A halt that came when all was done has ended nothing.
        cut = any(one.reason == Reason.STOPPED and one.detail == halt.reason for one in reports)
        halted = halt.reason if cut else ""
        return PassReport(reports, seconds, stopped_by, halted, faults)


def _work(parts: Parts, options: PassOptions) -> tuple[tuple[SessionReport, ...], StopError | None]:
    listed = parts.store.list_sessions()
    entries = find_entries(listed, options.keys, options.folder)
    memories = parts.journal.recall()
    if not options.dry_run and not options.keys:
        _forget_deleted(parts, listed, memories)
    scan = scan_sessions(
        parts.store,
        entries,
        memories,
        parts.idle,
        now=parts.clock(),
        force=options.force,
        halt=options.halt,
    )
    asker = Asker(
        parts.journal,
        parts.engine,
        parts.fallback,
        calls=parts.calls,
        limits=parts.limits,
        halt=options.halt,
        fault=options.fault,
        clock=parts.clock,
    )

    def work(candidate: Candidate) -> SessionReport:
        stopped = asker.stopped
        if stopped is not None and not options.dry_run:
            return skip(candidate.entry, Verdict(Reason.STOPPED, stopped.problem))
        if options.halt.reason:
            return skip(candidate.entry, Verdict(Reason.STOPPED, options.halt.reason))
        memory = memories.get(candidate.entry.ref, SessionMemory())
        with asker.turns.prepare() as preparation:
            one = SessionPass(parts, options, asker, candidate, memory, preparation=preparation)
            try:
                return one.run()
            except AbandonedError:
                return skip(candidate.entry, Verdict(Reason.STOPPED, options.halt.reason))

    now = parts.clock()
    vain = [one for one in scan.candidates if _is_vain(parts, one, now)]
    reports = [*scan.skipped, *(_skip_vain(parts, one) for one in vain)]
    order = share_fairly(one for one in scan.candidates if not _is_vain(parts, one, now))
    with ThreadPoolExecutor(math.ceil(parts.limits.concurrency * _AT_WORK), "session") as pool:
        try:
            pending = [pool.submit(work, candidate) for candidate in order]
            for done in as_completed(pending):
                reports.append(done.result())
                options.progress(reports[-1], len(order))
        except BaseException:
            parts.engine.close()  # what is under way is abandoned, and leaves no trace
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return tuple(reports), asker.stopped


def _is_vain(parts: Parts, candidate: Candidate, now: datetime) -> bool:
    """Whether nobody would ever see a compaction of that session."""
    way = parts.ways.get(candidate.entry.ref.place)
    since = candidate.idle_since
    return way is not None and not way.reaches(None if since is None else now - since)


def _skip_vain(parts: Parts, candidate: Candidate) -> SessionReport:
    way = parts.ways[candidate.entry.ref.place]
    return skip(candidate.entry, Verdict(Reason.NO_EFFECT, way.sentence), candidate.idle_since)


def share_fairly(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return the candidates one channel after the other, so that a busy one starves nobody.

    Within a channel their order stays (longest idle first).
    """
    channels: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        channels.setdefault(candidate.entry.ref.channel, []).append(candidate)
    rounds = zip_longest(*channels.values())
    return [candidate for candidate in chain.from_iterable(rounds) if candidate is not None]


def _forget_deleted(
    parts: Parts, listed: list[SessionEntry], memories: Mapping[SessionRef, SessionMemory]
) -> None:
    """Forget the texts of sessions that are gone from folders that are still there."""
    here = {entry.ref for entry in listed}
    places = set(parts.store.places) - parts.store.faults.keys()
    gone = [ref for ref in memories if ref.place in places and ref not in here]
    if gone:
        parts.journal.forget(gone)
