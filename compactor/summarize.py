"""From a plan to an entry: what an engine is asked, and what of its answer is accepted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from session.message import Message


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """What is to be summarized, and in how many tokens.

    `previous` is the entry that stands now, its frame included; `covered` are the messages that it
    doesn't cover yet, `kept` those that the agent's model will see as they are. `max_tokens` is for
    the sections alone, without the frame.
    """

    key: str
    previous: str | None
    covered: tuple[Message, ...]
    kept: tuple[Message, ...]
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Summary:
    """What an engine wrote: the sections of an entry, under the headings of `entry.Heading`."""

    text: str


class Summarizer(Protocol):
    """An engine that writes entries. It may be called from several threads at once."""

    @property
    def name(self) -> str:
        """The engine as the configuration names it."""

    @property
    def model(self) -> str | None:
        """The model that it asks, if it asks one."""

    @property
    def prompt(self) -> str:
        """The version of its instructions: another one is another answer."""

    def summarize(self, request: SummaryRequest) -> Summary:
        """Write the entry's sections; raises `SummaryError` where nothing usable came of it."""
