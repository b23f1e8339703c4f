"""A commit whose system calls fail, each in turn: the file is as it was, and the error is named."""

from __future__ import annotations

import errno
import os
import random
import resource
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from session.durable import recover
from session.errors import SessionWriteError
from session.jsonl_store import JsonlStore
from session.kernel import ExchangeMissingError
from session.keys import file_name
from session.store import CommitStatus
from tests.session.builders import change_for, session_bytes
from tests.session.no_exchange import forbid_exchange, is_possible
from tests.session.processes import in_child
from tests.session.schedules import (
    compact,
    compact_and_recover,
    count_steps,
    faults,
    fresh,
    no_lock,
    pass_begins,
    settle,
)
from tests.session.stepping import stopping
from tests.session.writers import COMPACTED, NEW, ORIGINAL, STYLES, HeldAppend, Writer, line

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from session.store import SessionTail

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux alone exchanges names")
CODES = (errno.ENOSPC, errno.EIO, errno.EROFS, errno.EDQUOT)
# The two that end a descriptor or only ask for a number: failing them proves nothing.
UNFAILING = {"close", "fileno"}
needs_filter = pytest.mark.skipif(not is_possible(), reason="no seccomp filter for this machine")


def failing_at(step: int, code: int) -> Callable[[int, str], None]:
    """Return what fails the system call `step`."""

    def fail(number: int, name: str) -> None:
        if number == step and name not in UNFAILING:
            raise OSError(code, os.strerror(code))

    return fail


@pytest.mark.parametrize("code", CODES, ids=errno.errorcode.get)
def test_a_commit_that_fails_leaves_the_file_as_it_was(folder: Path, code: int) -> None:
    """Each system call in turn: nothing is left behind, and the next commit succeeds."""
    failed = 0
    for step in range(count_steps(fresh(folder), compact)):
        live = fresh(folder)
        raised = None
        try:
            with stopping(failing_at(step, code)):
                compact(live)
        except OSError as error:
            raised = error.errno
        assert (raised, live.read_bytes()) in {(code, ORIGINAL), (None, COMPACTED)}, step
        failed += raised is not None
        recover(folder, no_lock)
        assert {path.name for path in folder.iterdir()} == {".compactor", "s.jsonl"}
        assert {path.name for path in (folder / ".compactor").iterdir()} <= {"commits.lock"}
        compact(live)
        assert live.read_bytes() == COMPACTED
    assert failed > 25


def run_failing(folder: Path, style: type[Writer], count: int) -> list[object]:
    """Fail one call while a writer is at work, so many times; return what went wrong."""
    steps = count_steps(fresh(folder), compact_and_recover)
    dice = random.Random(count)
    bad: list[object] = []
    for _ in range(count):
        fault, begin = dice.randrange(steps + 20), dice.randrange(steps)
        end = dice.randrange(begin, steps + 20)
        live = fresh(folder)
        writer = style(live)
        fail = failing_at(fault, errno.ENOSPC)

        def at(
            step: int,
            name: str,
            now: tuple[int, int] = (begin, end),
            writer: Writer = writer,
            fail: Callable[[int, str], None] = fail,
        ) -> None:
            if step == now[0]:
                writer.step()
            if step == now[1]:
                writer.finish()
            fail(step, name)

        with suppress(OSError), stopping(at):
            compact_and_recover(live)
        settle(live, writer)
        if faults(live):
            bad.append((fault, begin, end, faults(live)))
    return bad


@pytest.mark.parametrize("style", STYLES, ids=lambda style: style.__name__)
def test_a_failure_loses_no_line_of_a_writer(folder: Path, style: type[Writer]) -> None:
    """Whatever fails, and whenever the writer writes."""
    assert run_failing(folder, style, 60) == []


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("style", STYLES, ids=lambda style: style.__name__)
def test_many_failures_lose_no_line_of_a_writer(folder: Path, style: type[Writer]) -> None:
    """More of them."""
    assert run_failing(folder, style, 5000) == []


def test_a_graft_that_fails_is_made_up_for(folder: Path) -> None:
    """A late line that could not be appended, or only in part, is there once in the end."""

    def late() -> Path:
        live = fresh(folder)
        writer = HeldAppend(live)
        compact(live)
        writer.finish()
        return live

    for step in range(count_steps(late(), pass_begins)):
        live = late()
        with suppress(OSError), stopping(failing_at(step, errno.ENOSPC)):
            pass_begins(live)
        pass_begins(live)
        assert live.read_bytes() == COMPACTED + line(NEW), step


@pytest.mark.parametrize("part", range(1, len(line(NEW)), 9))
def test_half_a_graft_is_completed(folder: Path, part: int) -> None:
    """The disk was full in the middle of the line: the rest follows it, and nothing in between."""
    live = fresh(folder)
    writer = HeldAppend(live)
    compact(live)
    writer.finish()
    with stopping(failing_at(_step_of_graft(live), errno.ENOSPC)):
        recover(folder, no_lock)
    with live.open("ab") as file:
        file.write(line(NEW)[:part])
    recover(folder, no_lock)
    assert live.read_bytes() == COMPACTED + line(NEW)


