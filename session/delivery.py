"""Recording what the agent sent on its own account, in the session where the answer will arrive.

A message is recorded only after it is out, and then nothing that happens here may look to the
sender like a failure to send: what the store raises is logged and returned. The session is asked of
the manager afresh each time, and merging with what others wrote meanwhile is the manager's work.
"""

from __future__ import annotations

import logging
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from session.channel_tables import NANOBOT_CHANNELS
from session.errors import SessionError
from session.provenance import Delivery, digest_call

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from session.channels import Address, Channels

_log = logging.getLogger("session")
_one_at_a_time = threading.Lock()  # so that two threads don't both find nothing and record it


class RecordingSession(Protocol):
    """What is needed of a session; ours and nanobot's are both of this shape."""

    @property
    def messages(self) -> list[dict[str, Any]]:
        """All messages, covered ones included, oldest first."""

    def add_message(self, role: str, content: str, **fields: Any) -> object:  # noqa: ANN401 - JSON
        """Append a message with the time of now."""


_Session = TypeVar("_Session", bound=RecordingSession)


class RecordingManager(Protocol[_Session]):
    """What is needed of a manager; ours and nanobot's are both of this shape."""

    def get_or_create(self, key: str) -> _Session:
        """Return the session as it is now; a new one where there is none."""

    def save(self, session: _Session) -> object:
        """Write the session, keeping what others have added to it."""


class RecordStatus(StrEnum):
    """What became of a delivery's record."""

    RECORDED = "recorded"
    REPEATED = "repeated"  # the session held it already; it is saved once more
    EMPTY = "empty"  # neither text nor media: there is nothing to record
    FAILED = "failed"  # the message is out, but no store has it; `error` says why


@dataclass(frozen=True, slots=True)
class RecordResult:
    """How recording ended. `key` is None where not even the session could be told."""

    status: RecordStatus
    key: str | None
    delivery_id: str
    error: Exception | None = None


class PendingDelivery:
    """A delivery that is being made. Set `address` where sending tells more (a post's id).

    `result` is None until it was sent, and stays None if it was not.
    """

    def __init__(self, address: Address) -> None:
        self.address = address
        self.result: RecordResult | None = None


class DeliveryRecorder:
    """Records deliveries through `manager`, with the keys that `channels` give."""

    def __init__(
        self, manager: RecordingManager[Any], channels: Channels = NANOBOT_CHANNELS
    ) -> None:
        self._manager = manager
        self._channels = channels

    def record(
        self,
        address: Address,
        content: str,
        *,
        media: Sequence[str] = (),
        source: str | None = None,
        delivery_id: str = "",
    ) -> RecordResult:
        """Record a message that is out. Raises nothing; see `RecordStatus`.

        `source` names the automation or session that it came from (`cron:daily-report`) and is
        shown to the model. Two calls with one `delivery_id` record once; without it the channel's
        own id of the message serves, where `address` has it.
        """
        if not delivery_id and address.post:
            delivery_id = digest_call(address.channel, address.team, address.chat, address.post)
        return self.record_delivery(address, Delivery(content, tuple(media), source, delivery_id))

    @contextmanager
    def delivering(
        self,
        address: Address,
        content: str,
        *,
        media: Sequence[str] = (),
        source: str | None = None,
        delivery_id: str = "",
    ) -> Iterator[PendingDelivery]:
        """Record the message after the block that sends it, unless that raises.

        The block may await. What it raises passes through, and then nothing is recorded.
        """
        pending = PendingDelivery(address)
        yield pending
        pending.result = self.record(
            pending.address, content, media=media, source=source, delivery_id=delivery_id
        )

    def record_delivery(self, address: Address, delivery: Delivery) -> RecordResult:
        """Record a delivery that is already described. Raises nothing; see `RecordStatus`."""
        if delivery.is_empty:
            return RecordResult(RecordStatus.EMPTY, None, delivery.id)
        key: str | None = None
        try:
            target = self._channels.target(address)
            key = target.key
            with _one_at_a_time:
                session = self._manager.get_or_create(key)
                repeated = delivery.is_in(session.messages)
                if not repeated:
                    marks = delivery.fields(key, target.recipient)
                    session.add_message("assistant", delivery.content, **marks)
                # Also what is there already: an attempt may not have been able to save it.
                self._manager.save(session)
        except Exception as error:  # noqa: BLE001 - the message is out: whatever it is, don't raise
            # No traceback, and of a foreign error only its type: its text might quote the message.
            told = error if isinstance(error, SessionError | OSError) else ""
            _log.error(
                "delivery_not_recorded key=%r channel=%r delivery=%r error=%s %s",
                key,
                address.channel,
                delivery.id,
                type(error).__name__,
                told,
            )
            return RecordResult(RecordStatus.FAILED, key, delivery.id, error)
        status = RecordStatus.REPEATED if repeated else RecordStatus.RECORDED
        return RecordResult(status, key, delivery.id)
