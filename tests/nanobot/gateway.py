"""The real nanobot gateway in a folder of its own, and a person who talks to it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.end_to_end.support import message_lines, read_header
from tests.nanobot.model import MODEL
from tests.nanobot.release import PROGRAM, PYTHON, is_older, sessions_pattern

SCRIPTS = Path(__file__).with_name("scripts")
_PATIENCE = 90.0
_MOMENT = 0.1  # between two looks for a condition


def wait_until(holds: Callable[[], bool], *, patience: float = _PATIENCE) -> None:
    """Wait until something holds; raises `TimeoutError`."""
    waiting = threading.Event()
    for _ in range(int(patience / _MOMENT)):
        if holds():
            return
        waiting.wait(_MOMENT)
    raise TimeoutError


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as bound:
        return int(bound.getsockname()[1])


def run_script(name: str, *arguments: str, plugin: Path | None = None) -> Any:
    """Run one of our scripts with nanobot's Python; returns the JSON that it prints."""
    done = subprocess.run(
        [PYTHON, str(SCRIPTS / name), *arguments],
        env=_environment(plugin),
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _environment(plugin: Path | None, home: Path | None = None) -> dict[str, str]:
    """What a child of nanobot's gets: the plugin's folder in its path, or nothing of ours."""
    inherited = dict(os.environ)  # noqa: TID251 - a child needs one
    for name in ("PYTHONPATH", "COVERAGE_PROCESS_CONFIG"):
        inherited.pop(name, None)
    # What it looks for beyond this machine (tiktoken's vocabulary) it is refused at once.
    added = {"NO_COLOR": "1", "HTTPS_PROXY": "http://127.0.0.1:9"}
    if plugin is not None:
        added["PYTHONPATH"] = str(plugin)
    if home is not None:
        added["HOME"] = str(home)
    return inherited | added


@dataclass
class Gateway:
    """A gateway that can be started and stopped.

    `plugin` is a folder in which our wheel is installed, None for the unmodified release.
    `idle_minutes` is nanobot's own `idleCompactAfterMinutes`, 0 for never.
    """

    folder: Path
    model_url: str
    plugin: Path | None = None
    idle_minutes: int = 0
    chat_id: str = ""
    _port: int = field(default_factory=free_port)
    _process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> str:
        """What the gateway has said."""
        return (self.folder / "gateway.log").read_text()

    @property
    def key(self) -> str:
        """The key of the session that we talk in."""
        return f"websocket:{self.chat_id}"

    @property
    def path(self) -> Path:
        """The file of the session that we talk in."""
        files = self.folder.glob(f"{sessions_pattern()}/*.jsonl")
        return next(path for path in files if read_header(path)["key"] == self.key)

    @property
    def header(self) -> Any:
        """What the session's file says first."""
        return read_header(self.path)

    @property
    def lines(self) -> list[bytes]:
        """The messages in the session's file."""
        return [line for line in message_lines(self.path.read_bytes()) if line]

    @property
    def turn(self) -> bytes:
        """What is kept of the turn in flight; nothing where there is none."""
        if is_older():
            state = self.header["metadata"].get("runtime_checkpoint")
            return json.dumps(state).encode() if state else b""
        path = self.path.with_suffix(".checkpoint.json")
        return path.read_bytes() if path.exists() else b""

    def configure(self) -> None:
        """Write its configuration; one that runs goes on with the one that it read."""
        for name in ("workspace", "home"):
            (self.folder / name).mkdir(exist_ok=True)
        defaults = {
            "workspace": str(self.folder / "workspace"),
            "model": MODEL,
            "provider": "custom",
            "idleCompactAfterMinutes": self.idle_minutes,
            "idleCompactCheckIntervalSeconds": 1,
        }
        socket_channel = {
            "enabled": True,
            "host": "127.0.0.1",
            "port": self._port,
            "websocketRequiresToken": False,
            "allowFrom": ["*"],
        }
        config = {
            "agents": {"defaults": defaults},
            "providers": {"custom": {"apiKey": "nobody", "apiBase": self.model_url}},
            "channels": {"websocket": socket_channel},
            "gateway": {"host": "127.0.0.1", "port": free_port()},
        }
        (self.folder / "config.json").write_text(json.dumps(config))

    def start(self) -> None:
        """Start it, and wait until it listens."""
        self.configure()
        arguments = ["gateway", "--foreground", "--verbose", "--config"]
        with (self.folder / "gateway.log").open("ab") as log:
            self._process = subprocess.Popen(
                [PYTHON, PROGRAM, *arguments, str(self.folder / "config.json")],
                env=_environment(self.plugin, home=self.folder / "home"),
                cwd=self.folder,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        wait_until(self._listens)

    def stop(self) -> None:
        """Send SIGTERM, and wait until it has ended."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            assert self._process.wait(30) in {0, -signal.SIGTERM}, self.log
            self._process = None

    def kill(self) -> None:
        """End it at once, if it still runs."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def say(self, *texts: str) -> list[str]:
        """Say something in our chat, which the first call begins; returns the replies."""
        return list(self._talk(texts)["replies"])

    def time(self, *texts: str) -> list[float]:
        """Say something as `say` does; returns the seconds of each turn."""
        return list(self._talk(texts)["seconds"])

    def _talk(self, texts: tuple[str, ...]) -> Any:
        done = run_script("chat.py", str(self._port), self.chat_id, *texts)
        self.chat_id = str(done["chat_id"])
        return done

    def _listens(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self.log
        try:
            socket.create_connection(("127.0.0.1", self._port), 1).close()
        except OSError:
            return False
        return True


Start = Callable[..., Gateway]
