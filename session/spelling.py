"""How a message in memory becomes a line, and which line it was loaded from."""

from __future__ import annotations

import json
from typing import Any

from session.message import NESTING_LIMIT, decode_line

_encode = json.JSONEncoder(ensure_ascii=False).encode  # made once: a save spells every message
_RECORD_TYPES = ("metadata", "provider_state")


class Origin:
    """A row of a session and the line that it was loaded from or written to."""

    __slots__ = ("_spelled", "raw", "row")

    def __init__(self, row: dict[str, Any], raw: bytes) -> None:
        self.row = row  # held, so that its `id` stays its own
        self.raw = raw
        self._spelled: bytes | None = None

    def line_for(self, encoded: bytes) -> bytes:
        """Return the line as it was, if `encoded` says that nobody has touched the row."""
        if encoded == self.raw:
            return self.raw
        if self._spelled is None:
            self._spelled = encode_row(decode_line(self.raw) or {})
        return self.raw if encoded == self._spelled else encoded


def spell_row(row: object, origin: Origin | None) -> bytes:
    """Return the line of a message, without its newline; raises `ValueError` where it has none."""
    if not isinstance(row, dict):
        message = f"is a {type(row).__name__}, not an object"
        raise ValueError(message)  # noqa: TRY004 - one kind of error for whatever can't be stored
    try:
        encoded = encode_row(row)
    except (TypeError, ValueError, RecursionError) as error:
        message = f"is no JSON: {error}"
        raise ValueError(message) from error
    if row.get("_type") in _RECORD_TYPES:
        message = f"has the key '_type' with the value {row['_type']!r}, which is a record's"
        raise ValueError(message)
    nested = encoded.count(b"[") + encoded.count(b"{") > NESTING_LIMIT
    if nested and decode_line(encoded) is None:
        message = f"is nested deeper than {NESTING_LIMIT} levels"
        raise ValueError(message)
    return encoded if origin is None else origin.line_for(encoded)


def encode_row(row: dict[str, Any]) -> bytes:
    """Return a row in nanobot's own spelling."""
    try:
        return _encode(row).encode()
    except UnicodeEncodeError:  # a lone surrogate: legal as an escape, impossible as UTF-8
        return json.dumps(row).encode()
