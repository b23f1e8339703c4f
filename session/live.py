"""A session in an agent's memory: a list of messages to append to, and what stands for the old.

The names and their behaviour are those of nanobot's `Session`, so that an agent can change from one
to the other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from session.history import EntryForm, build_history, estimate_tokens
from session.message import Message
from session.projection import read_projection
from session.record import CURSOR_KEYS, STAMP_KEY, SUMMARY_KEY, Header

if TYPE_CHECKING:
    from collections.abc import Callable

    from session.projection import Projection


def _now() -> datetime:
    # Naive local time is what the format has; for an agent this library is where clocks are read.
    return datetime.now()  # noqa: DTZ005, TID251


@dataclass(eq=False)
class Session:
    """One conversation, to be read, appended to, and saved by its manager.

    `messages` are JSON objects, oldest first, the covered ones included; append to it as you like.
    `last_consolidated` is the cursor: how many of them the compact entry stands for.
    """

    key: str
    messages: list[dict[str, Any]] = field(default_factory=list)
    created_at: datetime = field(default_factory=_now)
    updated_at: datetime = field(default_factory=_now)
    metadata: dict[str, Any] = field(default_factory=dict)
    last_consolidated: int = 0

    def __post_init__(self) -> None:
        self.last_consolidated = self.covers

    @property
    def last_archived(self) -> int:
        """The cursor, by the name that newer nanobots have for it."""
        return self.last_consolidated

    @last_archived.setter
    def last_archived(self, value: int) -> None:
        self.last_consolidated = value

    @property
    def covers(self) -> int:
        """The cursor; 0 where it is no number or beyond the messages."""
        return Header({CURSOR_KEYS[0]: self.last_consolidated}).cursor(len(self.messages))

    @property
    def projection(self) -> Projection:
        """What stands for the covered messages."""
        fields = {CURSOR_KEYS[0]: self.last_consolidated, "metadata": self.metadata}
        return read_projection(Header(fields), len(self.messages))

    @property
    def summary(self) -> str | None:
        """The compact entry, for an agent that puts it into its own system prompt."""
        return self.projection.entry

    def add_message(self, role: str, content: Any, **fields: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever JSON allows
        """Append a message with the time of now, and return it."""
        now = _now()
        message = {"role": role, "content": content, "timestamp": now.isoformat(), **fields}
        self.messages.append(message)
        self.updated_at = now
        return message

    def get_history(
        self,
        max_messages: int = 0,
        *,
        max_tokens: int = 0,
        form: EntryForm = EntryForm.MERGED,
        count_tokens: Callable[[dict[str, Any]], int] = estimate_tokens,
    ) -> list[dict[str, Any]]:
        """Return what to send to the model: the compact entry, then the kept messages.

        0 stands for no limit. Without `count_tokens` the budget is kept by an estimate on the safe
        side. See `session.build_history` for the rules.
        """
        kept = [Message(b"", row) for row in self.messages[self.covers :]]
        return build_history(
            kept,
            self.summary,
            form=form,
            max_messages=max_messages or None,
            max_tokens=max_tokens or None,
            count_tokens=count_tokens,
        )

    def clear(self) -> None:
        """Begin anew: no messages, no entry, no cursor."""
        self.messages = []
        self.last_consolidated = 0
        self.updated_at = _now()
        for key in (SUMMARY_KEY, STAMP_KEY):
            self.metadata.pop(key, None)
