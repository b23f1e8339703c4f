"""What every store promises to an agent; one suite over all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from session.agent_files import AgentFiles
from session.document import Document
from session.memory_store import MemoryRecord, MemoryStore
from session.message import Message
from session.record import Header
from tests.session.builders import file_bytes, header_fields, row, session_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from session.agent_store import AgentStore

KEY = "telegram:42"


@pytest.fixture(params=["files", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> AgentStore:
    """A store of each kind, without sessions."""
    return AgentFiles(tmp_path) if request.param == "files" else MemoryStore()


def document(*texts: str) -> Document:
    """Return a record with what was said."""
    lines = [file_bytes(row("user", text)).rstrip(b"\n") for text in texts]
    return Document(Header(header_fields()), messages=tuple(map(Message, lines)))


def said(store: AgentStore) -> list[object]:
    """What is stored."""
    return [message.data["content"] for message in store.read(KEY).document.messages]


def test_nothing_is_read_where_there_is_nothing(store: AgentStore) -> None:
    """An empty document without a version."""
    record = store.read(KEY)
    assert (record.version, record.document) == (None, Document())
    assert store.version_of(record) is None


def test_what_was_written_is_read(store: AgentStore) -> None:
    """And its version is the one that the write told."""
    written = store.write(store.read(KEY), document("one"), durable=True)
    assert written is not None
    assert said(store) == ["one"]
    assert store.version_of(written) == written.version == store.read(KEY).version
    store.sync(written)
    assert store.version_of(written) == written.version


def test_a_write_over_something_else_is_refused(store: AgentStore) -> None:
    """Over what was written meanwhile, over what was made meanwhile, over what is gone."""
    nothing = store.read(KEY)
    first = store.write(nothing, document("one"), durable=False)
    assert first is not None
    assert store.write(nothing, document("other"), durable=False) is None
    second = store.write(first, document("one", "two"), durable=False)
    assert second is not None
    assert store.write(first, document("one", "other"), durable=False) is None
    assert said(store) == ["one", "two"]
    assert store.delete(KEY)
    assert store.write(second, document("one", "two", "three"), durable=False) is None
    assert said(store) == []
    assert not store.delete(KEY)


def test_records_are_listed_with_their_beginning(store: AgentStore) -> None:
    """Key, header and the first messages."""
    store.write(store.read(KEY), document("one", "two"), durable=False)
    [listed] = store.list_records()
    assert listed.key == KEY
    assert listed.header == Header(header_fields())
    assert [message.data["content"] for message in listed.messages] == ["one", "two"]


def test_a_damaged_record_is_read_and_written(tmp_path: Path) -> None:
    """In both stores alike."""
    data = b"garbage\n" + session_bytes(1)
    memory = MemoryStore({KEY: MemoryRecord(data)})
    files = AgentFiles(tmp_path)
    (tmp_path / "dGVsZWdyYW06NDI.jsonl").write_bytes(data)
    one, other = memory.read(KEY).document, files.read(KEY).document
    assert [message.raw for message in one.messages] == [message.raw for message in other.messages]
    assert one.strays == other.strays
    assert one.damage == other.damage == "1 unreadable line(s)"


def test_an_announcement_lasts_until_it_is_closed(store: AgentStore) -> None:
    """Two agents may be here at once."""
    first, second = store.announce(), store.announce()
    first.close()
    second.close()
