"""Sessions of chat agents: their messages, their history, and the stores that keep them.

What is named here is imported when it is asked for, so that who needs only the errors, say a
command's `--help`, does not wait for the stores.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from session.agent_store import AgentStore
    from session.errors import SessionConflict, SessionError
    from session.history import EntryForm, build_history
    from session.live import Session
    from session.location import open_store
    from session.manager import SessionManager
    from session.message import Message
    from session.model import SessionRef
    from session.projection import Projection
    from session.store import SessionEntry, SessionStore, StoredSession

__all__ = [
    "AgentStore",
    "EntryForm",
    "Message",
    "Projection",
    "Session",
    "SessionConflict",
    "SessionEntry",
    "SessionError",
    "SessionManager",
    "SessionRef",
    "SessionStore",
    "StoredSession",
    "build_history",
    "open_store",
]

_HOMES = {
    "AgentStore": "agent_store",
    "EntryForm": "history",
    "Message": "message",
    "Projection": "projection",
    "Session": "live",
    "SessionConflict": "errors",
    "SessionEntry": "store",
    "SessionError": "errors",
    "SessionManager": "manager",
    "SessionRef": "model",
    "SessionStore": "store",
    "StoredSession": "store",
    "build_history": "history",
    "open_store": "location",
}


def __getattr__(name: str) -> object:
    """Import a public name from the module that owns it."""
    if name not in _HOMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f"session.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
