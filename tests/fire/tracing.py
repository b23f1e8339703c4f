"""Real system calls of a child process, told by strace, and one of them failed or made fatal.

The child stands still until strace has hold of it, so that calls are counted from the beginning of
what is disturbed: Python's own start is no part of it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import shutil
import signal
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable

KILL = "signal=KILL"
CALLS = "trace=%file,%desc"
_NO_FILE = {"mmap", "poll", "ppoll", "select", "pselect6", "epoll_wait"}  # they touch no file
_PR_SET_PTRACER = 0x59616D61
_LINE = re.compile(r"^(?:\d+ +)?(\w+)\((.*)$")
_DONE, _REFUSED, _BARE = 0, 3, 4


@dataclass(frozen=True, slots=True)
class Call:
    """One system call: what it is, and the how-manieth of its name; `text` is its line."""

    name: str
    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Traced:
    """How the child ended (`done`, `refused`, `bare` or `killed`), and the calls that it made."""

    outcome: str
    calls: tuple[Call, ...]
    said: str


@cache
def why_not() -> str | None:
    """Return what keeps us from tracing here; None where nothing does."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    tried = subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, check=False)
    return None if tried.returncode == 0 else "this machine forbids ptrace"


def trace(
    action: Callable[[], None],
    log: Path,
    *,
    refusal: type[Exception],
    inject: tuple[Call, str] | None = None,
) -> Traced:
    """Run the action in a child of its own, with a fault at one of its calls, and tell of it.

    A `refusal` is an error that was named as it should be; any other is a `bare` one.
    """
    child = os.fork()
    if not child:
        _stand_still_and(action, refusal)
    os.waitpid(child, os.WUNTRACED)
    fault = [f"inject={inject[0].name}:{inject[1]}:when={inject[0].number}"] if inject else []
    options = [word for text in (CALLS, *fault) for word in ("-e", text)]
    command = ["strace", "-f", "-y", "-s", "64", "-o", str(log), *options, "-p", str(child)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as tracer:
        assert tracer.stderr
        attached = tracer.stderr.readline()
        os.kill(child, signal.SIGCONT)
        _, status = os.waitpid(child, 0)
        tracer.wait()
    assert "attached" in attached, attached
    said = log.read_text(errors="replace")
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        outcome = "killed"
    else:
        outcome = {_DONE: "done", _REFUSED: "refused"}.get(os.WEXITSTATUS(status), "bare")
    return Traced(outcome, _parse(said), said)


def was_hit(traced: Traced, fault: str) -> bool:
    """Whether strace says that the fault was there."""
    if fault == KILL:
        return traced.outcome == "killed" and "+++ killed by SIGKILL" in traced.said
    return "(INJECTED)" in traced.said


def _parse(said: str) -> tuple[Call, ...]:
    counted: dict[str, int] = {}
    calls = []
    for text in said.splitlines():
        match = _LINE.match(text)
        if match is not None and match[1] not in _NO_FILE:
            name = match[1]
            counted[name] = counted.get(name, 0) + 1
            calls.append(Call(name, counted[name], match[2]))
    return tuple(calls)


def _stand_still_and(action: Callable[[], None], refusal: type[Exception]) -> NoReturn:
    code = _BARE
    try:
        # Where only a parent may trace: anybody may, since strace is a sister of this process.
        ctypes.CDLL(None).prctl(_PR_SET_PTRACER, ctypes.c_ulong(-1), 0, 0, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        try:
            action()
            code = _DONE
        except refusal:
            code = _REFUSED
    finally:
        os._exit(code)


def describe(code: int) -> str:
    """Return how strace is told to fail a call with an error."""
    return f"error={errno.errorcode[code]}"
