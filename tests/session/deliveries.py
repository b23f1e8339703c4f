"""Turns that send messages, and people who answer them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from session.channels import Address, Inbound
from tests.session.builders import row

if TYPE_CHECKING:
    from session.manager import SessionManager

SENT = "Message sent to telegram:42"


def sending(call_id: str = "c1", /, *, tool: str = "message", **arguments: Any) -> dict[str, Any]:
    """Return the row of an assistant that calls the tool with `arguments`, as JSON text."""
    return calling_with(json.dumps(arguments), call_id, tool=tool)


def calling_with(
    arguments: object, call_id: str = "c1", *, tool: str = "message"
) -> dict[str, Any]:
    """Return the row of an assistant that calls the tool with arguments of any form."""
    function = {"name": tool, "arguments": arguments}
    call = {"id": call_id, "type": "function", "function": function}
    return row("assistant", "", tool_calls=[call])


def result(content: object = SENT, call_id: str = "c1") -> dict[str, Any]:
    """Return the row of the tool's answer."""
    return row("tool", content, tool_call_id=call_id, name="message")


def turn(content: str = "Dinner at 7", **arguments: Any) -> list[dict[str, Any]]:
    """Return a whole turn of another session that writes to `telegram:42`."""
    told = {"content": content, "channel": "telegram", "chat_id": "42"} | arguments
    return [row("user", "tell him"), sending(**told), result(), row("assistant", "Told him.")]


def answer_to(address: Address, *, in_threads: bool = True) -> Inbound:
    """Return the message with which people answer, as the channel reports it.

    Written down here once more, apart from the code under test. `in_threads` says that people
    answer a post to a Slack channel in its thread.
    """
    opens = in_threads and address.channel == "slack" and not address.chat.startswith("D")
    return Inbound(
        channel=address.channel,
        chat=address.chat,
        user=address.user or "somebody",
        thread=address.thread or (address.post if opens else ""),
        post="1732876599.0009",
        account=address.account,
        team=address.team,
    )


def seen_after(manager: SessionManager, key: str, text: str = "thanks") -> list[object]:
    """Let the user answer in the session `key`; return what the model is then shown."""
    session = manager.get_or_create(key)
    session.add_message("user", text)
    manager.save(session)
    return seen(manager, key)


def seen(manager: SessionManager, key: str) -> list[object]:
    """Return what the model is shown of the session `key`."""
    return [message["content"] for message in manager.get_or_create(key).get_history()]
