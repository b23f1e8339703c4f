"""The JSON shapes of a session's record, and its header line.

The format is nanobot's own: one metadata record, an optional provider state, then messages, each
on a line of its own.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal, NotRequired, TypedDict

SUMMARY_KEY = "_last_summary"
STAMP_KEY = "_compaction"
CURSOR_KEYS = ("last_archived", "last_consolidated")
BUSY_KEYS = ("pending_user_turn", "runtime_checkpoint", "pending_user_followups")


class SummaryDict(TypedDict):
    """nanobot's place for the compact entry, under `metadata._last_summary`."""

    text: str
    last_active: str


class UndoneDict(TypedDict):
    """A tombstone: what an operator took back, and how many messages there were then."""

    covers: int
    content: str
    messages: int
    at: str


class ForeignDict(TypedDict):
    """A projection that was there before ours and was not ours."""

    covers: int
    entry: str | None
    last_active: str | None


class StampDict(TypedDict):
    """The provenance of our compact entry, under `metadata._compaction`.

    `digest`, `content` and `text` are `sha256:` and hexadecimal digits: over the bytes of the
    covered lines, over their parsed form, over the entry. `kept_at` is in bytes from the end of the
    header line. `messages` is the number of messages when it was made. Times are ISO 8601:
    `summarized_at` in UTC, `first_at` and `last_at` as the messages have them.
    """

    version: Literal[1]
    covers: int
    messages: int
    digest: str
    content: str
    text: str
    kept_at: int
    generation: int
    summarized_at: str
    engine: str
    model: str | None
    prompt: str
    tokens_before: int
    tokens_after: int
    counter: str
    first_at: str | None
    last_at: str | None
    sources: list[str]
    previous: dict[str, Any] | None
    entry: NotRequired[str]
    undone: NotRequired[UndoneDict]


class TombstoneDict(TypedDict):
    """A stamp that only says what was undone."""

    version: Literal[1]
    undone: UndoneDict


@dataclass(frozen=True, slots=True)
class Header:
    """The metadata record. `fields` is all of it, in its order, unknown keys included."""

    fields: dict[str, Any]

    @property
    def key(self) -> str | None:
        """The session's key, where the record has one."""
        key = self.fields.get("key")
        return key if isinstance(key, str) and key else None

    @property
    def metadata(self) -> dict[str, Any]:
        """The free part of the record; empty where it is missing or no table."""
        metadata = self.fields.get("metadata")
        return metadata if isinstance(metadata, dict) else {}

    @property
    def updated_at(self) -> object:
        """The time of the last save as it was written."""
        return self.fields.get("updated_at")

    @property
    def has_running_turn(self) -> bool:
        """Whether the record says that a turn is being worked on."""
        return any(self.metadata.get(key) for key in BUSY_KEYS)

    def cursor(self, message_count: int) -> int:
        """Return how many leading messages are covered, 0 where the record says nonsense.

        `last_archived` wins over `last_consolidated` where it is a number at all, as in nanobot.
        """
        for key in CURSOR_KEYS:
            value = self.fields.get(key)
            if isinstance(value, int) and not isinstance(value, bool):
                return value if 0 <= value <= message_count else 0
        return 0

    def with_fields(self, **changed: object) -> Header:
        """Return a copy with top-level fields set."""
        return Header(self.fields | changed)

    def encode(self) -> bytes:
        """Return the record's line, with its newline, in nanobot's own spelling."""
        try:
            return json.dumps(self.fields, ensure_ascii=False).encode("utf-8") + b"\n"
        except UnicodeEncodeError:  # a lone surrogate: legal as an escape, impossible as UTF-8
            return json.dumps(self.fields).encode("ascii") + b"\n"
