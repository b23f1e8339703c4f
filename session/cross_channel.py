"""Recording what a turn in one conversation said to somebody in another one.

The agent has sent it with its `message` tool. The person who got it answers in a session of their
own, and that one must know what they answer to.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from session.channel_tables import NANOBOT_CHANNELS
from session.channels import Address, Inbound
from session.delivery import DeliveryRecorder
from session.provenance import confirms_delivery, find_tool_sends

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from session.channels import Channels
    from session.delivery import RecordingManager, RecordResult
    from session.provenance import ToolSend


class SourceSession(Protocol):
    """A session that messages were sent from."""

    @property
    def key(self) -> str:
        """Its key."""


def record_cross_channel(
    manager: RecordingManager[Any],
    source: SourceSession | str,
    new_messages: Sequence[dict[str, Any]],
    *,
    channels: Channels = NANOBOT_CHANNELS,
    origin: Address | None = None,
    locate: Callable[[ToolSend], Address | None] | None = None,
    confirms: Callable[[str], bool] = confirms_delivery,
    turn: str = "",
) -> list[RecordResult]:
    """Record what the turn of `source` (a session or its key) sent to other sessions.

    `new_messages` are the turn's rows with their tool results. Each confirmed call of the `message`
    tool that reached another session is recorded there, once however often this is called; those
    to the same session are part of it already. Returns one result for each; raises nothing of the
    manager's.

    `origin` is the address that the turn answers, and what a call means that leaves out `channel`
    or `chat_id`; without it the key is read as `channel:chat_id`. `locate` may know a better
    address for a call (its thread, the id that the channel gave to the post), or None.
    `confirms` judges the text of a tool's result. `turn` names the turn, for agents whose
    provider gives the same id to calls of different turns.
    """
    source_key = source if isinstance(source, str) else source.key
    recorder = DeliveryRecorder(manager, channels)
    results = []
    for send in find_tool_sends(new_messages, confirms):
        address = (locate(send) if locate else None) or _address_of(send, source_key, origin)
        if address is not None and not _is_same(address, source_key, origin, channels):
            delivery = send.delivery_from(source_key, turn)
            results.append(recorder.record_delivery(address, delivery))
    return results


def _address_of(send: ToolSend, source_key: str, origin: Address | None) -> Address | None:
    """Return whom the call addresses; None for the conversation that it was made in."""
    channel, _, chat = source_key.partition(":")
    own = origin or Address(channel, chat)
    named = (send.channel or own.channel, send.chat or own.chat)
    if named == (own.channel, own.chat):
        return origin
    return Address(*named)


def _is_same(address: Address, source_key: str, origin: Address | None, channels: Channels) -> bool:
    """Whether the address is the source's own conversation."""
    places = [address]
    if origin is None and not (address.thread or address.post):
        # Nobody says in which thread the turn is; a message to its chat goes to that thread.
        places.append(replace(address, thread=source_key.rpartition(":")[2]))
    try:
        return any(channels.session_key(Inbound.at(place)) == source_key for place in places)
    except Exception:  # noqa: BLE001 - an adapter may be anybody's; recording reports it
        return False
