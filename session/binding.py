"""What the store has of a session in memory, and how the two are brought together again.

A session in memory is changed by its agent, the stored one by a worker or a second agent. A binding
knows what both began with, so it can tell who has done what.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from session.errors import SessionConflict, SessionWriteError
from session.merge import Merge, merge_lines, merge_tables, same_lines, same_value
from session.message import Message
from session.record import CURSOR_KEYS, STAMP_KEY, SUMMARY_KEY, Header
from session.spelling import Origin, spell_row

if TYPE_CHECKING:
    from session.agent_store import Record
    from session.document import Document
    from session.live import Session

_PROJECTION_KEYS = {SUMMARY_KEY, STAMP_KEY}


@dataclass(frozen=True, slots=True)
class _Seen:
    """The part of a session beside its messages when it was last the same as the stored one."""

    covers: int
    created_at: datetime
    updated_at: datetime
    metadata: dict[str, Any]

    @classmethod
    def of(cls, session: Session) -> _Seen:
        """Take the state of a session as it is now."""
        return cls(
            session.covers, session.created_at, session.updated_at, deepcopy(session.metadata)
        )

    def is_now(self, session: Session) -> bool:
        """Whether nothing of it has been changed since."""
        now = (session.covers, session.created_at, session.updated_at)
        return now == (self.covers, self.created_at, self.updated_at) and same_value(
            session.metadata, self.metadata
        )

    def projection_differs(self, other: _Seen) -> bool:
        """Whether the two have other cursors or entries."""
        return self.covers != other.covers or any(
            not same_value(self.metadata.get(key), other.metadata.get(key))
            for key in _PROJECTION_KEYS
        )


class Binding:
    """Binds one live session, which each method is given, to its stored record."""

    def __init__(self) -> None:
        self.record: Record | None = None
        self._lines: tuple[bytes, ...] | None = None  # None before anything was read
        self._origins: dict[int, Origin] = {}
        self._seen: _Seen | None = None
        self._drafted: _Seen | None = None

    def is_changed(self, session: Session) -> bool:
        """Whether the session has anything that is not stored as it should be."""
        if self.record is None or self._seen is None or not self._seen.is_now(session):
            return True
        if self.record.document.is_irregular or len(session.messages) != len(self._lines or ()):
            return True
        try:
            return not same_lines(self._spell(session), self._lines or ())
        except SessionWriteError:
            return True

    def draft(self, session: Session) -> Document:
        """Return the record to be stored; raises `SessionWriteError` where there is none.

        Lines of messages that nobody has touched are the same bytes as before.
        """
        assert self.record is not None  # noqa: S101 - `attach` comes first
        before = self.record.document
        self._drafted = _Seen.of(session)
        lines = self._spell(session)
        document = before.with_messages([Message(line) for line in lines])
        # A provider's state goes on from what was sent before; with more messages it is stale.
        provider = before.provider if tuple(lines) == self._lines else ()
        header = self._render_header(session)
        return replace(document, header=header, provider=provider, is_irregular=False)

    def settle(self, session: Session, written: Record) -> None:
        """Note that a draft was stored; messages that were appended meanwhile are still unsaved."""
        self._bind(session, written, upto=len(written.document.messages))
        self._seen = self._drafted

    def attach(self, session: Session, record: Record) -> None:
        """Bring the session together with what is stored; raises `SessionConflict`.

        The messages of both are kept, the stored projection wins if it has moved, and of the other
        metadata what was changed here. Lists and messages stay the same objects.
        """
        document = record.document
        theirs = [message.raw for message in document.messages]
        mine = self._spell(session)
        if self._lines and record.version is not None and document.header is None and not theirs:
            # Nobody clears a session so: the file was emptied by an accident, and memory has it.
            self._lines, self.record = (), record
            return
        merge = merge_lines(self._lines, mine, theirs)
        if merge is None:
            raise SessionConflict(session.key, record.name, mine=len(mine), theirs=len(theirs))
        fresh = [message.data for message in document.messages[merge.shared : merge.taken]]
        self._take_header(session, document, merge)
        session.messages[merge.shared : merge.cut] = fresh
        _drop_repeated(session.messages, fresh, merge.taken)
        self._bind(session, record, upto=merge.taken)

    def _bind(self, session: Session, record: Record, *, upto: int) -> None:
        """Remember what is stored; its first `upto` lines are those of the session's messages."""
        self._lines = tuple(message.raw for message in record.document.messages)
        self.record = record
        known = self._origins
        self._origins = {
            id(row): Origin(row, line)
            for row, line in zip(session.messages[:upto], self._lines, strict=False)
        }
        for row in session.messages[upto:]:  # not stored there, or not there any more
            if id(row) in known:
                self._origins[id(row)] = known[id(row)]

    def _spell(self, session: Session) -> list[bytes]:
        """Return the lines of the session's messages."""
        lines: list[bytes] = []
        for index, row in enumerate(list(session.messages)):
            try:
                lines.append(spell_row(row, self._origins.get(id(row))))
            except ValueError as error:
                raise SessionWriteError(session.key, f"message {index} {error}") from error
        return lines

    def _render_header(self, session: Session) -> Header:
        assert self.record is not None  # noqa: S101 - `attach` comes first
        stored, seen = self.record.document.header, self._seen
        fields: dict[str, Any] = {"_type": "metadata"} | (stored.fields if stored else {})
        if stored is None or stored.key is None:
            fields["key"] = session.key
        times = {"created_at": session.created_at, "updated_at": session.updated_at}
        for name, time in times.items():
            if stored is None or name not in fields or time != getattr(seen, name, None):
                fields[name] = self._spell_time(session, name, time)
        fields["metadata"] = session.metadata
        header = Header(fields | dict.fromkeys(CURSOR_KEYS, session.covers))
        try:
            header.encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise SessionWriteError(session.key, f"its metadata is no JSON: {error}") from error
        return Header(deepcopy(header.fields))

    def _spell_time(self, session: Session, name: str, time: object) -> str:
        if not isinstance(time, datetime):
            problem = f"its {name} is a {type(time).__name__}, not a datetime"
            raise SessionWriteError(session.key, problem)
        return time.isoformat()

    def _take_header(self, session: Session, document: Document, merge: Merge) -> None:
        """Bring all but the messages together, and remember what was stored of it."""
        header = document.header or Header({})
        seen = self._seen or _Seen(0, session.created_at, session.updated_at, {})
        is_new = self._seen is None and bool(session.messages)  # its times are its agent's
        stored = _Seen(
            header.cursor(len(document.messages)),
            _time_of(header, "created_at") or session.created_at,
            _time_of(header, "updated_at") or session.updated_at,
            deepcopy(header.metadata),
        )
        if session.created_at == seen.created_at and not is_new:
            session.created_at = stored.created_at
        if session.updated_at == seen.updated_at and not is_new:
            session.updated_at = stored.updated_at
        metadata = merge_tables(seen.metadata, session.metadata, stored.metadata)
        # It stands for their messages, so they must be the first ones of the result.
        if stored.projection_differs(seen) and stored.covers <= merge.taken:
            session.last_consolidated = stored.covers
            _copy_keys(stored.metadata, metadata)
        else:
            _copy_keys(session.metadata, metadata)
        session.metadata.clear()
        session.metadata.update(deepcopy(metadata))
        self._seen = stored


def _drop_repeated(messages: list[dict[str, Any]], fresh: list[dict[str, Any]], at: int) -> None:
    """Drop deliveries behind `at` that somebody else has stored meanwhile."""
    stored = {row["_delivery_id"] for row in fresh if isinstance(row.get("_delivery_id"), str)}
    if stored:
        messages[at:] = [row for row in messages[at:] if row.get("_delivery_id") not in stored]


def _copy_keys(source: dict[str, Any], target: dict[str, Any]) -> None:
    """Give `target` the projection of `source`."""
    for key in _PROJECTION_KEYS:
        target.pop(key, None)
        target |= {key: source[key]} if key in source else {}


def _time_of(header: Header, name: str) -> datetime | None:
    """Return a time as the format has it: ISO 8601, in local time without an offset."""
    value = header.fields.get(name)
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
