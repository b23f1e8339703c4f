"""How long a nanobot's turn takes while a worker compacts other sessions of the same folder.

The gateway is the real one, with a model that answers at once; its person says one thing after the
other, while nothing else happens and during a whole pass.
"""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import islice
from statistics import median
from typing import TYPE_CHECKING

from bench.corpus import SESSION_BYTES, write_session
from bench.scene import AWAY, TTL
from bench.timing import Measure
from compactor.setup import read_clock
from tests.endpoint.server import Server
from tests.nanobot.gateway import Gateway
from tests.nanobot.model import agree

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PART = "beside"
_BASELINE = "nothing else going on"
_TURNS = 10  # in one chat; then another begins, so that none grows long
_QUIET_CHATS = 5
# By nanobot's own idle scan, which comes after a day: nothing has to be installed beside it.
_NANOBOT_MINUTES = 24 * 60
_CONFIG = f"""\
[store]
url = "jsonl:sessions/*"
[idle]
ttl = "{TTL.seconds}s"
min_tokens = 1
[keep]
messages = 0
tokens = 1000
[summary]
engine = "digest"
min_gain = 0.0
"""


def measure_turns(place: Path, due: int) -> Iterator[Measure]:
    """Measure turns while so many due sessions are compacted; needs nanobot-ai 0.3.5."""
    place.mkdir()
    with Server() as server:
        server.answer_by(agree)
        gateway = Gateway(place, server.url, idle_minutes=_NANOBOT_MINUTES)
        try:
            gateway.start()
            yield from _measure(gateway, due)
        finally:
            gateway.kill()


def _measure(gateway: Gateway, due: int) -> Iterator[Measure]:
    list(_talk(gateway, 1))  # the first turns of a process are slow
    idle = read_clock() - AWAY
    for number in range(due):
        write_session(gateway.path.parent, number, SESSION_BYTES, idle)
    (gateway.folder / "config.toml").write_text(_CONFIG)
    quiet = list(_talk(gateway, _QUIET_CHATS))
    command = [sys.executable, "-m", "compactor", "once", "--json"]
    told = gateway.folder / "pass.json"
    with (
        told.open("wb") as document,
        subprocess.Popen(
            command, cwd=gateway.folder, stdout=document, stderr=subprocess.DEVNULL
        ) as process,
    ):
        busy = list(_talk(gateway, None, process))
    compacted = json.loads(told.read_bytes())["compacted"]
    if compacted != due:
        message = f"{compacted} were compacted, not {due}"
        raise RuntimeError(message)
    what = f"{len(busy)} turns during {due:,} commits"
    yield Measure(_PART, f"{what}, median", _BASELINE, median(busy), median(quiet))
    yield Measure(_PART, f"{what}, slowest", _BASELINE, max(busy), max(quiet))


def _talk(
    gateway: Gateway, chats: int | None, during: subprocess.Popen[bytes] | None = None
) -> Iterator[float]:
    """Yield the seconds of each turn of so many chats, or of as many as begin during a process."""
    for _ in islice(iter(int, 1), chats):
        if during is not None and during.poll() is not None:
            return
        gateway.chat_id = ""
        yield from gateway.time(*(f"question {number}" for number in range(_TURNS)))
