"""What a service manager hears, on a real socket, and what it said when it started us."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from compactor.notify import Notifier
from compactor.service import (
    JOURNAL_VARIABLE,
    NOTIFY_VARIABLE,
    WATCHDOG_VARIABLE,
    WATCHED_VARIABLE,
    Service,
    read_service,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="systemd runs on Linux")

NOBODY = Service(notify_socket=None, watchdog=None, journal=False)


class Manager:
    """A service manager that listens at an address, as systemd does."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(address.replace("@", "\0", 1))
        self._socket.settimeout(0)

    def hear(self) -> dict[str, str]:
        """Return the fields of the next datagram, which is there already."""
        lines = self._socket.recv(1 << 16).decode().split("\n")
        return dict(line.split("=", 1) for line in lines)

    def close(self) -> None:
        """Stop listening."""
        self._socket.close()


@pytest.fixture(params=["path", "abstract"])
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Manager]:
    """Listen at an address of each kind."""
    path = str(tmp_path / "notify")
    manager = Manager(path if request.param == "path" else f"@compactor-{uuid4()}")
    yield manager
    manager.close()


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Say what a service manager says, and nothing that the one above this test said."""
    names = (NOTIFY_VARIABLE, WATCHDOG_VARIABLE, WATCHED_VARIABLE, JOURNAL_VARIABLE)

    def say(**variables: str) -> None:
        for name in names:
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    return say


# What is told.


def test_a_manager_hears_each_turn_of_a_life(manager: Manager) -> None:
    """One datagram each, with the fields that systemd knows."""
    notifier = Notifier(manager.address)
    notifier.ready("watching 3 folders")
    assert manager.hear() == {"READY": "1", "STATUS": "watching 3 folders"}
    notifier.status("a pass: 2 of 14")
    assert manager.hear() == {"STATUS": "a pass: 2 of 14"}
    notifier.watchdog()
    assert manager.hear() == {"WATCHDOG": "1"}
    notifier.stopping("interrupted")
    assert manager.hear() == {"STOPPING": "1", "STATUS": "interrupted"}


def test_a_reload_says_when_it_began(manager: Manager) -> None:
    """In microseconds of the monotonic clock: systemd compares it with its own."""
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    Notifier(manager.address).reloading("reading the configuration")
    after = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    heard = manager.hear()
    assert before <= int(heard.pop("MONOTONIC_USEC")) <= after
    assert heard == {"RELOADING": "1", "STATUS": "reading the configuration"}


@pytest.mark.parametrize("text", ["сжато 12 из 14", "已压缩 12 个会话", "مضغوط", "🗜 12"])
def test_a_status_may_be_in_any_script(manager: Manager, text: str) -> None:
    """It arrives as it was said, in UTF-8."""
    Notifier(manager.address).status(text)
    assert manager.hear() == {"STATUS": text}


def test_what_is_no_character_does_not_keep_a_status_back(manager: Manager) -> None:
    """The name of a folder may hold a lone surrogate, which UTF-8 can't say."""
    Notifier(manager.address).status("folder \udcff is gone")
    assert manager.hear() == {"STATUS": "folder ? is gone"}


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\v", "\x1c", "\u2028"])
def test_a_status_can_not_bring_a_field_of_its_own(manager: Manager, newline: str) -> None:
    """A status is one line, whatever a name in it holds."""
    Notifier(manager.address).status(f"folder a{newline}MAINPID=1")
    assert manager.hear() == {"STATUS": "folder a MAINPID=1"}


@pytest.mark.parametrize("character", ["a", "é", "压", "🗜"])
def test_a_long_status_is_cut_between_characters(manager: Manager, character: str) -> None:
    """To what systemd heeds, so that READY is not ignored along with it."""
    Notifier(manager.address).ready("x" + character * 9000)
    heard = manager.hear()
    assert heard["READY"] == "1"
    assert set(heard["STATUS"]) == {"x", character}
    assert 1020 < len(heard["STATUS"].encode()) <= 1024


# Nobody who hears it.


