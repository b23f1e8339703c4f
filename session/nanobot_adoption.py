"""How a running nanobot comes to see a compaction: its session manager looks at the file again.

nanobot keeps its sessions in memory and never reads a cached one's file a second time, so its next
save would write over what the worker has written. Here the two ways by which everything goes,
`get_or_create` and `save` of the live manager, look first: one `stat` of the file, and its header
where that has changed. No thread and no watcher. What is taken over is the projection alone, and
only while nobody talks; in every doubt memory stands, and the worker applies its entry again later.

Nothing of nanobot is imported here; `session.nanobot_plugin` is how nanobot finds it.
"""

from __future__ import annotations

import inspect
import json
import math
import time
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from loguru import logger

from session.adopter import Adopter
from session.model import FileIdentity
from session.record import BUSY_KEYS, STAMP_KEY, SUMMARY_KEY, Header

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

KIND = "nanobot-plugin"
MINUTES_FIELD = "idle_compact_after_minutes"  # in the sign: what the running process goes by
QUIET_SECONDS = 5.0  # 0.3.0 reads entry and history in two steps, both within a moment
_ANY_COUNT = 1 << 62
_LOOK = "_idle_compactor_look"  # on the live session; nanobot's save names what it writes
_ADOPTION = "_idle_compactor"  # on the live manager


class LiveSession(Protocol):
    """What we know of a session in nanobot's memory."""

    key: str
    messages: list[dict[str, Any]]
    metadata: dict[str, Any]
    updated_at: datetime
    last_consolidated: int


class LiveManager(Protocol):
    """What we know of nanobot's session manager."""

    sessions_dir: Path
    get_or_create: Callable[[str], LiveSession]
    save: Callable[..., None]

    def _get_session_path(self, key: str) -> Path: ...


class Ruling(StrEnum):
    """What is to be done about a file that may say something else than memory."""

    SAME = "they say the same"
    ADOPT = "only the file's projection moved"
    MEMORY_MOVED = "the projection in memory moved"
    SPOKEN = "file and memory are of different moments"
    BUSY = "a turn is in flight"
    JUST_ASKED = "it was asked for a moment ago"
    BEYOND = "it covers more messages than there are"


@dataclass(frozen=True, slots=True)
class Written:
    """A projection as it is spelled in a record, ours or not."""

    covers: int
    summary: object
    stamp: object

    @classmethod
    def in_file(cls, header: Header) -> Written:
        """Take it out of a file's header."""
        metadata = header.metadata
        return cls(header.cursor(_ANY_COUNT), metadata.get(SUMMARY_KEY), metadata.get(STAMP_KEY))

    @classmethod
    def in_memory(cls, session: LiveSession) -> Written:
        """Take it out of a live session."""
        metadata = session.metadata
        return cls(session.last_consolidated, metadata.get(SUMMARY_KEY), metadata.get(STAMP_KEY))


@dataclass(frozen=True, slots=True)
class Side:
    """A projection, and when the session was last talked in, as one side knows it."""

    written: Written
    updated_at: datetime | None


def rule_on(
    file: Side,
    memory: Side,
    *,
    agreed: Written | None,
    message_count: int,
    is_busy: bool,
    unasked_seconds: float,
) -> Ruling:
    """Say whether a live session may take over the projection in its file.

    `agreed` is what both said at the last look, None where there was none. `unasked_seconds` is how
    long nobody has asked for the session.
    """
    if file.written == memory.written:
        return Ruling.SAME
    if memory.written != agreed:
        return Ruling.MEMORY_MOVED
    if file.updated_at is None or file.updated_at != memory.updated_at:
        return Ruling.SPOKEN
    if is_busy:
        return Ruling.BUSY
    if unasked_seconds < QUIET_SECONDS:
        return Ruling.JUST_ASKED
    return Ruling.ADOPT if file.written.covers <= message_count else Ruling.BEYOND


@dataclass(frozen=True, slots=True)
class _Look:
    """The last look at a session: the file's state then, what both said, and when it was."""

    identity: FileIdentity | None
    agreed: Written | None
    at: float


def follow_files(manager: LiveManager | None, *, read_minutes: Callable[[], int]) -> None:
    """Let a live manager see what others write, from now on; once is enough, and it never raises.

    It is None where nanobot loads its tools for a sub-agent. `read_minutes` returns after how many
    minutes nanobot compacts idle sessions itself, 0 for never.
    """
    if manager is None or _ADOPTION in vars(manager):
        return
    settings = {}
    with _nothing_raised("nanobot_settings_not_read"):
        settings[MINUTES_FIELD] = int(read_minutes())
    with _nothing_raised("nanobot_not_followed"):
        adoption = Adoption(manager)
        vars(manager)[_ADOPTION] = adoption
        adoption.start(**settings)


