"""The projection: how many leading messages are covered, and the entry that stands for them.

It is all that a compaction writes. It lives in the header alone: the cursor and the entry at
nanobot's own places, and beside them our stamp, which says what the entry was made of. Taking the
projection away gives back the full transcript.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, cast

from session.record import (
    CURSOR_KEYS,
    STAMP_KEY,
    SUMMARY_KEY,
    ForeignDict,
    Header,
    StampDict,
    TombstoneDict,
    UndoneDict,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from session.message import Message

STAMP_VERSION: Literal[1] = 1
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
_NOT_A_SUMMARY = "(nothing)"  # what nanobot stores when there was nothing to say


def digest_lines(messages: Iterable[Message]) -> str:
    """Digest the bytes of the messages' lines, each with its newline: the guard of a commit."""
    total = hashlib.sha256()
    for message in messages:
        total.update(message.raw)
        total.update(b"\n")
    return f"sha256:{total.hexdigest()}"


def digest_content(messages: Iterable[Message]) -> str:
    """Digest what the messages say, however their lines are spelled.

    nanobot's own save re-escapes and re-spaces the lines of old or damaged files, so the bytes can
    change while nothing was said.
    """
    total = hashlib.sha256()
    for message in messages:
        total.update(_canonical(message))
        total.update(b"\n")
    return f"sha256:{total.hexdigest()}"


def _canonical(message: Message) -> bytes:
    try:
        text = _encode(message.data)
    except RecursionError:  # nested deeper than Python writes, though it could read it
        return message.raw
    return text.encode("ascii")


def digest_text(text: str) -> str:
    """Digest an entry."""
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


@dataclass(frozen=True, slots=True)
class Projection:
    """What stands for the first `covers` messages.

    `stamp` is there only where the projection is ours: where it fits the cursor and the entry.
    """

    covers: int = 0
    entry: str | None = None
    last_active: str | None = None
    stamp: StampDict | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing is covered and nothing is said."""
        return not self.covers and self.entry is None

    def as_previous(self) -> dict[str, Any] | None:
        """Return what the next stamp keeps of this projection, so that an undo can restore it."""
        if self.is_empty:
            return None
        if self.stamp is None:
            foreign = ForeignDict(
                covers=self.covers, entry=self.entry, last_active=self.last_active
            )
            return cast("dict[str, Any]", foreign)
        kept = cast("dict[str, Any]", self.stamp) | {"entry": self.entry, "previous": None}
        kept.pop("undone", None)
        return kept

    def fits(self, messages: Sequence[Message]) -> bool:
        """Whether this is ours and the covered messages still say what was summarized."""
        return self.stamp is not None and self.stamp["content"] == digest_content(
            messages[: self.covers],
        )


@dataclass(frozen=True, slots=True)
class ProjectionChange:
    """The projection to write, and the stamp or tombstone to write beside it.

    The store fills in the stamp's `kept_at`, since only it knows where the lines lie.
    """

    projection: Projection
    stamp: StampDict | TombstoneDict | None


def read_projection(header: Header, message_count: int) -> Projection:
    """Read the projection out of a header; a malformed summary or a foreign stamp is ignored."""
    covers = header.cursor(message_count)
    summary = header.metadata.get(SUMMARY_KEY)
    entry = last_active = None
    if isinstance(summary, dict):
        text, when = summary.get("text"), summary.get("last_active")
        entry = text if isinstance(text, str) and text.strip() not in {"", _NOT_A_SUMMARY} else None
        last_active = when if isinstance(when, str) else None
    stamp = header.metadata.get(STAMP_KEY)
    ours = entry is not None and _is_stamp(stamp, covers=covers, text=digest_text(entry))
    return Projection(covers, entry, last_active, cast("StampDict", stamp) if ours else None)


def _is_stamp(value: object, *, covers: int, text: str) -> bool:
    return (
        isinstance(value, dict)
        and value.get("version") == STAMP_VERSION
        and covers > 0
        and _is_count(value.get("covers"))
        and value["covers"] == covers
        and value.get("text") == text
        and isinstance(value.get("content"), str)
        and _is_count(value.get("generation"))
    )


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def read_tombstone(header: Header) -> UndoneDict | None:
    """Return what the header says was undone, if it says so in a form that can be used."""
    stamp = header.metadata.get(STAMP_KEY)
    undone = stamp.get("undone") if isinstance(stamp, dict) else None
    if not isinstance(undone, dict):
        return None
    if not (_is_count(undone.get("covers")) and _is_count(undone.get("messages"))):
        return None
    return cast("UndoneDict", undone) if isinstance(undone.get("content"), str) else None


def write_projection(header: Header, change: ProjectionChange, *, kept_at: int) -> Header:
    """Return the header with another projection in place of the one that it has.

    Both cursors are written and written equal. Times and all other keys stay.
    """
    metadata = dict(header.metadata)
    projection, stamp = change.projection, change.stamp
    if projection.entry is None:
        metadata.pop(SUMMARY_KEY, None)
    else:
        metadata[SUMMARY_KEY] = {
            "text": projection.entry,
            "last_active": projection.last_active or "",
        }
    if stamp is None:
        metadata.pop(STAMP_KEY, None)
    else:
        metadata[STAMP_KEY] = {**stamp, "kept_at": kept_at} if "kept_at" in stamp else stamp
    cursors = dict.fromkeys(CURSOR_KEYS, projection.covers)
    return header.with_fields(metadata=metadata, **cursors)


def undo_projection(
    current: Projection,
    *,
    message_count: int,
    content: str,
    at: str,
    everything: bool,
) -> ProjectionChange:
    """Return the change to the projection before `current`, or to none with `everything`.

    The stamp carries a tombstone, so that what was undone is not applied again. `content` is the
    digest of what `current` covers, `at` the time of the undo in UTC.
    """
    undone = UndoneDict(covers=current.covers, content=content, messages=message_count, at=at)
    previous = current.stamp.get("previous") if current.stamp and not everything else None
    before = _previous_projection(previous, current)
    if before.stamp is None:
        return ProjectionChange(before, TombstoneDict(version=1, undone=undone))
    stamp = cast("StampDict", {**before.stamp, "undone": undone})
    return ProjectionChange(replace(before, stamp=stamp), stamp)


def _previous_projection(previous: object, current: Projection) -> Projection:
    """Read what a stamp kept of the projection before it; nothing, where that can't be used."""
    if not isinstance(previous, dict) or not _is_count(previous.get("covers")):
        return Projection()
    if not 0 <= previous["covers"] <= current.covers:
        return Projection()
    entry = previous.get("entry")
    if not isinstance(entry, str):
        return Projection(previous["covers"])
    stamp = {key: value for key, value in previous.items() if key != "entry"}
    if _is_stamp(stamp, covers=previous["covers"], text=digest_text(entry)):
        last_active = current.last_active
        return Projection(previous["covers"], entry, last_active, cast("StampDict", stamp))
    when = previous.get("last_active")  # it was not ours
    return Projection(previous["covers"], entry, when if isinstance(when, str) else None)
