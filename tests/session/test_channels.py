"""One resolver: what is sent lies in the session in which the answer arrives."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session.channel_tables import (
    ACCOUNT_CHANNELS,
    NANOBOT_CHANNELS,
    SLACK_UNTHREADED,
    TELEGRAM_BY_BOT,
    WHATSAPP,
)
from session.channels import CHAT, Address, Channels, Inbound, KeyPart, TableAdapter
from session.delivery import DeliveryRecorder, RecordStatus
from session.errors import AddressError
from tests.session.deliveries import answer_to, seen_after

if TYPE_CHECKING:
    from session.manager import SessionManager

TS = "1732876543.0001"

# As nanobot 0.3.5 keys what comes in, with its default settings.
NANOBOT_KEYS = [
    (Inbound("telegram", "42", user="42"), "telegram:42"),
    (Inbound("telegram", "-100123", user="42"), "telegram:-100123"),
    (Inbound("telegram", "-100123", user="42", thread="7"), "telegram:-100123:topic:7"),
    (Inbound("telegram", "42", user="42", thread="7", post="9"), "telegram:42:topic:7"),
    (Inbound("whatsapp", "15550100@s.whatsapp.net"), "whatsapp:15550100@s.whatsapp.net"),
    (Inbound("whatsapp", "77@lid.whatsapp.net"), "whatsapp:77@lid"),
    (Inbound("whatsapp", "120363@g.us", user="77"), "whatsapp:120363@g.us"),
    (Inbound("slack", "C042", post=TS), f"slack:C042:{TS}"),
    (Inbound("slack", "C042", thread=TS, post="1732876544.0002"), f"slack:C042:{TS}"),
    (Inbound("slack", "G042", post=TS), f"slack:G042:{TS}"),
    (Inbound("slack", "D07", post=TS), "slack:D07"),
    (Inbound("slack", "D07", thread=TS, post="1732876544.0002"), f"slack:D07:{TS}"),
    (Inbound("websocket", "a:b-1", user="anon-3"), "websocket:a:b-1"),
    (Inbound("feishu", "ou_1"), "feishu:ou_1"),
    (Inbound("discord", "8001", user="3", post="5"), "discord:8001"),
]

ACCOUNT_KEYS = [
    (Inbound("telegram", "42", account="b1", thread="7"), "telegram:b1:42:topic:7"),
    (Inbound("telegram", "-100", user="42", account="b1"), "telegram:b1:-100"),
    (Inbound("telegram", "-100", account="b1", thread="7"), "telegram:b1:-100:topic:7"),
    (Inbound("whatsapp", "1@lid", account="15550199"), "whatsapp:15550199:1@lid"),
    (Inbound("whatsapp", "1@g.us", account="15550199"), "whatsapp:15550199:1@g.us"),
    (Inbound("slack", "C042", team="T1", post=TS), f"slack:T1:C042:{TS}"),
    (Inbound("slack", "D07", team="T1", post=TS), "slack:T1:D07"),
    (Inbound("slack", "D07", team="T1", thread=TS), f"slack:T1:D07:{TS}"),
    (Inbound("websocket", "a:b%1", user="u1"), "websocket:u1:a%3Ab%251"),
    (Inbound("websocket", "room", user="u1", shared=True), "websocket:room"),
    (Inbound("discord", "8001", account="b1"), "discord:8001"),
]

UNTHREADED = Channels((SLACK_UNTHREADED,))
ALL_CHANNELS = {
    "nanobot": NANOBOT_CHANNELS,
    "accounts": ACCOUNT_CHANNELS,
    "unthreaded": UNTHREADED,
}


@pytest.mark.parametrize(("inbound", "key"), NANOBOT_KEYS, ids=[key for _, key in NANOBOT_KEYS])
def test_the_default_keys_are_nanobots(inbound: Inbound, key: str) -> None:
    """Topics, threads, posts, persons and groups, and channels without an adapter."""
    assert NANOBOT_CHANNELS.session_key(inbound) == key


@pytest.mark.parametrize(("inbound", "key"), ACCOUNT_KEYS, ids=[key for _, key in ACCOUNT_KEYS])
def test_the_richer_keys_begin_with_an_account(inbound: Inbound, key: str) -> None:
    """Bot, number, workspace or user, and colons within an identifier are quoted."""
    assert ACCOUNT_CHANNELS.session_key(inbound) == key


def test_without_threads_of_its_own_a_slack_post_belongs_to_its_channel() -> None:
    """As with nanobot's `reply_in_thread` off; a thread that somebody opened is a session."""
    for chat in ("C042", "D07"):
        assert UNTHREADED.session_key(Inbound("slack", chat, post=TS)) == f"slack:{chat}"
        inside = Inbound("slack", chat, thread=TS, post="1732876544.0002")
        assert UNTHREADED.session_key(inside) == f"slack:{chat}:{TS}"
    assert UNTHREADED.target(Address("slack", "C042", user="U1")).recipient is None
    assert UNTHREADED.target(Address("slack", "D07", user="U1")).recipient == "U1"


