"""The sessions that were written last: what a check looks at more closely than at all others."""

from __future__ import annotations

from heapq import nlargest
from pathlib import Path
from typing import TYPE_CHECKING

from session.errors import SessionFault

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from session.store import SessionEntry, SessionStore, StoredSession

_SIZE_LIMIT = 16 << 20  # bytes; a check is to be quick


def load_newest(
    store: SessionStore, entries: Sequence[SessionEntry], limit: int
) -> Iterator[StoredSession]:
    """Yield the sessions whose files were written last, the newest first; unreadable ones not."""
    dated = (_date(entry) for entry in entries if entry.problem is None)
    known = [found for found in dated if found is not None]
    for _, _, entry in nlargest(limit, known, key=lambda found: found[:2]):
        try:
            yield store.load(entry)
        except SessionFault:
            continue


def _date(entry: SessionEntry) -> tuple[int, str, SessionEntry] | None:
    try:
        status = (Path(entry.ref.place) / entry.name).lstat()
    except OSError:
        return None  # deleted since it was listed
    return (status.st_mtime_ns, entry.name, entry) if status.st_size <= _SIZE_LIMIT else None
