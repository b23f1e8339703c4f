"""The sessions of an agent: in memory between turns, looked at again before each, saved atomically.

The names and their behaviour are those of nanobot's `SessionManager`; what is different is listed
in docs/library.md. The differences are there so that nothing is lost when somebody else writes the
same sessions: a worker that compacts them, or a second agent.
"""

from __future__ import annotations

import logging
import threading
import weakref
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Self

from session.binding import Binding
from session.errors import SessionConflict, SessionWriteError
from session.live import Session
from session.location import open_agent_store
from session.preview import describe_listed

if TYPE_CHECKING:
    from os import PathLike

    from session.agent_store import AgentStore, Record

_log = logging.getLogger("session")
_ATTEMPTS = 3  # how often a save starts over because somebody else has just saved
CACHED_SESSIONS = 128


class SessionManager:
    """Sessions by key, from a folder of JSON Lines files or from a store.

    At most `cached` of those that nobody holds stay in memory (more only while they have unsaved
    messages). All methods may be called from several threads; what one thread does to the messages
    of a session while another saves it is the agent's own affair.
    """

    def __init__(
        self, folder_or_store: str | PathLike[str] | AgentStore, *, cached: int = CACHED_SESSIONS
    ) -> None:
        self._store = open_agent_store(folder_or_store)
        self._cached = cached
        self._recent: OrderedDict[str, Session] = OrderedDict()
        # Whoever holds a session gets the same one again, also after it has left the cache.
        self._live: weakref.WeakValueDictionary[str, Session] = weakref.WeakValueDictionary()
        self._bindings: weakref.WeakKeyDictionary[Session, Binding] = weakref.WeakKeyDictionary()
        self._mutex = threading.RLock()
        self._presence: weakref.finalize[[], SessionManager] | None = None

    def get_or_create(self, key: str) -> Session:
        """Return the session `key` with what is stored of it now; a new one where there is nothing.

        What is in memory and not stored yet is merged with what somebody else stored meanwhile.
        Where the two don't go together memory stands, and `save` will say so. Raises `SessionFault`
        where the record can't be read, and `ValueError` where the key can't be one.
        """
        with self._mutex:
            self._announce()
            session = self._find(key)
            binding = self._bindings.get(session) if session is not None else None
            if session is None or binding is None or binding.record is None:
                session, binding = Session(key), Binding()
                binding.attach(session, self._store.read(key))
            elif self._store.version_of(binding.record) != binding.record.version:
                try:
                    binding.attach(session, self._store.read(key))
                except SessionConflict as error:
                    _log.warning("session_conflict key=%r detail=%r", key, str(error))
            self._remember(session, binding)
            return session

    def save(self, session: Session, *, fsync: bool = False) -> None:
        """Store a session, all or nothing; with `fsync` it survives a power cut.

        What somebody else stored meanwhile is merged into it. Raises `SessionConflict` where that
        can't be, and other `SessionFault`s where it can't be written; then nothing is changed.
        """
        with self._mutex:
            binding = self._bindings.get(session) or Binding()
            if binding.record is None:
                binding.attach(session, self._store.read(session.key))
            if not self._save_merging(session, binding, fsync=fsync):
                with self._store.holding():  # others were faster each time
                    binding.attach(session, self._store.read(session.key))
                    if not self._save_merging(session, binding, fsync=fsync):
                        raise SessionWriteError(session.key, "somebody else keeps changing it")
            self._remember(session, binding)

    def flush_all(self) -> int:
        """Save every session in memory durably, and return how many that were.

        Call it when the loop and all senders have stopped. An error is logged, and the others are
        saved all the same.
        """
        with self._mutex:
            saved = 0
            for key, session in {**self._live, **self._recent}.items():
                try:
                    self.save(session, fsync=True)
                    saved += 1
                except Exception as error:  # noqa: BLE001 - the others must be saved all the same
                    _log.error("session_not_flushed key=%r reason=%r", key, str(error))
            return saved

    def invalidate(self, key: str) -> None:
        """Forget what is in memory of a session, unsaved messages included."""
        with self._mutex:
            self._recent.pop(key, None)
            self._live.pop(key, None)

    def delete_session(self, key: str) -> bool:
        """Delete a session with all that is kept of it, and say whether there was one."""
        with self._mutex:
            self.invalidate(key)
            return self._store.delete(key)

    def list_sessions(self) -> list[dict[str, Any]]:
        """Return what is stored, the newest first, without loading it into memory.

        Each is `{"key", "created_at", "updated_at", "title", "preview", "path"}`, all of them text.
        """
        listed = [describe_listed(found) for found in self._store.list_records()]
        return sorted(listed, key=lambda about: str(about["updated_at"]), reverse=True)

    def close(self) -> None:
        """Let the worker know that no agent is here any more, until the next ask.

        Sessions are not saved by this.
        """
        if self._presence is not None:
            self._presence()
            self._presence = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _save_merging(self, session: Session, binding: Binding, *, fsync: bool) -> bool:
        """Store a session, merging what others have stored meanwhile; False if that goes on."""
        for _ in range(_ATTEMPTS):
            if self._save_once(session, binding, fsync=fsync) is not None:
                return True
            binding.attach(session, self._store.read(session.key))
        return False

    def _save_once(self, session: Session, binding: Binding, *, fsync: bool) -> Record | None:
        """Store a session if the store has what we think; None where it has something else."""
        record = binding.record
        assert record is not None  # noqa: S101 - the session was attached
        if record.version is not None and not binding.is_changed(session):
            if self._store.version_of(record) != record.version:
                return None
            if fsync:
                self._store.sync(record)
            return record
        written = self._store.write(record, binding.draft(session), durable=fsync)
        if written is not None:
            binding.settle(session, written)
        return written

    def _find(self, key: str) -> Session | None:
        return self._recent.get(key) or self._live.get(key)

    def _remember(self, session: Session, binding: Binding) -> None:
        self._bindings[session] = binding
        self._live[session.key] = session
        self._recent[session.key] = session
        self._recent.move_to_end(session.key)
        if len(self._recent) > self._cached:
            self._evict()

    def _evict(self) -> None:
        """Let go of those that were not asked for longest; never of unsaved messages."""
        surplus = len(self._recent) - self._cached
        for key, session in list(self._recent.items())[:-1]:
            if surplus <= 0:
                return
            if not self._bindings[session].is_changed(session):
                del self._recent[key]
                surplus -= 1

    def _announce(self) -> None:
        if self._presence is not None:
            return
        try:
            presence = self._store.announce()
        except OSError as error:  # a folder that is read only: there is nothing to compact either
            _log.warning("agent_not_announced reason=%r", str(error))
            self._presence = weakref.finalize(self, lambda: None)
            return
        self._presence = weakref.finalize(self, presence.close)