@pytest.mark.parametrize(
    ("spelling", "key"),
    [
        ("15550100", "whatsapp:15550100@s.whatsapp.net"),
        (" +15550100 ", "whatsapp:15550100@s.whatsapp.net"),
        ("15550100@c.us", "whatsapp:15550100@s.whatsapp.net"),
        ("15550100:12@s.whatsapp.net", "whatsapp:15550100@s.whatsapp.net"),
        ("77:3@lid.whatsapp.net", "whatsapp:77@lid"),
        ("120363@g.us", "whatsapp:120363@g.us"),
    ],
)
def test_a_whatsapp_number_has_one_spelling(spelling: str, key: str) -> None:
    """A device, an old domain or a bare number name the same person."""
    assert NANOBOT_CHANNELS.target(Address("whatsapp", spelling)).key == key


def test_other_names_of_a_conversation_lead_to_it() -> None:
    """In both directions, and also those that are learned later."""
    names: dict[str, str] = {}
    channels = Channels((WHATSAPP.with_aliases(names),))
    assert channels.session_key(Inbound("whatsapp", "77@lid")) == "whatsapp:77@lid"
    names["77@lid"] = "15550100@s.whatsapp.net"
    expected = "whatsapp:15550100@s.whatsapp.net"
    assert channels.session_key(Inbound("whatsapp", "77@lid.whatsapp.net")) == expected
    assert channels.target(Address("whatsapp", "+15550100")).key == expected


def test_what_is_known_of_our_side_can_be_left_out() -> None:
    """What a message does say wins."""
    channels = Channels((TELEGRAM_BY_BOT.with_known(account="b1"),))
    told = Inbound("telegram", "42", account="b2")
    assert channels.session_key(Inbound("telegram", "42")) == "telegram:b1:42"
    assert channels.target(Address("telegram", "42")).key == "telegram:b1:42"
    assert channels.session_key(told) == "telegram:b2:42"


def test_a_table_of_ones_own_is_a_few_lines() -> None:
    """Mattermost's threads, as nanobot keys them."""
    thread = KeyPart(("thread", "post"), optional=True)
    channels = Channels((TableAdapter("mattermost", shared=(CHAT, thread)),))
    assert channels.target(Address("mattermost", "c1", post="p1")).key == "mattermost:c1:p1"
    assert channels.session_key(Inbound("mattermost", "c1", thread="p1")) == "mattermost:c1:p1"
    assert channels.session_key(Inbound("mattermost", "c1", shared=False)) == "mattermost:c1"


def test_a_slack_post_that_nobody_can_name_lies_in_its_channel() -> None:
    """As in nanobot; which thread the answer will open is not known."""
    assert NANOBOT_CHANNELS.target(Address("slack", "C042")).key == "slack:C042"


@pytest.mark.parametrize(
    ("address", "missing"),
    [
        (Address("telegram", "42"), "account"),
        (Address("slack", "C1"), "team"),
        (Address("websocket", "a"), "user"),
        (Address("telegram", account="b1"), "chat"),
        (Address("", "42"), "channel"),
        (Address("discord"), "chat"),
    ],
)
def test_an_identifier_that_is_missing_is_an_error(address: Address, missing: str) -> None:
    """A key without it would be another session's, and the answer would not find it."""
    with pytest.raises(AddressError, match=f"no {missing}:") as raised:
        ACCOUNT_CHANNELS.target(address)
    assert (raised.value.channel, raised.value.missing) == (address.channel, missing)


