"""The journal is lost, held, full or damaged: no session loses anything, a call at most is paid.

It is only a memory. What must not happen is that a session changes whose answer was not kept, or
that a worker pays for the same answer in every pass.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from compactor import journal_file
from tests.end_to_end.placing import mount
from tests.end_to_end.support import Invoke, Ran
from tests.endpoint.server import Reply, Request, Server, answer, error
from tests.endpoint.support import OTHERS, SHORT, SHORT_KEY, Place
from tests.endpoint.test_run import running
from tests.endpoint.test_run_service import write_over

SEED = 20261130


def once(invoke: Invoke, *more: str) -> Ran:
    """Make a pass."""
    return invoke("once", "--agent-stopped", "--json", *more)


def journal_of(place: Place) -> Path:
    """The file of the journal."""
    return place.folder / "state" / "journal.sqlite3"


@contextmanager
def held(place: Place) -> Iterator[None]:
    """Hold the journal, as a backup or a shell might that somebody left open."""
    holder = sqlite3.connect(journal_of(place), isolation_level=None, check_same_thread=False)
    with closing(holder) as db:
        db.execute("BEGIN EXCLUSIVE")
        yield


# Lost.


def test_without_its_journal_a_worker_knows_what_is_compacted(
    place: Place, server: Server, invoke: Invoke
) -> None:
    """The session itself says so; nothing is paid for, whether it was compacted or taken back."""
    assert once(invoke).json["compacted"] == 1
    shutil.rmtree(place.folder / "state")
    assert once(invoke).json["skipped"] == {"covered": 1}
    assert invoke("undo", SHORT_KEY).code == 0
    shutil.rmtree(place.folder / "state")
    assert once(invoke).json["skipped"] == {"held": 1}
    assert len(server.requests) == 1


def test_without_its_journal_a_worker_pays_once_more_and_loses_nothing(
    place: Place, server: Server, invoke: Invoke
) -> None:
    """What the agent wrote over can't be applied again: it is asked for anew."""
    before = place.lines()
    once(invoke)
    write_over(place)
    shutil.rmtree(place.folder / "state")

    assert once(invoke).json["compacted"] == 1

    assert place.lines() == before
    assert len(server.requests) == 2


def test_a_journal_that_is_lost_while_the_worker_runs(bare: Place, server: Server) -> None:
    """Between two passes it is begun anew, and all goes on."""
    bare.add(SHORT)
    with running(bare) as worker:
        worker.wait_for("session_compacted", key=SHORT_KEY)
        shutil.rmtree(bare.folder / "state")
        worker.wait_for_passes(2)
        bare.add(OTHERS[0])
        worker.wait_for("session_compacted", key=bare.key(OTHERS[0]))
        assert worker.stop() == 0
        assert len(server.requests) == 2


def test_a_journal_that_is_lost_while_an_answer_is_written(place: Place, server: Server) -> None:
    """The answer can't be kept, so the session is left as it was; the next pass asks once more."""
    before, lines = place.files(), place.lines()
    with server.holding(), running(place) as worker:
        server.wait_for(1)
        shutil.rmtree(place.folder / "state")
        server.play(error(401))
        server.release()
        failed = worker.wait_for("pass_failed")
        assert str(journal_of(place)) in failed["detail"]
        worker.wait_for("pass_stopped")
        assert place.files() == before
        server.play(answer())
        worker.send(signal.SIGHUP)
        worker.wait_for("session_compacted", key=SHORT_KEY)
        assert worker.stop() == 0
    assert place.lines() == lines
    assert len(server.requests) == 3


# Held by another process.


def test_a_journal_that_is_held_is_told_before_anything_is_paid(
    place: Place, server: Server, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 69 with the way out; when it is free again, all goes on."""
    server.play(error(503))
    once(invoke)
    server.play(answer())
    monkeypatch.setattr(journal_file, "_PATIENCE", 0.01)
    before = place.files()

    with held(place):
        for command in (("once", "--agent-stopped", "--force"), ("status",), ("run",)):
            ran = invoke(*command)
            assert ran.code == 69, command
            assert "another process holds it; try again when that is done" in ran.err

    assert place.files() == before
    assert len(server.requests) == 3  # the failure, with its retries
    assert once(invoke, "--force").json["compacted"] == 1


def test_a_journal_that_is_held_while_an_answer_is_written(
    place: Place, server: Server, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The session is left as it was; the next pass asks once more."""
    before = place.files()
    monkeypatch.setattr(journal_file, "_PATIENCE", 0.01)
    holders = ExitStack()

    def hold_and_answer(_: Request) -> Reply:
        holders.enter_context(held(place))
        return answer()

    server.answer_by(hold_and_answer)
    with holders:
        ran = once(invoke)
        assert ran.code == 69
        assert "another process holds it" in ran.err
        assert place.files() == before

    server.answer_by(lambda _: answer())
    assert once(invoke).json["compacted"] == 1
    assert len(server.requests) == 2


@pytest.mark.soak
def test_a_worker_outlives_one_who_holds_its_journal_for_long(bare: Place, server: Server) -> None:
    """Each pass waits ten seconds and says so; nothing is paid for until the journal is free."""
    with running(bare) as worker:
        worker.wait_for_passes(1)
        with held(bare):
            bare.add(SHORT)
            before = bare.files()
            failed = worker.wait_for("pass_failed", 2)
            assert "another process holds it" in failed["detail"]
            assert bare.files() == before
            assert not server.requests
        worker.wait_for("session_compacted", key=SHORT_KEY)
        assert worker.stop() == 0
    assert len(server.requests) == 1


# No room.


@pytest.fixture
def small_state(bare: Place) -> Iterator[Path]:
    """A state folder on a file system of its own, of one MiB."""
    state = bare.folder / "state"
    state.mkdir(mode=0o700)
    take_away = mount("-t", "tmpfs", "-o", "size=1m,mode=700", "none", target=state)
    yield state
    take_away()


def fill(folder: Path) -> Path:
    """Leave no room on a disk; return the file that takes it."""
    filler, room = folder / "filler", os.statvfs(folder)
    with filler.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, room.f_bavail * room.f_frsize)
    return filler


