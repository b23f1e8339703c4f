"""A worker that runs for months: pass after pass, and nothing grows."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.end_to_end.support import add_messages
from tests.endpoint.running import Worker
from tests.endpoint.support import OTHERS, SHORT, Place
from tests.endpoint.test_run import passes, running

FAST = 'scan_every = "0.02s"'
MANY = "per_session_per_day = 10000\ncalls_per_hour = 100000"
SPARE = 4  # files and threads that a pass under way has for itself


@dataclass(frozen=True)
class Size:
    """What a process takes: memory in MiB, open files, threads."""

    memory: float
    files: int
    threads: int

    @classmethod
    def of(cls, worker: Worker) -> Size:
        """Look at a running worker."""
        process = Path(f"/proc/{worker.process.pid}")
        if not process.exists():
            pytest.skip("this system has no /proc")
        found = re.search(r"VmRSS:\s+(\d+) kB", (process / "status").read_text())
        assert found
        files, threads = (len(list((process / name).iterdir())) for name in ("fd", "task"))
        return cls(int(found[1]) / 1024, files, threads)


def speak_again(place: Place, minutes: int) -> None:
    """Let the users say something, so that the next passes have work again."""
    at = (datetime(2026, 6, 1) + timedelta(minutes=minutes)).isoformat()  # noqa: DTZ001 - as nanobot
    words = {"user": "And the next one, please? " * 40, "assistant": "It is done. " * 40}
    for stem in (SHORT, *OTHERS):
        rows = [{"role": role, "content": text, "timestamp": at} for role, text in words.items()]
        add_messages(place.path(stem), *rows)


def test_dozens_of_passes_leave_the_same_files_open(place: Place) -> None:
    """And the same threads; memory is for the thousand of the soak."""
    with running(place, idle=FAST) as worker:
        worker.wait_for_passes(10)
        before = Size.of(worker)
        worker.wait_for_passes(50)
        after = Size.of(worker)
        assert worker.stop() == 0
    assert after.files <= before.files + SPARE
    assert after.threads <= before.threads + SPARE


@pytest.mark.soak
def test_a_thousand_passes_take_no_more_than_a_hundred(bare: Place) -> None:
    """Memory, open files and threads, with compactions and failures in between."""
    bare.add(SHORT, *OTHERS)
    with running(bare, idle=FAST, limits=MANY) as worker:
        sizes: dict[int, Size] = {}
        for at in range(10, 1001, 10):
            speak_again(bare, at)
            if at % 100 == 50:  # a folder that goes away for a moment
                bare.sessions.rename(bare.folder / "away")
                worker.wait_for("pass_failed", worker.count("pass_failed") + 1)
                (bare.folder / "away").rename(bare.sessions)
            worker.wait_for_passes(10)
            if at % 100 == 0:
                sizes[at] = Size.of(worker)
        assert worker.stop() == 0
    done = bare.journal("SELECT count(*) FROM ledger WHERE outcome = 'compacted'")[0][0]
    failed = sum(outcome == "failed" for outcome, _ in passes(bare))
    figures = {at: (round(size.memory), size.files, size.threads) for at, size in sizes.items()}
    print(json.dumps({"MiB, files, threads": figures, "compacted": done}))  # noqa: T201 - quoted
    assert failed >= 9
    assert done >= 100
    assert sizes[1000].memory <= sizes[100].memory * 1.1
    assert sizes[1000].files <= sizes[100].files + SPARE
    assert sizes[1000].threads <= sizes[100].threads + SPARE