def _step_of_graft(live: Path) -> int:
    """Return the number of the call that appends, found in a folder of the same shape."""
    other = fresh(live.parent.with_name("other"))
    writer = HeldAppend(other)
    compact(other)
    writer.finish()
    names: list[str] = []
    with stopping(lambda _, name: names.append(name)):
        pass_begins(other)
    return names.index("write")  # the record comes after it


@needs_filter
def test_without_exchange_a_commit_is_refused(folder: Path) -> None:
    """The file is as it was, and nothing is left behind."""
    live = fresh(folder)

    def refused() -> str:
        forbid_exchange()
        try:
            compact(live)
        except ExchangeMissingError as error:
            return errno.errorcode[error.errno or 0]
        return "no error"

    assert in_child(refused) == "EINVAL"
    assert live.read_bytes() == ORIGINAL
    assert [path.name for path in (folder / ".compactor").iterdir()] == ["commits.lock"]


@needs_filter
def test_without_exchange_a_plain_replace_can_be_allowed(folder: Path) -> None:
    """The original is watched in the same way."""
    live = fresh(folder)

    def replaced() -> str:
        forbid_exchange()
        compact(live, may_replace=True)
        return "done"

    with live.open("ab", buffering=0) as held:
        assert in_child(replaced) == "done"
        assert live.read_bytes() == COMPACTED
        held.write(line(NEW))
        assert recover(folder, no_lock) == 1
    assert recover(folder, no_lock) == 0
    assert live.read_bytes() == COMPACTED + line(NEW)


def allow(_: SessionTail) -> None:
    """Let every commit through."""


def commit_in(folder: Path, *, agent_stopped: bool = False) -> str:
    """Commit to the one session of the folder; return the status or the error."""
    store = JsonlStore([folder], agent_stopped=agent_stopped)
    session = store.load(store.list_sessions()[0])

    try:
        return store.commit(session, change_for(session.messages, 4), allow).status
    except SessionWriteError as error:
        return error.problem


@needs_filter
@pytest.mark.parametrize(
    ("lock_file", "agent_stopped", "outcome"),
    [(False, False, "refused"), (True, False, "committed"), (False, True, "committed")],
)
def test_who_shares_the_lock_decides_about_a_plain_replace(
    tmp_path: Path, *, lock_file: bool, agent_stopped: bool, outcome: str
) -> None:
    """Our own visits leave no lock file, which would look like an agent's."""
    live = tmp_path / file_name("telegram:42")
    live.write_bytes(session_bytes())
    lock = tmp_path / ".session-files.lock"
    if lock_file:
        lock.touch()

    def attempts() -> str:
        forbid_exchange()
        commit_in(tmp_path, agent_stopped=agent_stopped)
        live.write_bytes(session_bytes())
        return commit_in(tmp_path, agent_stopped=agent_stopped)

    answer = in_child(attempts)
    assert answer == outcome or (outcome == "refused" and "--agent-stopped" in answer)
    assert lock.exists() is lock_file


def test_whatever_fails_in_a_commit_is_one_sessions_fault(folder: Path) -> None:
    """Each system call of the store in turn: no bare error of the system gets out."""
    folder.mkdir()
    live = folder / file_name("telegram:42")
    live.write_bytes(session_bytes())
    store = JsonlStore([folder])
    session = store.load(store.list_sessions()[0])
    change = change_for(session.messages, 4)

    def attempt(_: Path) -> None:
        assert store.commit(session, change, allow).status is CommitStatus.COMMITTED

    outcomes = []
    for step in range(count_steps(live, attempt)):
        live.write_bytes(session_bytes())
        problem = ""
        try:
            with stopping(failing_at(step, errno.EIO)):
                attempt(live)
        except SessionWriteError as error:
            problem = error.problem
        outcomes.append((problem, live.read_bytes() == session_bytes()))
        recover(folder, no_lock)
    assert {*outcomes} == {("", False), ("input/output error", True)}
    assert outcomes.count(("input/output error", True)) > 30


def test_a_full_disk_is_named_by_the_store(tmp_path: Path) -> None:
    """For real: the process may write no file as large as this one."""
    live = tmp_path / file_name("telegram:42")
    live.write_bytes(session_bytes(2000))
    before = live.read_bytes()

    def limited() -> str:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
        return commit_in(tmp_path)

    assert in_child(limited) == "file too large"
    assert live.read_bytes() == before
    assert [path.name for path in (tmp_path / ".compactor").iterdir()] == ["commits.lock"]


def test_a_read_only_folder_is_named_with_its_remedy(tmp_path: Path) -> None:
    """The error says what to do."""
    (tmp_path / file_name("telegram:42")).write_bytes(session_bytes())
    names: list[str] = []
    with stopping(lambda _, name: names.append(name)):
        assert commit_in(tmp_path) == CommitStatus.COMMITTED
    (tmp_path / file_name("telegram:42")).write_bytes(session_bytes())
    step = len(names) - 1 - names[::-1].index("exchange")
    with stopping(failing_at(step, errno.EROFS)):
        assert commit_in(tmp_path) == "read-only file system: mount it writable"