def test_a_journal_without_room_is_told_before_anything_is_paid(
    bare: Place, small_state: Path, server: Server, invoke: Invoke
) -> None:
    """Exit 69 with the way out, however often it is tried: no answer is paid for that is lost."""
    once(invoke)
    bare.add(SHORT, *OTHERS)
    before = bare.files()
    filler = fill(small_state)

    for _ in range(3):
        ran = once(invoke)
        assert ran.code == 69
        assert "make room on its disk" in ran.err
    assert bare.files() == before
    assert not server.requests

    filler.unlink()
    assert once(invoke).json["compacted"] == 4
    assert len(server.requests) == 4


def test_a_worker_goes_on_when_there_is_room_again(
    bare: Place, small_state: Path, server: Server
) -> None:
    """Each pass says what is wrong; the sessions are as they were until it is mended."""
    with running(bare) as worker:
        worker.wait_for_passes(1)
        filler = fill(small_state)
        bare.add(SHORT)
        before = bare.files()
        failed = worker.wait_for("pass_failed", 3)
        assert "disk is full" in failed["detail"]
        assert bare.files() == before
        assert not server.requests
        filler.unlink()
        worker.wait_for("session_compacted", key=SHORT_KEY)
        worker.wait_for_passes(1)
        assert worker.stop() == 0
    assert len(server.requests) == 1


def test_the_room_for_an_answer_is_kept_once_it_was_found(
    bare: Place, small_state: Path, server: Server, invoke: Invoke
) -> None:
    """A disk that fills up during the call costs nothing: the answer has its place already."""
    bare.add(SHORT)

    def fill_and_answer(_: Request) -> Reply:
        leave_little(small_state)
        return answer()

    server.answer_by(fill_and_answer)

    assert once(invoke).json["compacted"] == 1
    assert len(server.requests) == 1


def leave_little(folder: Path) -> None:
    """Leave a dozen pages on a disk: enough for what SQLite writes beside, and for no answer."""
    room = os.statvfs(folder)
    with (folder / "filler").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, (room.f_bavail - 12) * room.f_frsize)


# Damaged.


def damage(path: Path, chance: random.Random) -> None:
    """Flip bytes anywhere, or cut the file."""
    data = bytearray(path.read_bytes())
    if chance.random() < 0.25:
        del data[chance.randrange(len(data)) :]
    for _ in range(chance.choice((1, 8, 200, 4000))):
        if data:
            data[chance.randrange(len(data))] ^= chance.randrange(1, 256)
    path.write_bytes(data)


@pytest.mark.parametrize(
    "count", [20, pytest.param(500, marks=[pytest.mark.soak, pytest.mark.timeout(3000)])]
)
def test_a_damaged_journal_costs_no_message(
    count: int, bare: Place, server: Server, invoke: Invoke
) -> None:
    """A pass works, or ends with 78 and the way out; that way out helps, with a call at most."""
    bare.configure(limits="calls_per_hour = 100000\nper_session_per_day = 100000")
    chance = random.Random(SEED)
    bare.add(SHORT, OTHERS[0])
    assert once(invoke).json["compacted"] == 2
    bare.add(OTHERS[0])  # as an agent would that has not seen it: it is due for being applied again
    whole, sessions = journal_of(bare).read_bytes(), bare.files()
    lines = {stem: bare.lines(stem) for stem in (SHORT, OTHERS[0])}
    codes: Counter[int] = Counter()
    for number in range(count):
        journal_of(bare).write_bytes(whole)
        damage(journal_of(bare), chance)
        for name, data in sessions.items():
            (bare.sessions / name).write_bytes(data)
        asked = len(server.requests)

        ran = once(invoke)

        codes[ran.code] += 1
        assert ran.code in {0, 78}, (number, ran.err)
        if ran.code == 78:
            assert "move it aside and a new one is begun" in ran.err
            journal_of(bare).unlink()
            assert once(invoke).code == 0
        assert len(server.requests) - asked <= 1
        assert {stem: bare.lines(stem) for stem in lines} == lines
        assert once(invoke).json["due"] == 0
    print("journals:", dict(codes))  # noqa: T201 - the figures of the soak
    assert len(codes) == 2
