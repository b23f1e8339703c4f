"""Taking back a compaction: the projection before it stands again, and the journal remembers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from compactor.journal import Undone
from session.projection import digest_content, undo_projection
from session.store import CommitStatus

if TYPE_CHECKING:
    from datetime import datetime

    from compactor.journal import Journal
    from session.model import SessionRef
    from session.store import SessionEntry, SessionStore


@dataclass(frozen=True, slots=True)
class UndoResult:
    """What came of an undo. `settled` is False where the record could not be changed."""

    ref: SessionRef
    covers: int
    sentence: str
    undone: bool = False
    settled: bool = True

    def describe(self) -> dict[str, Any]:
        """Return what `undo --json` prints."""
        return {
            "key": self.ref.key,
            "folder": self.ref.folder,
            "undone": self.undone,
            "covers": self.covers,
            "detail": self.sentence,
        }


def undo_compaction(
    store: SessionStore, journal: Journal, entry: SessionEntry, *, everything: bool, now: datetime
) -> UndoResult:
    """Go back to the projection before the present one, or with `everything` to none.

    A projection that is not ours is only ever removed with `everything`.
    """
    session = store.load(entry)
    current = session.projection
    key = entry.ref.key
    if current.is_empty:
        return UndoResult(entry.ref, 0, f"{key} is not compacted: nothing to undo")
    if current.stamp is None and not everything:
        return UndoResult(
            entry.ref,
            current.covers,
            f"the entry of {key} is not ours, so it was left alone; --all removes it all the same",
        )
    content = digest_content(session.messages[: current.covers])
    change = undo_projection(
        current,
        message_count=len(session.messages),
        content=content,
        at=now.isoformat(timespec="seconds").replace("+00:00", "Z"),
        everything=everything,
    )
    result = store.commit(session, change, lambda _tail: None)
    covers = change.projection.covers
    if result.status is not CommitStatus.COMMITTED:
        told = f"{key} was left alone: {result.detail}"
        return UndoResult(entry.ref, current.covers, told, settled=False)
    journal.note_undone(entry.ref, Undone(current.covers, content, len(session.messages)))
    told = f"{covers} messages are covered again" if covers else "its full transcript is back"
    return UndoResult(entry.ref, covers, f"{key}: {told}", undone=True)
