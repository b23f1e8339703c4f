"""Which session a message belongs to, by the identifiers that its channel gives.

There is one resolver. What comes in is keyed by its identifiers; what goes out is keyed as if it
had come in, by the same call. So a recorder takes an address and never a key that somebody made,
and what was sent lies where the answer will arrive.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Protocol

from session.errors import AddressError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, slots=True)
class _Identifiers:
    channel: str
    chat: str = ""
    user: str = ""
    thread: str = ""
    post: str = ""
    account: str = ""
    team: str = ""
    shared: bool | None = None


@dataclass(frozen=True, slots=True)
class Address(_Identifiers):
    """Where a message was sent, in the channel's own identifiers; numbers as decimal text.

    `chat` is the conversation; `user` the one person it is meant for; `thread` the thread or topic
    within the chat; `post` the id that the channel gave to the message itself; `account` our own
    side (a bot's id, a phone number); `team` the workspace or server. What a channel lacks stays
    empty. `shared` says whether several people read it; None leaves that to the adapter.
    """


@dataclass(frozen=True, slots=True)
class Inbound(_Identifiers):
    """What identifies a message that came in: as in `Address`, but `user` is who sent it."""

    @classmethod
    def at(cls, address: Address) -> Inbound:
        """Return the message that `address` would be if it had come in.

        A thread that its recipients open under it is the one that it opens itself.
        """
        return cls(**{item.name: getattr(address, item.name) for item in fields(address)})


class ChannelAdapter(Protocol):
    """The rules of one channel. Both methods answer from the identifiers alone."""

    @property
    def channel(self) -> str:
        """The channel's name, with which its keys begin."""

    def session_key(self, inbound: Inbound) -> str:
        """Return the session's key; raises `AddressError` where an identifier is missing."""

    def is_shared(self, inbound: Inbound) -> bool:
        """Whether several people read what is said there."""


@dataclass(frozen=True, slots=True)
class KeyPart:
    """One part of a key: the first of the identifiers `names` that is there, behind `label`."""

    names: tuple[str, ...]
    label: str = ""
    optional: bool = False


CHAT = KeyPart(("chat",))


def _is_taken_as_shared(inbound: Inbound) -> bool:
    # Nobody is named as the recipient of what others may have read.
    return inbound.shared is not False


@dataclass(frozen=True, slots=True)
class TableAdapter:
    """A channel whose key is its name and a few identifiers, joined by colons.

    `direct` and `shared` are the parts for a conversation with one person and with several;
    `detects_shared` tells them apart where the message doesn't say; `tidy` gives the conversation
    its one spelling. With `quotes` a colon or percent sign within an identifier is written as
    `%3A` or `%25`, so that no two conversations share a key; nanobot's keys have none of that.
    `known` are identifiers of our own side that a message may leave out; `aliases` are other names
    of a conversation (a channel's id for a person, say), looked up at each message.
    """

    channel: str
    direct: tuple[KeyPart, ...] = (CHAT,)
    shared: tuple[KeyPart, ...] = (CHAT,)
    detects_shared: Callable[[Inbound], bool] = _is_taken_as_shared
    tidy: Callable[[str], str] = str
    quotes: bool = False
    known: Mapping[str, str] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)

    def session_key(self, inbound: Inbound) -> str:
        """Return the session's key; see `ChannelAdapter`."""
        complete = self._complete(inbound)
        table = self.shared if self._reaches_many(complete) else self.direct
        parts = [self.channel]
        for part in table:
            value = next(filter(None, (getattr(complete, name) for name in part.names)), "")
            if value:
                parts += [part.label] * bool(part.label) + [self._quote(value)]
            elif not part.optional:
                raise AddressError(inbound.channel, missing=" or ".join(part.names))
        return ":".join(parts)

    def is_shared(self, inbound: Inbound) -> bool:
        """Whether several people read it; see `ChannelAdapter`."""
        return self._reaches_many(self._complete(inbound))

    def with_keys(
        self, *, direct: tuple[KeyPart, ...], shared: tuple[KeyPart, ...]
    ) -> TableAdapter:
        """Return the channel with keys of other parts, in which identifiers are quoted."""
        return replace(self, direct=direct, shared=shared, quotes=True)

    def with_known(self, **identifiers: str) -> TableAdapter:
        """Return the channel with identifiers that are the same for all messages (`account`)."""
        return replace(self, known={**self.known, **identifiers})

    def with_aliases(self, aliases: Mapping[str, str]) -> TableAdapter:
        """Return the channel with other names of conversations; the mapping may grow later."""
        return replace(self, aliases=aliases)

    def _complete(self, inbound: Inbound) -> Inbound:
        chat = self.tidy(inbound.chat)
        added = {name: value for name, value in self.known.items() if not getattr(inbound, name)}
        return replace(inbound, **added, chat=self.aliases.get(chat, chat))  # type: ignore[arg-type]

    def _reaches_many(self, complete: Inbound) -> bool:
        return self.detects_shared(complete) if complete.shared is None else complete.shared

    def _quote(self, value: str) -> str:
        return value.replace("%", "%25").replace(":", "%3A") if self.quotes else value


@dataclass(frozen=True, slots=True)
class Target:
    """Whom a message reached: the session of the answer, and the recipient if there is just one."""

    key: str
    recipient: str | None


@dataclass(frozen=True, slots=True)
class Channels:
    """The channels of an agent. One without an adapter has the keys `channel:chat`."""

    adapters: tuple[ChannelAdapter, ...]

    def session_key(self, inbound: Inbound) -> str:
        """Return the key of the session that the message belongs to.

        Raises `AddressError` where the channel's keys need an identifier that it lacks.
        """
        return self._adapter(inbound.channel).session_key(inbound)

    def target(self, address: Address) -> Target:
        """Return where a message to `address` is recorded; raises `AddressError` likewise."""
        inbound = Inbound.at(address)
        key = self.session_key(inbound)
        shared = self._adapter(address.channel).is_shared(inbound)
        return Target(key, None if shared else address.user or address.chat)

    def _adapter(self, channel: str) -> ChannelAdapter:
        if not channel:
            raise AddressError(channel, missing="channel")
        found = (adapter for adapter in self.adapters if adapter.channel == channel)
        return next(found, TableAdapter(channel))
