"""What a list says of a session: times, a title, and the first thing that was said."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from session.agent_store import Listed

_TITLE_LENGTH = 80
_PREVIEW_LENGTH = 120


def describe_listed(listed: Listed) -> dict[str, str]:
    """Return a session as nanobot's list has it: `key`, times, `title`, `preview` and `path`."""
    fields = listed.header.fields if listed.header else {}
    title = listed.header.metadata.get("title") if listed.header else None
    said = [m for m in listed.messages if m.role in {"user", "assistant"} and not m.is_hidden]
    first = next((m for m in said if m.role == "user"), said[0] if said else None)
    return {
        "key": listed.key,
        "created_at": _text(fields.get("created_at")),
        "updated_at": _text(fields.get("updated_at")),
        "title": _short(title, _TITLE_LENGTH),
        "preview": _short(first.data.get("content") if first else None, _PREVIEW_LENGTH),
        "path": listed.name,
    }


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _short(value: object, length: int) -> str:
    if isinstance(value, list):
        parts = (part.get("text") for part in value if isinstance(part, dict))
        value = " ".join(part for part in parts if isinstance(part, str))
    line = " ".join(_text(value).split())
    return line if len(line) <= length else line[: length - 1] + "…"
