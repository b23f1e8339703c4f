"""Sessions of chat agents: their messages, their history, and the stores that keep them.

What is named here is imported when it is asked for, so that who needs only the errors, say a
command's `--help`, does not wait for the stores.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from session.agent_store import AgentStore
    from session.channel_tables import (
        ACCOUNT_CHANNELS,
        NANOBOT_CHANNELS,
        SLACK,
        SLACK_BY_TEAM,
        SLACK_UNTHREADED,
        TELEGRAM,
        TELEGRAM_BY_BOT,
        WEBSOCKET,
        WEBSOCKET_BY_USER,
        WHATSAPP,
        WHATSAPP_BY_NUMBER,
    )
    from session.channels import (
        CHAT,
        Address,
        ChannelAdapter,
        Channels,
        Inbound,
        KeyPart,
        TableAdapter,
        Target,
    )
    from session.cross_channel import record_cross_channel
    from session.delivery import DeliveryRecorder, PendingDelivery, RecordResult, RecordStatus
    from session.errors import SessionConflict, SessionError
    from session.history import EntryForm, build_history
    from session.live import Session
    from session.location import open_store
    from session.manager import SessionManager
    from session.message import Message
    from session.model import SessionRef
    from session.projection import Projection
    from session.provenance import Delivery, ToolSend, confirms_delivery, find_tool_sends
    from session.store import SessionEntry, SessionStore, StoredSession

__all__ = [
    "ACCOUNT_CHANNELS",
    "CHAT",
    "NANOBOT_CHANNELS",
    "SLACK",
    "SLACK_BY_TEAM",
    "SLACK_UNTHREADED",
    "TELEGRAM",
    "TELEGRAM_BY_BOT",
    "WEBSOCKET",
    "WEBSOCKET_BY_USER",
    "WHATSAPP",
    "WHATSAPP_BY_NUMBER",
    "Address",
    "AgentStore",
    "ChannelAdapter",
    "Channels",
    "Delivery",
    "DeliveryRecorder",
    "EntryForm",
    "Inbound",
    "KeyPart",
    "Message",
    "PendingDelivery",
    "Projection",
    "RecordResult",
    "RecordStatus",
    "Session",
    "SessionConflict",
    "SessionEntry",
    "SessionError",
    "SessionManager",
    "SessionRef",
    "SessionStore",
    "StoredSession",
    "TableAdapter",
    "Target",
    "ToolSend",
    "build_history",
    "confirms_delivery",
    "find_tool_sends",
    "open_store",
    "record_cross_channel",
]

_HOMES = {
    "AgentStore": "agent_store",
    "ACCOUNT_CHANNELS": "channel_tables",
    "CHAT": "channels",
    "NANOBOT_CHANNELS": "channel_tables",
    "SLACK": "channel_tables",
    "SLACK_BY_TEAM": "channel_tables",
    "SLACK_UNTHREADED": "channel_tables",
    "TELEGRAM": "channel_tables",
    "TELEGRAM_BY_BOT": "channel_tables",
    "WEBSOCKET": "channel_tables",
    "WEBSOCKET_BY_USER": "channel_tables",
    "WHATSAPP": "channel_tables",
    "WHATSAPP_BY_NUMBER": "channel_tables",
    "Address": "channels",
    "ChannelAdapter": "channels",
    "Channels": "channels",
    "Delivery": "provenance",
    "DeliveryRecorder": "delivery",
    "EntryForm": "history",
    "Inbound": "channels",
    "KeyPart": "channels",
    "Message": "message",
    "PendingDelivery": "delivery",
    "Projection": "projection",
    "Session": "live",
    "SessionConflict": "errors",
    "RecordResult": "delivery",
    "RecordStatus": "delivery",
    "SessionEntry": "store",
    "SessionError": "errors",
    "SessionManager": "manager",
    "SessionRef": "model",
    "SessionStore": "store",
    "StoredSession": "store",
    "TableAdapter": "channels",
    "Target": "channels",
    "ToolSend": "provenance",
    "build_history": "history",
    "confirms_delivery": "provenance",
    "find_tool_sends": "provenance",
    "open_store": "location",
    "record_cross_channel": "cross_channel",
}


def __getattr__(name: str) -> object:
    """Import a public name from the module that owns it."""
    if name not in _HOMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f"session.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
