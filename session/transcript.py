"""A session file taken apart: which bytes are the header, the provider state, the messages.

Records are separated by a newline and by nothing else (U+2028 is legal inside one), and each is
decoded alone, so that one bad byte spoils one line. What is no JSON object belongs to nobody and is
carried along.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from session.message import Message, decode_line
from session.projection import ProjectionChange, write_projection
from session.record import Header

if TYPE_CHECKING:
    from collections.abc import Iterator

BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Span:
    """Bytes from `start` up to `end`, the newline included."""

    start: int
    end: int


def split_lines(data: bytes, start: int = 0) -> Iterator[Span]:
    """Yield the lines of `data` from `start` on; the last may lack its newline."""
    while start < len(data):
        newline = data.find(b"\n", start)
        end = len(data) if newline < 0 else newline + 1
        yield Span(start, end)
        start = end


def line_at(data: bytes, span: Span) -> bytes:
    """Return the bytes of a line without its newline."""
    return data[span.start : span.end].removesuffix(b"\n")


def decode_header(line: bytes) -> Header | None:
    """Return the header on `line`, or None where it holds anything else."""
    fields = decode_line(line.removeprefix(BOM))
    return Header(fields) if fields is not None and fields.get("_type") == "metadata" else None


@dataclass(frozen=True, slots=True)
class Transcript:
    """The parts of one session file. `header` is None where the file has none.

    `header_spans` are all metadata lines, of which the last counts; `stray_spans` are lines that
    are no JSON object, blank ones included.
    """

    data: bytes
    header: Header | None
    header_spans: tuple[Span, ...]
    provider_spans: tuple[Span, ...]
    messages: tuple[Message, ...]
    message_spans: tuple[Span, ...]
    stray_spans: tuple[Span, ...]

    @property
    def header_span(self) -> Span:
        """Where the header stands; at the beginning and empty where there is none."""
        return self.header_spans[-1] if self.header_spans else Span(0, 0)

    @classmethod
    def parse(cls, data: bytes) -> Transcript:
        """Take a file apart. Of two metadata lines the last counts, as in nanobot."""
        header: Header | None = None
        headers: list[Span] = []
        provider: list[Span] = []
        messages: list[Message] = []
        spans: list[Span] = []
        strays: list[Span] = []
        for span in split_lines(data):
            line = line_at(data, span)
            value = decode_line(line.removeprefix(BOM) if not span.start else line)
            kind = None if value is None else value.get("_type")
            if value is None:
                strays.append(span)
            elif kind == "metadata":
                header = Header(value)
                headers.append(span)
            elif kind == "provider_state":
                provider.append(span)
            else:
                messages.append(Message(line, value))
                spans.append(span)
        return cls(
            data,
            header,
            tuple(headers),
            tuple(provider),
            tuple(messages),
            tuple(spans),
            tuple(strays),
        )

    def project(self, change: ProjectionChange) -> bytes:
        """Return the file with another projection; see `render`.

        Raises `ValueError` where the file has no header to write it to.
        """
        if self.header is None:
            message = "a file without a metadata line has no place for a projection"
            raise ValueError(message)
        kept_at = self.kept_at(change.projection.covers)
        return self.render(write_projection(self.header, change, kept_at=kept_at))

    def render(self, header: Header) -> bytes:
        """Return the file with another header and without provider state; all else is copied.

        A provider state is an opaque continuation that would replay the old transcript.
        """
        line = header.encode()
        if not self.data[: self.header_span.end].endswith(b"\n"):
            line = line.removesuffix(b"\n")
        dropped = sorted([self.header_span, *self.provider_spans], key=lambda span: span.start)
        cuts = [Span(0, 0), *dropped, Span(len(self.data), len(self.data))]
        parts: list[bytes] = []
        for left, right in pairwise(cuts):
            if left is self.header_span:
                parts.append(line)
            parts.append(self.data[left.end : right.start])
        return b"".join(parts)

    def kept_at(self, covers: int) -> int:
        """Offset of the first kept line in the rendered file, from the end of its header line.

        It is -1 where the header stands behind that line.
        """
        spans, begin = self.message_spans, self.header_span.end
        kept = spans[covers].start if covers < len(spans) else len(self.data)
        if kept < begin:
            return -1
        dropped = [span for span in self.provider_spans if begin <= span.start < kept]
        return kept - begin - sum(span.end - span.start for span in dropped)
