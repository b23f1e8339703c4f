"""Reading the newest end of a session file, and no more than it takes.

A scan asks of most sessions only when somebody last spoke. The header and a block at the end
answer that. Where our own stamp says at which byte the kept messages begin, reading starts there,
and then even the number of messages is known.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, BinaryIO

from session.message import Message, decode_line
from session.projection import read_projection
from session.record import STAMP_KEY, Header
from session.transcript import decode_header

if TYPE_CHECKING:
    from collections.abc import Iterator

HEADER_LIMIT = 1 << 20
_FIRST_BLOCK = 1 << 14

Tail = tuple[Header, tuple[Message, ...], int | None]


class _HeaderBelowError(Exception):
    """A metadata line stands among the messages: the whole file must be read."""


def read_tail(file: BinaryIO) -> Tail | None:
    """Return the header, the newest messages and the position of the first of them.

    The position is None where the messages ahead were not counted. The answer is None where only
    the whole file can tell: its first line is no header, or not its only one.
    """
    line = file.readline(HEADER_LIMIT)
    header = decode_header(line)
    if header is None or not line.endswith(b"\n"):
        return None
    try:
        return _read_kept(file, header, len(line)) or _read_back(file, header, len(line))
    except _HeaderBelowError:
        return None


def _read_kept(file: BinaryIO, header: Header, start: int) -> Tail | None:
    stamp = header.metadata.get(STAMP_KEY)
    if not isinstance(stamp, dict):
        return None
    kept_at, covers = stamp.get("kept_at"), stamp.get("covers")
    if not isinstance(kept_at, int) or not isinstance(covers, int):
        return None
    if not 0 <= kept_at <= file.seek(0, os.SEEK_END) - start:
        return None
    file.seek(start + kept_at - 1)
    data = file.read()
    if data[:1] != b"\n":
        return None  # somebody has written the lines anew since
    messages = tuple(_messages_back(data[1:]))[::-1]
    if read_projection(header, covers + len(messages)).stamp is None:
        return None
    return header, messages, covers


def _read_back(file: BinaryIO, header: Header, start: int) -> Tail:
    end = file.seek(0, os.SEEK_END)
    block = _FIRST_BLOCK
    while True:
        begin = max(start, end - block)
        file.seek(begin)
        data = file.read(end - begin)
        if begin > start:
            data = data[data.find(b"\n") + 1 :] if b"\n" in data else b""
        messages: list[Message] = []
        for message in _messages_back(data):
            messages.append(message)
            if _opens_turn(message):
                return header, tuple(messages[::-1]), None
        if begin == start:
            return header, tuple(messages[::-1]), 0
        block *= 4


def _messages_back(data: bytes) -> Iterator[Message]:
    """Yield the messages of whole lines, the newest first."""
    end = len(data)
    while end > 0:
        newline = data.rfind(b"\n", 0, end)
        line = data[newline + 1 : end]
        end = newline
        value = decode_line(line) if line else None
        if value is None or value.get("_type") == "provider_state":
            continue
        if value.get("_type") == "metadata":
            raise _HeaderBelowError
        yield Message(line, value)


def _opens_turn(message: Message) -> bool:
    return message.role == "user" and not (
        message.is_hidden or message.is_command or message.is_automation
    )