@pytest.mark.parametrize(
    ("address", "recipient"),
    [
        (Address("telegram", "42"), "42"),
        (Address("telegram", "42", user="42", thread="7"), "42"),
        (Address("telegram", "-100123"), None),
        (Address("telegram", "-100123", user="42", thread="7"), None),
        (Address("telegram", "@news"), None),
        (Address("whatsapp", "15550100@s.whatsapp.net"), "15550100@s.whatsapp.net"),
        (Address("whatsapp", "77@lid"), "77@lid"),
        (Address("whatsapp", "120363@g.us", user="77@lid"), None),
        (Address("whatsapp", "status@broadcast"), None),
        (Address("whatsapp", "120@newsletter"), None),
        (Address("slack", "D07"), "D07"),
        (Address("slack", "D07", user="U1"), "U1"),
        (Address("slack", "C042", user="U1", post=TS), None),
        (Address("slack", "G042"), None),
        (Address("slack", "D07", shared=True), None),
        (Address("websocket", "a", user="anon-3"), "anon-3"),
        (Address("discord", "8001", user="3"), None),
        (Address("discord", "8001", user="3", shared=False), "3"),
        (Address("feishu", "ou_1", shared=False), "ou_1"),
    ],
)
def test_a_direct_message_has_a_recipient_and_a_shared_thread_none(
    address: Address, recipient: str | None
) -> None:
    """Where nobody knows, nobody is named."""
    assert NANOBOT_CHANNELS.target(address).recipient == recipient


_ids = st.text("abZ019.-_@", min_size=1, max_size=6)
_any_ids = st.text("a:%3A25", min_size=1, max_size=5)
_optional = st.just("") | _ids


@st.composite
def _addresses(draw: st.DrawFn) -> Address:
    channel = draw(st.sampled_from(["telegram", "whatsapp", "slack", "websocket", "discord"]))
    prefix = {
        "telegram": ["", "-", "@"],
        "whatsapp": ["15"],
        "slack": ["C", "D", "G"],
        "websocket": ["", ":"],
        "discord": [""],
    }[channel]
    chat = draw(st.sampled_from(prefix)) + draw(_ids)
    if channel == "whatsapp":
        chat += draw(st.sampled_from(["", "@lid", "@g.us", "@s.whatsapp.net"]))
    return Address(
        channel,
        chat,
        user=draw(_ids),
        thread=draw(_optional),
        post=draw(_optional),
        account=draw(_ids),
        team=draw(_ids),
    )


class Folderless:
    """A manager that keeps its sessions in memory: the property asks it thousands of times."""

    def __init__(self) -> None:
        self.rows: dict[str, list[dict[str, object]]] = {}

    def get_or_create(self, key: str) -> Rows:
        """Return the session."""
        return Rows(self.rows.setdefault(key, []))

    def save(self, session: Rows) -> None:
        """Keep the session: it is kept already."""


class Rows:
    """A session of that manager."""

    def __init__(self, messages: list[dict[str, object]]) -> None:
        self.messages = messages

    def add_message(self, role: str, content: str, **more: object) -> None:
        """Append a message."""
        self.messages.append({"role": role, "content": content, **more})


