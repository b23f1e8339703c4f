"""What is killed and failed at each of its system calls: a commit, an undo and an agent's save.

Each is done to one session whose lines no library would spell so, and each knows how the file looks
before it and after it: byte for byte, but for the header.
"""

from __future__ import annotations

import contextlib
import io
import json
import shutil
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from compactor.cli import main
from session.errors import SessionError
from session.jsonl_store import JsonlStore
from session.keys import file_name
from session.manager import SessionManager
from session.store import CommitStatus
from tests.session.builders import change_for, header_fields

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from session.store import SessionTail

KEY = "telegram:42"
LOCKS = {"commits.lock", "worker.lock"}
CONFIG = '[store]\nurl = "jsonl:sessions"\n[summary]\nengine = "digest"\n'
LINES = (
    b'{"content":"caf\\u00e9",   "role":"user","n":1.0, "zz":{"b":1,"a":2}}',
    b'{"role": "assistant", "content": "caf\xc3\xa9", "thinking_blocks": [{"signature": "x=="}]}',
    b'{"no_role": true}',
    b'{"role": "user", "content": "\\ud83d alone"}',
    b'{"role": "assistant", "content": "answer"}',
)
SAID = "said under fire"


class Refused(Exception):  # noqa: N818 - not a fault, but that one was named
    """The operation said that it failed, in a way that its user is told of."""


class _Said(io.StringIO):
    """What a command prints, kept without any call of the system's."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []

    def write(self, text: str, /) -> int:
        """Keep it."""
        self.parts.append(text + "")  # click tries bytes too, which are refused
        return len(text)

    def flush(self) -> None:
        """Nothing waits."""

    def isatty(self) -> bool:
        """No person reads it."""
        return False


def allow(_: SessionTail) -> None:
    """Let every commit through."""


class Operation(ABC):
    """One thing that is done to the session below `place`."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.folder = place / "sessions"
        self.live = self.folder / file_name(KEY)
        self.held = contextlib.ExitStack()  # an agent is there for as long as it is not closed

    def lay_out(self) -> None:
        """Make everything anew, as it is before the operation."""
        self.held.close()
        shutil.rmtree(self.place, ignore_errors=True)
        self.folder.mkdir(parents=True)
        (self.place / "config.toml").write_text(CONFIG)
        header = json.dumps(header_fields(KEY)).encode()
        self.live.write_bytes(b"\n".join((header, *LINES, b"")))
        self.before = self.live.read_bytes()

    @abstractmethod
    def prepare(self) -> Callable[[], None]:
        """Do what comes ahead, and return what is to be disturbed; that raises what went wrong."""

    @abstractmethod
    def is_new(self, header: Any, lines: tuple[bytes, ...]) -> bool:
        """Whether header and lines are those of the operation's result."""

    def state(self) -> str:
        """Say whether the file is entirely old or entirely new; fails where it is neither."""
        content = self.live.read_bytes()
        if content == self.before:
            return "old"
        first, *lines, last = content.split(b"\n")
        assert last == b"", content
        assert self.is_new(json.loads(first), tuple(lines)), content
        return "new"

    def run_next(self) -> None:
        """Do what the next runs do: the operation again, and a pass; look what is left then."""
        self.held.close()
        with contextlib.suppress(Refused), self.held:  # there may be nothing left to undo
            self.prepare()()
        assert self.state() == "new"
        with JsonlStore([self.folder], agent_stopped=True).exclusive():
            pass
        assert self.state() == "new"
        self.check_left()

    def check_left(self) -> None:
        """Nothing but locks stays in the hidden folder, and nothing strange beside it."""
        area = self.folder / ".compactor"
        assert {path.name for path in area.iterdir()} <= LOCKS
        beside = {path.name for path in self.folder.iterdir()}
        assert beside - {".session-files.lock"} == {self.live.name, ".compactor"}


class Commit(Operation):
    """The worker's store commits a compaction."""

    def prepare(self) -> Callable[[], None]:
        """Load the session; what follows is `JsonlStore.commit`."""
        store = JsonlStore([self.folder], agent_stopped=True)
        session = store.load(store.list_sessions()[0])
        change = change_for(session.messages, 2)

        def commit() -> None:
            try:
                result = store.commit(session, change, allow)
            except SessionError as error:
                raise Refused from error
            if result.status is not CommitStatus.COMMITTED:
                raise Refused

        return commit

    def is_new(self, header: Any, lines: tuple[bytes, ...]) -> bool:
        """Compacted, and no line is touched."""
        return header["last_archived"] == 2 and lines == LINES


class Undo(Operation):
    """The command `compactor undo`, as a whole."""

    def lay_out(self) -> None:
        """Compact the session first."""
        super().lay_out()
        Commit(self.place).prepare()()
        with JsonlStore([self.folder], agent_stopped=True).exclusive():
            pass
        self.before = self.live.read_bytes()

    def prepare(self) -> Callable[[], None]:
        """Return the command; it is refused where it ends with another code than 0."""
        arguments = ["undo", KEY, "--config", str(self.place / "config.toml"), "--json"]

        def undo() -> None:
            said = _Said()
            try:
                with contextlib.redirect_stdout(said), contextlib.redirect_stderr(_Said()):
                    main(arguments)
            except SystemExit as ended:
                if ended.code != 0:
                    raise Refused from ended
            if not json.loads("".join(said.parts))["undone"]:
                raise Refused

        return undo

    def is_new(self, header: Any, lines: tuple[bytes, ...]) -> bool:
        """The compaction is gone, and no line is touched."""
        return header["last_archived"] == 0 and lines == LINES


class Save(Operation):
    """An agent that uses the library saves what was said."""

    durable = False

    def prepare(self) -> Callable[[], None]:
        """Load the session and add a message; what follows is `SessionManager.save`."""
        manager = self.held.enter_context(SessionManager(self.folder))
        session = manager.get_or_create(KEY)
        if session.messages[-1]["content"] != SAID:  # else an earlier run has saved it
            session.add_message("user", SAID)

        def save() -> None:
            try:
                manager.save(session, fsync=self.durable)
            except SessionError as error:
                raise Refused from error

        return save

    def is_new(self, header: Any, lines: tuple[bytes, ...]) -> bool:
        """One message more, once, and the others are untouched."""
        assert header["last_archived"] == 0
        return lines[:-1] == LINES and json.loads(lines[-1])["content"] == SAID


class DurableSave(Save):
    """The same, and it survives a power cut."""

    durable = True


OPERATIONS: tuple[type[Operation], ...] = (Commit, Undo, Save, DurableSave)
