"""Time, memory and Ctrl-C: whatever an endpoint sends or does not send, we end in bounds."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.end_to_end.support import Invoke
from tests.endpoint.server import PATIENCE, Reply, Server, Step, answer, completion, error, http
from tests.endpoint.support import OTHERS, SHORT, Place

TIMEOUT = 1  # seconds for one call
START = 25  # seconds that a process may take beside its calls, on a machine that is busy
ROOM = 48 << 20  # bytes that a reply may take beyond what a good one takes
# SIGINT may be ignored where tests run in the background; at a terminal it is not.
COMMAND = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from compactor.cli import main
main(["once", "--agent-stopped", "--json"])
"""
_MEGABYTE = b"x" * (1 << 20)
_OPEN = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
_CHUNK = b"100000\r\n" + _MEGABYTE + b"\r\n"
_BOMB = gzip.compress(json.dumps(completion("x" * 60_000_000)).encode())
LARGE: dict[str, Reply] = {
    "60 MB": http(200, completion("x" * 60_000_000)),
    "60 MB of spaces": http(200, b" " * 60_000_000 + json.dumps(completion()).encode()),
    "chunks without end": (
        _OPEN + b"Transfer-Encoding: chunked\r\n\r\n",
        *[_CHUNK] * 300,
        Step.HANG,
    ),
    "a body without end": (_OPEN + b"\r\n", *[_MEGABYTE] * 300, Step.HANG),
    "an error of 60 MB": error(400, "x" * 60_000_000),
    "a page of 60 MB": http(502, b"x" * 60_000_000),
    "a bomb": http(200, _BOMB, content_encoding="gzip"),
    "a head without end": (_OPEN, *[b"x: " + _MEGABYTE + b"\r\n"] * 300, Step.HANG),
}
ENDLESS: dict[str, Reply] = {
    "hanging": (Step.HANG,),
    "never closed": (_OPEN + b"\r\n" + json.dumps(completion()).encode(), Step.HANG),
    "redirecting": http(307, location="/v1/chat/completions"),
}


@dataclass(frozen=True)
class Ended:
    """How a pass in a process of its own ended; memory is its peak, in bytes."""

    code: int
    seconds: float
    memory: int
    out: str


def run_pass(folder: Path) -> Ended:
    """Run a pass to its end."""
    begin = time.monotonic()
    with (folder / "out").open("w+") as out, (folder / "err").open("w+") as err:
        child = subprocess.Popen([sys.executable, "-c", COMMAND], stdout=out, stderr=err)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        return Ended(child.returncode, time.monotonic() - begin, usage.ru_maxrss * 1024, out.read())


@pytest.mark.parametrize(
    "names",
    [
        ("60 MB", "a bomb"),
        pytest.param(tuple(LARGE), marks=pytest.mark.soak),
    ],
    ids=["some", "all"],
)
def test_replies_of_any_size_take_little_memory(
    names: tuple[str, ...], place: Place, server: Server
) -> None:
    """Each is cut off; none takes much more than a reply of a kilobyte does."""
    place.configure(timeout="10s")
    before = place.files()
    plain = run_pass(place.folder)
    assert plain.code == 0
    for name in names:
        place.add(SHORT)
        (place.folder / "state" / "journal.sqlite3").unlink()
        server.play(LARGE[name])

        ended = run_pass(place.folder)

        assert ended.code == 3, name
        assert ended.memory < plain.memory + ROOM, name
        assert ended.seconds < START + 10, name
        assert place.files() == before, name


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(reply, id=name, marks=pytest.mark.soak if name == "never closed" else ())
        for name, reply in ENDLESS.items()
    ],
)
def test_a_reply_that_never_ends_is_cut_off(reply: Reply, place: Place, server: Server) -> None:
    """By the deadline of the call, not by the next byte that may come."""
    place.configure(timeout=f"{TIMEOUT}s")
    server.play(reply)
    before = place.files()

    ended = run_pass(place.folder)

    assert ended.code == 3
    assert ended.seconds < START + len(server.requests) * TIMEOUT
    assert 1 <= len(server.requests) <= 3
    assert place.files() == before


def test_a_redirect_takes_the_transcript_nowhere(place: Place, server: Server) -> None:
    """Not a byte goes to the other host; the message says what to set."""
    with Server() as other:
        server.play(http(307, location=f"{other.url}/chat/completions"))

        ended = run_pass(place.folder)

        assert other.accepted == 0
    assert len(server.requests) == 1
    assert "base_url" in json.loads(ended.out)["sessions"][0]["detail"]


WAITS: dict[str, Reply] = {
    "silence": (Step.HANG,),
    "half a reply": (_OPEN + b"Content-Length: 9\r\n\r\n{", Step.HANG),
    "a wait between two tries": error(429, RETRY_AFTER="15"),
}


@pytest.mark.parametrize("reply", WAITS.values(), ids=WAITS.keys())
def test_an_interrupt_ends_a_pass_at_once(
    reply: Reply, bare: Place, server: Server, invoke: Invoke
) -> None:
    """Exit 130 within about a second; nothing is half recorded, and the next pass does it all."""
    bare.add(SHORT, *OTHERS)
    bare.configure(timeout="60s", concurrency=3)
    server.play(reply)
    before = bare.files()
    with subprocess.Popen(
        [sys.executable, "-c", COMMAND], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        server.wait_for(3)
        begin = time.monotonic()
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=PATIENCE)
        took = time.monotonic() - begin

    assert child.returncode == 130, err
    assert took < 4  # 0.2 s on an idle machine; the call would last for 60
    assert (out, "Traceback" in err) == ("", False)
    assert bare.files() == before
    for table in ("ledger", "answer", "memory"):
        assert bare.journal(f"SELECT * FROM {table}") == []  # noqa: S608 - words of our own
    server.play(answer())
    again = invoke("once", "--agent-stopped", "--json")
    assert (again.code, again.json["compacted"]) == (0, 4)


def test_an_interrupt_keeps_what_was_done(bare: Place, server: Server, invoke: Invoke) -> None:
    """What had landed stays; what was under way is as if it had never been asked."""
    bare.add(SHORT, OTHERS[0])
    bare.configure(timeout="60s", concurrency=1)
    server.play(answer(), (Step.HANG,))
    with subprocess.Popen(
        [sys.executable, "-c", COMMAND], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        server.wait_for(2)
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=PATIENCE)
    server.play(answer())

    assert child.returncode == 130
    assert bare.journal("SELECT outcome FROM ledger") == [("compacted",)]
    again = invoke("once", "--agent-stopped", "--json").json
    assert (again["compacted"], again["skipped"]) == (1, {"covered": 1})
    assert len(server.requests) == 3