class Adoption:
    """A live manager that looks at a session's file when it is asked for, or is to be saved.

    `clock` counts seconds.
    """

    def __init__(
        self, manager: LiveManager, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._manager = manager
        self._get_or_create, self._save = manager.get_or_create, manager.save
        # Since 0.3.5; the same thread may take it again, as `save` does.
        self._lock = getattr(manager, "locked_session_files", nullcontext)
        self._clock = clock
        self._sign: Adopter | None = None

    def start(self, **settings: int) -> None:
        """Stand in for the manager's two methods, and leave a sign for the worker.

        The sign also holds these settings of nanobot's.
        """
        self._manager.get_or_create, self._manager.save = self.get_or_create, self.save
        self._sign = Adopter(self._manager.sessions_dir, KIND, **settings)
        _say("INFO", "nanobot_followed folder={}", self._manager.sessions_dir)

    def get_or_create(self, key: str) -> LiveSession:
        """Return the manager's session, which has seen its file."""
        session = self._get_or_create(key)
        self._look(session, is_new=True)
        return session

    def save(self, session: LiveSession, *args: object, **options: object) -> None:
        """Save a session as the manager does; a compaction that came just before is kept."""
        with ExitStack() as held:
            with _nothing_raised("lock_not_taken", session.key):
                held.enter_context(self._lock())
            self._look(session, is_new=False)
            self._save(session, *args, **options)
        with _nothing_raised("save_not_noted", session.key):
            # The identity is not ours to know: where nobody locks, another may have written since.
            vars(session)[_LOOK] = _Look(None, Written.in_memory(session), self._clock())

    def _look(self, session: LiveSession, *, is_new: bool) -> None:
        """Look at the file. A session that was just loaded (`is_new`) says what its file said."""
        with _nothing_raised("session_left_as_it_is", session.key):
            now, memory = self._clock(), Written.in_memory(session)
            last = vars(session).get(_LOOK) or _Look(None, memory if is_new else None, -math.inf)
            vars(session)[_LOOK] = _Look(last.identity, last.agreed, now)
            path = self._manager._get_session_path(session.key)  # noqa: SLF001 - a test pins it
            try:
                identity = FileIdentity.of(path.stat())
            except FileNotFoundError:
                return
            if identity == last.identity:
                return  # as nearly always
            try:
                agreed = self._compare(session, memory, path, last, now - last.at)
            except Exception:
                # Once for each state of the file, not at every ask.
                vars(session)[_LOOK] = _Look(identity, last.agreed, now)
                raise
            if agreed is not None:
                vars(session)[_LOOK] = _Look(identity, agreed, now)

    def _compare(
        self, session: LiveSession, memory: Written, path: Path, last: _Look, unasked: float
    ) -> Written | None:
        """Return what file and memory both say now, None where they differ."""
        with path.open("rb") as file:
            header = Header(json.loads(file.readline()))
        at = header.updated_at
        found = Side(
            Written.in_file(header), datetime.fromisoformat(at) if isinstance(at, str) else None
        )
        ruling = rule_on(
            found,
            Side(memory, session.updated_at),
            agreed=last.agreed,
            message_count=len(session.messages),
            is_busy=any(session.metadata.get(key) for key in BUSY_KEYS),
            unasked_seconds=unasked,
        )
        if ruling is Ruling.ADOPT:
            _adopt(session, header, found.written)
            _say("INFO", "session_adopted key={} covers={}", session.key, found.written.covers)
        elif ruling is not Ruling.SAME:
            _say("DEBUG", "session_not_adopted key={} reason={!r}", session.key, ruling.value)
            return None
        return found.written


def _adopt(session: LiveSession, header: Header, written: Written) -> None:
    session.last_consolidated = written.covers
    for key in (SUMMARY_KEY, STAMP_KEY):
        if key in header.metadata:
            session.metadata[key] = header.metadata[key]
        else:
            session.metadata.pop(key, None)
    if hasattr(session, "provider_state"):  # since 0.3.5; it continues the uncompacted history
        session.provider_state = None


@contextmanager
def _nothing_raised(event: str, key: str = "") -> Iterator[None]:
    """Keep whatever goes wrong here away from nanobot, and say so without a word of the content."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - an agent's turn is worth more than a compaction
        _say("WARNING", "{} key={} error={}", event, key, type(error).__name__)


def _say(level: str, event: str, *values: object) -> None:
    """Log in the name of the module of nanobot's that called, so that we are silent where it is.

    `nanobot agent`, on a terminal, disables the log of all that is called `nanobot`.
    """
    frame, depth = inspect.currentframe(), 0
    while frame is not None and not frame.f_globals.get("__name__", "").startswith("nanobot."):
        frame, depth = frame.f_back, depth + 1
    logger.opt(depth=depth if frame is not None else 0).log(level, event, *values)