@pytest.mark.parametrize("name", ALL_CHANNELS)
@given(address=_addresses())
def test_any_delivery_lies_where_its_answer_arrives(name: str, address: Address) -> None:
    """The recorder's own path, beside the way in of an answer as the channel reports it."""
    channels = ALL_CHANNELS[name]
    manager = Folderless()
    if address.channel == "slack" and not address.thread and name != "unthreaded":
        address = replace(address, post=address.post or TS)  # or nobody could tell the thread
    recorded = DeliveryRecorder(manager, channels).record(address, "news")
    assert recorded.status is RecordStatus.RECORDED
    (key,) = manager.rows
    assert (
        key
        == recorded.key
        == channels.session_key(answer_to(address, in_threads=name != "unthreaded"))
    )


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("channel", ["telegram", "whatsapp", "slack", "websocket"])
@given(data=st.data())
def test_two_conversations_never_share_a_richer_key(
    channel: str, shared: bool, data: st.DataObject
) -> None:
    """Whatever colons and percent signs are in the identifiers."""
    names = ("account", "team", "user", "chat", "thread")
    # A WhatsApp chat is tidied, and that would be what makes two of them one.
    whatsapp = st.integers(1, 99).map(lambda number: f"{number}@lid")
    values = [
        {name: data.draw(whatsapp if (channel, name) == ("whatsapp", "chat") else _any_ids)}
        for name in names
        for _ in range(2)
    ]
    one, two = ({k: v for pair in values[i::2] for k, v in pair.items()} for i in range(2))
    keyed = {"telegram": 0, "whatsapp": 0, "slack": 1, "websocket": 2}
    parts = ["chat", names[keyed[channel]]] if channel != "websocket" or not shared else ["chat"]
    parts += ["thread"] if channel in ("telegram", "slack") else []
    keys = [
        ACCOUNT_CHANNELS.session_key(Inbound(channel, shared=shared, **which))
        for which in (one, two)
    ]
    assert (keys[0] == keys[1]) == all(one[name] == two[name] for name in parts)


def test_an_address_becomes_a_message_with_all_its_identifiers() -> None:
    """None of them is dropped on the way."""
    values = {item.name: item.name for item in fields(Address) if item.name != "shared"}
    inbound = Inbound.at(Address(**values, shared=True))
    assert inbound == Inbound(**values, shared=True)


@pytest.mark.parametrize(
    ("channels", "address"),
    [
        (NANOBOT_CHANNELS, Address("telegram", "42")),
        (NANOBOT_CHANNELS, Address("telegram", "-100", thread="7")),
        (NANOBOT_CHANNELS, Address("whatsapp", "15550100")),
        (NANOBOT_CHANNELS, Address("slack", "C042", post=TS)),
        (NANOBOT_CHANNELS, Address("slack", "C042", thread=TS)),
        (NANOBOT_CHANNELS, Address("slack", "D07", post=TS)),
        (NANOBOT_CHANNELS, Address("websocket", "a-1")),
        (NANOBOT_CHANNELS, Address("feishu", "ou_1")),
        (UNTHREADED, Address("slack", "D07", thread=TS)),
        (ACCOUNT_CHANNELS, Address("telegram", "42", account="b1")),
        (ACCOUNT_CHANNELS, Address("telegram", "-100", account="b1", thread="7")),
        (ACCOUNT_CHANNELS, Address("whatsapp", "15550100", account="15550199")),
        (ACCOUNT_CHANNELS, Address("slack", "C042", team="T1", post=TS)),
        (ACCOUNT_CHANNELS, Address("websocket", "a", user="u1")),
    ],
    ids=lambda value: value.channel if isinstance(value, Address) else len(value.adapters),
)
def test_whoever_answers_is_seen_to_answer(
    manager: SessionManager, channels: Channels, address: Address
) -> None:
    """Through manager and files to what the model is shown: the news, then the answer."""
    recorded = DeliveryRecorder(manager, channels).record(address, "news")
    assert recorded.status is RecordStatus.RECORDED
    key = channels.session_key(answer_to(address))
    assert seen_after(manager, key) == ["news", "thanks"]


class Unified:
    """An adapter of a user's own: one conversation for everything, as nanobot can have it."""

    channel = "telegram"

    def session_key(self, inbound: Inbound) -> str:  # noqa: ARG002 - the adapter's shape
        """Return the one key."""
        return "unified:default"

    def is_shared(self, inbound: Inbound) -> bool:  # noqa: ARG002 - the adapter's shape
        """Tell nothing apart."""
        return False


def test_an_adapter_of_ones_own_is_asked_in_both_directions(manager: SessionManager) -> None:
    """It needs a name and two methods."""
    channels = Channels((Unified(),))
    DeliveryRecorder(manager, channels).record(Address("telegram", "42"), "news")
    assert seen_after(manager, channels.session_key(Inbound("telegram", "7"))) == ["news", "thanks"]