def tell_everything(notifier: Notifier) -> None:
    """Call each method once."""
    notifier.ready("ready")
    notifier.status("at work")
    notifier.watchdog()
    notifier.reloading("reloading")
    notifier.stopping("stopping")


def test_without_a_manager_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Started by hand, no socket is even made."""

    def refuse(*_: object) -> None:
        pytest.fail("made a socket")

    monkeypatch.setattr(socket, "socket", refuse)
    tell_everything(Notifier(None))


@pytest.mark.parametrize("address", ["gone", "x" * 200, "@gone", "vsock:2:9999", "a\0b"])
def test_a_manager_that_is_not_there_stops_nobody(tmp_path: Path, address: str) -> None:
    """Neither a missing socket nor an address that is none."""
    tell_everything(Notifier(address if address[0] == "@" else str(tmp_path / address)))


def test_a_manager_that_stopped_listening_stops_nobody(manager: Manager) -> None:
    """Its file is still there, and refuses."""
    manager.close()
    tell_everything(Notifier(manager.address))


def test_a_manager_that_is_too_busy_is_not_waited_for(manager: Manager) -> None:
    """Far more than a socket holds; once there is room, the next word arrives."""
    notifier = Notifier(manager.address)
    for number in range(5000):
        notifier.status(f"{number} " + "x" * 900)
    heard = 0
    while heard < 5000:
        try:
            manager.hear()
        except BlockingIOError:
            break
        heard += 1
    assert 0 < heard < 5000
    notifier.watchdog()
    assert manager.hear() == {"WATCHDOG": "1"}


# What the manager said.


def test_started_by_hand_there_is_no_service(environment: Callable[..., None]) -> None:
    """Without its variables there is nothing to do."""
    environment()
    assert read_service() == NOBODY
    environment(NOTIFY_SOCKET="", WATCHDOG_USEC="", WATCHDOG_PID="", JOURNAL_STREAM="")
    assert read_service() == NOBODY


def test_the_socket_is_the_managers(environment: Callable[..., None], manager: Manager) -> None:
    """What is read is what a notifier takes."""
    environment(NOTIFY_SOCKET=manager.address)
    Notifier(read_service().notify_socket).watchdog()
    assert manager.hear() == {"WATCHDOG": "1"}


def test_the_watchdog_is_ours_if_the_number_is(environment: Callable[..., None]) -> None:
    """A child inherits the variables, but nobody watches it."""
    minutes = timedelta(minutes=3)
    environment(WATCHDOG_USEC="180000000")
    assert read_service().watchdog == minutes
    environment(WATCHDOG_USEC="180000000", WATCHDOG_PID=str(os.getpid()))
    assert read_service().watchdog == minutes
    environment(WATCHDOG_USEC="180000000", WATCHDOG_PID=str(os.getppid()))
    assert read_service() == NOBODY


@pytest.mark.parametrize(
    "text", ["0", "-1", "1.5", "3min", " 5", "1_000", "\uff11", "²", "9" * 30, "9" * 5000]
)
def test_a_watchdog_that_is_no_time_is_none(environment: Callable[..., None], text: str) -> None:
    """Garbage in the environment does not keep the worker from starting."""
    environment(WATCHDOG_USEC=text)
    assert read_service() == NOBODY


def test_standard_error_is_the_journal_if_it_is_that_stream(
    environment: Callable[..., None],
) -> None:
    """Whoever redirects it, inherits the variable all the same."""
    status = os.fstat(2)
    environment(JOURNAL_STREAM=f"{status.st_dev}:{status.st_ino}")
    assert read_service().journal
    for other in (f"{status.st_dev}:{status.st_ino + 1}", f"{status.st_ino}", ":", "journal"):
        environment(JOURNAL_STREAM=other)
        assert read_service() == NOBODY


def test_without_standard_error_there_is_no_journal(environment: Callable[..., None]) -> None:
    """It may be closed (`2>&-`)."""
    environment(JOURNAL_STREAM="1:1")
    kept = os.dup(2)
    os.close(2)
    try:
        assert read_service() == NOBODY
    finally:
        os.dup2(kept, 2)
        os.close(kept)
