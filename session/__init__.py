"""Sessions of chat agents: their messages, their history, and the stores that keep them."""

from session.history import EntryForm, build_history
from session.location import open_store
from session.message import Message
from session.model import SessionRef
from session.projection import Projection
from session.store import SessionEntry, SessionStore, StoredSession

__all__ = [
    "EntryForm",
    "Message",
    "Projection",
    "SessionEntry",
    "SessionRef",
    "SessionStore",
    "StoredSession",
    "build_history",
    "open_store",
]
