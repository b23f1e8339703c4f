"""Which sessions there are, and which of them deserve a closer look.

Most sessions are done with after their header and their newest messages were read. What is left is
loaded whole and asked again.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from compactor.idle import Look
from compactor.journal import SessionMemory
from compactor.model import IdlePolicy, Outcome, Reason, SessionReport, Verdict
from session.errors import (
    AmbiguousKeyError,
    UnknownFolderError,
    UnknownSessionError,
    UnreadableSessionError,
)
from session.projection import read_tombstone

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from datetime import datetime

    from compactor.halt import Halt
    from session.model import SessionRef
    from session.store import SessionEntry, SessionStore


@dataclass(frozen=True, slots=True)
class Candidate:
    """A session that looks due, and when somebody last spoke in it (None where nobody knows)."""

    entry: SessionEntry
    idle_since: datetime | None


@dataclass(frozen=True, slots=True)
class Scan:
    """What a look at every session gave; the candidates come longest idle first."""

    candidates: tuple[Candidate, ...]
    skipped: tuple[SessionReport, ...]


def scan_sessions(
    store: SessionStore,
    entries: Iterable[SessionEntry],
    memories: Mapping[SessionRef, SessionMemory],
    policy: IdlePolicy,
    *,
    now: datetime,
    force: bool = False,
    halt: Halt,
) -> Scan:
    """Look at every entry without loading more than its end, until there is a reason to halt."""
    candidates: list[Candidate] = []
    skipped: list[SessionReport] = []
    for entry in entries:
        if halt.reason:
            skipped.append(skip(entry, Verdict(Reason.STOPPED, halt.reason)))
            continue
        memory = memories.get(entry.ref, SessionMemory())
        try:
            tail = store.peek(entry)
        except UnreadableSessionError as error:
            skipped.append(skip(entry, Verdict(Reason.UNREADABLE, error.problem)))
            continue
        try:
            look = Look(tail, memory, policy, now)
            since, verdict = look.since, look.decide(force=force)
        except Exception as error:  # noqa: BLE001 - one odd session never stops the others
            skipped.append(skip(entry, Verdict(Reason.UNREADABLE, type(error).__name__)))
            continue
        undone = memory.undone is not None or read_tombstone(tail.header) is not None
        if verdict.reason is Reason.DUE or (verdict.reason is Reason.COVERED and undone):
            candidates.append(Candidate(entry, since))
        else:
            skipped.append(skip(entry, verdict, since))
    candidates.sort(key=lambda c: (c.idle_since is None, c.idle_since or now, c.entry.ref))
    return Scan(tuple(candidates), tuple(skipped))


def skip(
    entry: SessionEntry, verdict: Verdict, idle_since: datetime | None = None
) -> SessionReport:
    """Report a session that was left alone."""
    return SessionReport(
        entry.ref, Outcome.SKIPPED, verdict.reason, verdict.detail, idle_since=idle_since
    )


def find_entry(
    entries: Iterable[SessionEntry], key: str, folder: str | None = None
) -> SessionEntry:
    """Return the one session with that key; raises `UnknownSessionError`, `AmbiguousKeyError`.

    `folder` is the name or the whole path of a folder, and decides where the key stands in several.
    """
    known = _entries_in(entries, folder)
    # Of two files in one folder that say that they are the same session the first listed counts.
    refs = {entry.ref: entry for entry in reversed(known) if entry.ref.key == key}
    found = [entry for entry in known if refs.get(entry.ref) is entry]
    if not found:
        keys = {entry.ref.key for entry in known}
        raise UnknownSessionError(key, near=tuple(get_close_matches(key, keys, n=3)))
    if len(found) > 1:
        names = [entry.ref.folder for entry in found]
        unique = len(set(names)) == len(names)
        raise AmbiguousKeyError(
            key, folders=tuple(names if unique else [entry.ref.place for entry in found])
        )
    return found[0]


def _entries_in(entries: Iterable[SessionEntry], folder: str | None) -> list[SessionEntry]:
    """Return the sessions of one folder, or all; raises `UnknownFolderError`."""
    known = list(entries)
    found = [e for e in known if folder in {None, e.ref.folder, e.ref.place}]
    if folder is not None and not found:
        raise UnknownFolderError(folder, folders=tuple(sorted({e.ref.folder for e in known})))
    return found


def find_entries(
    entries: Collection[SessionEntry], keys: Collection[str], folder: str | None = None
) -> list[SessionEntry]:
    """Return the sessions with these keys, or all of them where `keys` is empty.

    Raises `UnknownFolderError` where no session is in a folder of that name.
    """
    known = _entries_in(entries, folder)
    return [find_entry(known, key) for key in dict.fromkeys(keys)] if keys else known
