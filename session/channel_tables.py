"""Ready adapters: what is known of four channels, and two sets of keys for them.

The first set is nanobot's (`channel:chat_id`, with the overrides of its channels, read off release
0.3.5). The second is for agents that serve several accounts: it begins with the identifier of our
own side or of the workspace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from session.channels import CHAT, Channels, KeyPart, TableAdapter

if TYPE_CHECKING:
    from session.channels import Inbound

ACCOUNT = KeyPart(("account",))
TEAM = KeyPart(("team",))
USER = KeyPart(("user",))
THREAD = KeyPart(("thread",), optional=True)
TOPIC = KeyPart(("thread",), label="topic", optional=True)
# A post at top level opens the thread that has its own time stamp for a name.
THREAD_OR_POST = KeyPart(("thread", "post"), optional=True)

_WHATSAPP_DOMAIN = "@s.whatsapp.net"
_WHATSAPP_SPELLINGS = {"@lid.whatsapp.net": "@lid", "@c.us": _WHATSAPP_DOMAIN}
_WHATSAPP_SHARED = ("@g.us", "@broadcast", "@newsletter")


def _is_telegram_group(inbound: Inbound) -> bool:
    # A private chat has the number of its user; those of groups and channels are below zero, and
    # only they have a name (`@news`).
    return not inbound.chat.isdigit()


def _is_whatsapp_group(inbound: Inbound) -> bool:
    return inbound.chat.endswith(_WHATSAPP_SHARED)


def _is_slack_channel(inbound: Inbound) -> bool:
    # D is a direct message; C and G are channels and groups. (U and W, a person, become D.)
    return not inbound.chat.startswith(("D", "U", "W"))


def _is_never_shared(inbound: Inbound) -> bool:  # noqa: ARG001 - the shape of all of these
    return False


def _tidy_whatsapp(chat: str) -> str:
    """Return a JID as one comes in: without a device; a phone number alone gets its domain."""
    user, at, domain = chat.strip().partition("@")
    user = user.partition(":")[0]
    if not at:
        return user.removeprefix("+") + _WHATSAPP_DOMAIN if user else ""
    return user + _WHATSAPP_SPELLINGS.get(at + domain, at + domain)


TELEGRAM = TableAdapter(
    "telegram",
    direct=(CHAT, TOPIC),
    shared=(CHAT, TOPIC),
    detects_shared=_is_telegram_group,
)
"""`telegram:42`, `telegram:-100123`, and `telegram:-100123:topic:7`.

`chat` is the chat's id, `thread` its `message_thread_id`: nanobot keys by that wherever there is
one, in forums as in private chats. `account` is the bot's id.
"""

WHATSAPP = TableAdapter("whatsapp", detects_shared=_is_whatsapp_group, tidy=_tidy_whatsapp)
"""`whatsapp:15550100@s.whatsapp.net`, `whatsapp:77@lid`, `whatsapp:120363@g.us`.

`chat` is the chat's JID, as in nanobot: a direct chat's is the person's, by phone number or by
hidden id (LID), and which of the two comes is WhatsApp's choice. Who knows that two are one person
says so with `with_aliases`. `account` is our own number.
"""

SLACK = TableAdapter(
    "slack",
    direct=(CHAT, THREAD),
    shared=(CHAT, THREAD_OR_POST),
    detects_shared=_is_slack_channel,
)
"""`slack:D07`, `slack:D07:1732876543.0001`, and `slack:C042:1732876543.0001`.

`chat` is the id that Slack answers with, not a name or a person's id; `thread` is `thread_ts`,
`post` the message's own `ts`. In a channel a post at top level begins a session of its own, which
the replies share, as nanobot's `reply_in_thread` (its default) has it. A direct message is keyed by
its channel unless it stands in a thread. A post to a channel whose `ts` nobody knows is recorded
under `slack:C042`, as nanobot does it, and no reply in a thread will find it.
"""

SLACK_UNTHREADED = TableAdapter(
    "slack", direct=(CHAT, THREAD), shared=(CHAT, THREAD), detects_shared=_is_slack_channel
)
"""Slack with nanobot's `reply_in_thread` off: posts at top level share their channel's session."""

WEBSOCKET = TableAdapter("websocket", detects_shared=_is_never_shared)
"""`websocket:<chat id>`: `chat` is the server's id of the conversation, `user` the client's."""

NANOBOT_CHANNELS = Channels((TELEGRAM, WHATSAPP, SLACK, WEBSOCKET))
"""The keys that nanobot 0.3.5 has with its default settings; the default of every recorder."""

TELEGRAM_BY_BOT = TELEGRAM.with_keys(direct=(ACCOUNT, CHAT, TOPIC), shared=(ACCOUNT, CHAT, TOPIC))
"""`telegram:<bot>:<chat>`, with `:topic:<thread>` where there is one."""

WHATSAPP_BY_NUMBER = WHATSAPP.with_keys(direct=(ACCOUNT, CHAT), shared=(ACCOUNT, CHAT))
"""`whatsapp:<our number>:<chat>`."""

SLACK_BY_TEAM = SLACK.with_keys(direct=(TEAM, CHAT, THREAD), shared=(TEAM, CHAT, THREAD_OR_POST))
"""`slack:<team>:<chat>`, with `:<thread or post>` as in `SLACK`."""

WEBSOCKET_BY_USER = WEBSOCKET.with_keys(direct=(USER, CHAT), shared=(CHAT,))
"""`websocket:<user>:<chat>`; a conversation that is said to be shared has no user."""

ACCOUNT_CHANNELS = Channels((TELEGRAM_BY_BOT, WHATSAPP_BY_NUMBER, SLACK_BY_TEAM, WEBSOCKET_BY_USER))
"""Keys for an agent that serves several accounts."""
