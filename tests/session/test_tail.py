"""The newest end of a file: what it says agrees with a reading of all of it."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session.projection import read_projection
from session.tail import Tail, read_tail
from session.transcript import Transcript
from tests.session.builders import (
    RealFile,
    change_for,
    conversation,
    file_bytes,
    header_fields,
    real_files,
    row,
    sample_paths,
    session_bytes,
)

if TYPE_CHECKING:
    from pathlib import Path


class Counting(io.BytesIO):
    """A file that counts the bytes that were read from it."""

    total = 0

    def read(self, size: int | None = -1) -> bytes:
        """Read and count."""
        data = super().read(size)
        self.total += len(data)
        return data


def tail_of(data: bytes) -> Tail | None:
    """Read the newest end of `data`."""
    return read_tail(io.BytesIO(data))


def check(data: bytes) -> Tail | None:
    """Compare the tail with the whole."""
    tail, whole = tail_of(data), Transcript.parse(data)
    if tail is None:
        return None
    header, messages, first = tail
    assert header == whole.header
    count = len(messages)
    assert [m.raw for m in messages] == [
        m.raw for m in whole.messages[len(whole.messages) - count :]
    ]
    assert first in {None, len(whole.messages) - count}
    turns = [m.role == "user" for m in whole.messages]
    assert any(m.role == "user" for m in messages) or not any(turns[len(turns) - count :])
    return tail


def compacted(data: bytes, covers: int) -> bytes:
    """Return the file with a projection of ours."""
    transcript = Transcript.parse(data)
    return transcript.project(change_for(transcript.messages, covers))


@pytest.mark.parametrize("file", real_files(), ids=lambda file: file.name)
def test_the_tail_of_a_real_file_agrees_with_all_of_it(file: RealFile) -> None:
    """Header and messages, before and after a compaction."""
    data = file.path.read_bytes()
    check(data)
    whole = Transcript.parse(data)
    if whole.header is not None:
        for covers in {1, len(whole.messages)} & {*range(len(whole.messages) + 1)}:
            check(compacted(data, covers))


@pytest.mark.parametrize("path", sample_paths(), ids=lambda path: path.stem)
def test_the_tail_of_a_real_conversation_reaches_a_user_message(path: Path) -> None:
    """However long its last turn is."""
    tail = check(path.read_bytes())
    assert tail
    assert any(message.role == "user" for message in tail[1])


def test_only_the_end_of_a_large_file_is_read() -> None:
    """A block is enough for a conversation of short messages."""
    data = session_bytes(20_000)
    file = Counting(data)
    tail = read_tail(file)
    assert tail
    assert tail[2] is None
    assert file.total < len(data) / 20
    check(data)


@pytest.mark.parametrize("size", [10, 1 << 14, (1 << 14) + 1, 200_000, 3_000_000])
def test_a_giant_line_is_read_whole(size: int) -> None:
    """At the end, or behind the last user message."""
    rows = [*conversation(3), row("user", "look"), row("assistant", "x" * size)]
    data = file_bytes(header_fields(), *rows)
    tail = check(data)
    assert tail
    assert [m.data["content"] for m in tail[1]][-2:] == ["look", "x" * size]


def test_a_turn_of_many_blocks_is_read_back_to_its_user_message() -> None:
    """The blocks grow until it is found."""
    rows = [
        *conversation(50),
        row("user", "go"),
        *(row("assistant", f"{i}" * 99) for i in range(900)),
    ]
    tail = check(file_bytes(header_fields(), *rows))
    assert tail
    assert tail[1][0].data["content"] == "go"


def test_without_a_user_message_everything_is_read_and_counted() -> None:
    """There is nothing to stop at."""
    rows = [row("assistant", f"{i}" * 99, _channel_delivery=True) for i in range(900)]
    tail = check(file_bytes(header_fields(), *rows))
    assert tail
    assert (len(tail[1]), tail[2]) == (900, 0)


@pytest.mark.parametrize("mark", ["_hidden_history", "_command", "_automation_turn"])
def test_a_user_row_that_no_user_wrote_is_no_stop(mark: str) -> None:
    """Markers, commands and timers do not begin a turn of the user's."""
    rows = [row("user", "real"), row("assistant", "a"), row("user", "marked", **{mark: True})]
    tail = check(file_bytes(header_fields(), *rows))
    assert tail
    assert tail[1][0].data["content"] == "real"


def test_after_a_compaction_the_kept_messages_are_counted() -> None:
    """Reading begins at the byte that the stamp names, also with arrivals behind it."""
    data = compacted(session_bytes(2000), 3990) + file_bytes(*conversation(2, start=2001))
    file = Counting(data)
    tail = read_tail(file)
    assert tail
    assert tail[2] == 3990
    assert len(tail[1]) == 14
    assert file.total < 2000
    projection = read_projection(tail[0], tail[2] + len(tail[1]))
    assert projection == read_projection(tail[0], 4004)
    assert projection.stamp


def test_lines_that_were_written_anew_are_not_taken_for_the_old_ones() -> None:
    """A save in another spelling moves every line: the stamp's byte means nothing any more."""
    lines = compacted(session_bytes(300), 300).splitlines()
    records = [json.loads(line) for line in lines]
    ascii_only = b"".join(json.dumps(record).encode() + b"\n" for record in records)
    tail = check(ascii_only)
    assert tail
    assert tail[2] is None


@pytest.mark.parametrize("kept_at", [-1, True, "7", None, 10**12, 3])
def test_a_stamp_that_names_no_line_is_not_followed(kept_at: object) -> None:
    """Whatever stands there, reading goes back from the end."""
    header, _, rest = compacted(session_bytes(300), 300).partition(b"\n")
    fields = json.loads(header)
    fields["metadata"]["_compaction"]["kept_at"] = kept_at
    tail = check(json.dumps(fields).encode() + b"\n" + rest)
    assert tail
    assert tail[2] is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        file_bytes(*conversation(2)),
        session_bytes(0)[:-1],
        file_bytes(*conversation(1), header_fields()),
        file_bytes(header_fields(), *conversation(1), header_fields()),
        file_bytes(header_fields(metadata={"long": "x" * (1 << 20)})),
        b"\xff\xfe\n",
    ],
    ids=["empty", "no header", "half a header", "below", "two", "a giant one", "no text"],
)
def test_where_only_the_whole_file_can_tell_there_is_no_tail(data: bytes) -> None:
    """The answer is None, and the caller reads everything."""
    assert tail_of(data) is None


@given(
    rows=st.lists(
        st.one_of(
            st.sampled_from(["user", "assistant", "tool", ""]).map(
                lambda role: row(role, "x" * 99)
            ),
            st.just({"_type": "provider_state"}),
            st.just(row("user", "marked", _hidden_history=True)),
        ),
        max_size=12,
    ),
    times=st.sampled_from([1, 40, 400]),
    share=st.floats(0, 1),
    end=st.sampled_from([b"", b"\x00\x00", b'{"role": "us', b"\r\n\n"]),
)
def test_any_tail_agrees_with_all_of_its_file(
    rows: list[dict[str, object]], times: int, share: float, end: bytes
) -> None:
    """Small and large ones, with provider states and damage at the end, compacted or not."""
    data = file_bytes(header_fields(), *rows * times) + end
    check(data)
    check(compacted(data, round(share * len(Transcript.parse(data).messages))) + end)
