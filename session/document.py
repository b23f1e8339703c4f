"""A whole record as an agent reads and writes it: every line of it, the damaged ones too.

Where a worker leaves a damaged file alone, an agent must go on with it. So this reads whatever can
be read, keeps whatever can't where it stood, and says what is wrong.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from session.message import Message
from session.transcript import BOM, Transcript, line_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from session.record import Header


class Stray(NamedTuple):
    """A line that is no record, and how many messages stand ahead of it."""

    before: int
    raw: bytes


@dataclass(frozen=True, slots=True)
class Document:
    """The lines of one session. `header` is None where it has none, or is not stored yet.

    `provider` are the lines of a provider's state. `damage` says what is wrong with the record as
    it was read, and is empty where all is well; it `is_irregular` where writing it anew mends that.
    """

    header: Header | None = None
    provider: tuple[bytes, ...] = ()
    messages: tuple[Message, ...] = ()
    strays: tuple[Stray, ...] = ()
    damage: str = ""
    is_irregular: bool = False

    @classmethod
    def parse(cls, data: bytes) -> Document:
        """Take a file apart; whatever it holds, this does not fail."""
        parts = Transcript.parse(data)
        irregular = tuple(_find_irregular(parts))
        starts = [span.start for span in parts.message_spans]
        strays = (
            Stray(bisect_left(starts, span.start), line_at(data, span))
            for span in parts.stray_spans
        )
        return cls(
            parts.header,
            tuple(line_at(data, span) for span in parts.provider_spans),
            # A mark at the beginning of the file would be garbage anywhere else.
            tuple(_without_mark(message) for message in parts.messages),
            tuple(stray for stray in strays if stray.raw.strip()),
            "; ".join((*_find_unreadable(parts), *irregular)),
            bool(irregular),
        )

    def encode(self) -> bytes:
        """Return the record as it is stored, its header first; it must have one."""
        if self.header is None:
            message = "a record without a header can't be stored"
            raise ValueError(message)
        lines = [*self.provider, *weave(self.messages, self.strays)]
        return self.header.encode() + b"".join(line + b"\n" for line in lines)

    def with_messages(self, messages: Sequence[Message]) -> Document:
        """Return the record with other messages; what can't be read stays where it stood."""
        # Who clears a conversation means the lines that nobody can read as well.
        cleared = self.messages and not messages
        return replace(self, messages=tuple(messages), strays=() if cleared else self.strays)


def _without_mark(message: Message) -> Message:
    """Return the message without a byte order mark ahead of it."""
    if not message.raw.startswith(BOM):
        return message
    return Message(message.raw.removeprefix(BOM), message.data)


def weave(messages: Sequence[Message], strays: Sequence[Stray]) -> Iterator[bytes]:
    """Yield the lines of messages, with each stray line where it stood."""
    done = 0
    for before, raw in strays:
        yield from (message.raw for message in messages[done:before])
        done = max(done, before)
        yield raw
    yield from (message.raw for message in messages[done:])


def _find_unreadable(parts: Transcript) -> Iterator[str]:
    unreadable = sum(
        bool(line_at(parts.data, span).strip(b"\xef\xbb\xbf \t\r\n")) for span in parts.stray_spans
    )
    if unreadable:
        yield f"{unreadable} unreadable line(s)"


def _find_irregular(parts: Transcript) -> Iterator[str]:
    if parts.header is None:
        if parts.data:
            yield "there is no metadata line"
        return
    if len(parts.header_spans) > 1:
        yield f"there are {len(parts.header_spans)} metadata lines"
    first = min((span.start for span in (*parts.message_spans, *parts.provider_spans)), default=0)
    if parts.message_spans and first < parts.header_span.start:
        yield "the metadata line is not the first"
    metadata = parts.header.fields.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        yield f"the metadata is a {type(metadata).__name__}"
