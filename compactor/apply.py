"""From an accepted entry to the change that a store commits, with its provenance."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, cast

from compactor.journal import Landed
from session.projection import (
    STAMP_VERSION,
    Projection,
    ProjectionChange,
    digest_content,
    digest_lines,
    digest_text,
    read_tombstone,
)
from session.record import StampDict

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from compactor.journal import Answer
    from session.message import Message
    from session.store import StoredSession


def apply_projection(
    session: StoredSession,
    covers: int,
    entry: str,
    answer: Answer,
    *,
    tokens_before: int,
    tokens_after: int,
    counter: str,
) -> ProjectionChange:
    """Return the change that puts `entry` in the place of the first `covers` messages.

    `counter` names the encoding in which the tokens were counted.
    """
    current = session.projection
    covered = session.messages[:covers]
    stamp = StampDict(
        version=STAMP_VERSION,
        covers=covers,
        messages=len(session.messages),
        digest=digest_lines(covered),
        content=digest_content(covered),
        text=digest_text(entry),
        kept_at=0,  # the store knows
        generation=current.stamp["generation"] + 1 if current.stamp else 1,
        summarized_at=_utc(answer.written_at),
        engine=answer.engine,
        model=answer.model,
        prompt=answer.prompt,
        tokens_before=tokens_before,
        tokens_after=tokens_after,
        counter=counter,
        first_at=_first_time(covered),
        last_at=_first_time(covered[::-1]),
        sources=sorted({message.source for message in covered if message.source}),
        previous=current.as_previous(),
    )
    return ProjectionChange(Projection(covers, entry, _last_active(session), stamp), stamp)


def landed_by(session: StoredSession, change: ProjectionChange) -> Landed:
    """Return what to remember of a change that was committed to `session`."""
    base, new = session.projection, change.projection
    stamp = cast("StampDict", change.stamp)
    return Landed(
        covers=new.covers,
        content=stamp["content"],
        entry=new.entry or "",
        # What was replaced stays in the session's file, for an undo; the journal needs none of it.
        stamp=cast("dict[str, object]", stamp | {"previous": None}),
        base_covers=base.covers,
        base_text=None if base.entry is None else digest_text(base.entry),
    )


def still_says(session: StoredSession, landed: Landed) -> bool:
    """Whether the messages that were covered are still there and say the same."""
    covered = session.messages[: landed.covers]
    return len(covered) == landed.covers and digest_content(covered) == landed.content


def is_written_over(session: StoredSession, landed: Landed) -> bool:
    """Whether somebody put the projection back that our last compaction had replaced.

    Any other projection is somebody else's, made since, and stands; and so does an undo.
    """
    now = session.projection
    tombstone = read_tombstone(session.header)
    if tombstone is not None and tombstone["content"] == landed.content:
        return False
    text = None if now.entry is None else digest_text(now.entry)
    return (now.covers, text) == (landed.base_covers, landed.base_text)


def reapply_projection(session: StoredSession, landed: Landed) -> ProjectionChange:
    """Return the change that applies a compaction again, as it was."""
    covered = session.messages[: landed.covers]
    stamp = cast("StampDict", dict(landed.stamp))
    stamp["digest"] = digest_lines(covered)  # whoever wrote it over may have spelled lines anew
    stamp["previous"] = session.projection.as_previous()
    entry = Projection(landed.covers, landed.entry, _last_active(session), stamp)
    return ProjectionChange(entry, stamp)


def _last_active(session: StoredSession) -> str:
    updated = session.header.updated_at
    return updated if isinstance(updated, str) else ""


def _first_time(messages: Sequence[Message]) -> str | None:
    times = (message.timestamp for message in messages)
    return next((time for time in times if isinstance(time, str)), None)


def _utc(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
