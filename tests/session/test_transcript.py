"""A file taken apart and put together again: every byte that is not ours to change is the same."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session.record import Header
from session.transcript import Transcript, split_lines
from tests.session.builders import (
    change_for,
    conversation,
    file_bytes,
    header_fields,
    real_files,
    sample_paths,
    session_bytes,
)

if TYPE_CHECKING:
    from pathlib import Path

FILES = [file.path for file in real_files()] + sample_paths()
BOM = b"\xef\xbb\xbf"


def is_ours_to_change(line: bytes, *, is_header: bool) -> bool:
    """Whether a line is the header that counts or a provider state, by our own reading of it."""
    try:
        value = json.loads(line.decode().strip())
    except (ValueError, RecursionError):
        return False
    kind = value.get("_type") if isinstance(value, dict) else None
    return kind == "provider_state" or (kind == "metadata" and is_header)


def without_ours(data: bytes) -> bytes:
    """Return the bytes that must stay, found without the code under test."""
    lines = [line + b"\n" for line in data.removeprefix(BOM).split(b"\n")]
    lines[-1] = lines[-1][:-1]
    headers = [i for i, line in enumerate(lines) if _is_metadata(line)]
    return b"".join(
        line
        for i, line in enumerate(lines)
        if not is_ours_to_change(line, is_header=headers[-1:] == [i])
    )


def _is_metadata(line: bytes) -> bool:
    return is_ours_to_change(line, is_header=True) and not is_ours_to_change(line, is_header=False)


def check(data: bytes, covers: int) -> None:
    """Project the file, and check that only header and provider state have changed."""
    transcript = Transcript.parse(data)
    change = change_for(transcript.messages, covers)
    if transcript.header is None:
        with pytest.raises(ValueError, match="without a metadata line"):
            transcript.project(change)
        return
    rendered = transcript.project(change)
    again = Transcript.parse(rendered)
    assert again.header
    assert again.header.fields["last_archived"] == covers
    assert [m.raw for m in again.messages] == [m.raw for m in transcript.messages]
    assert not again.provider_spans
    assert without_ours(rendered) == without_ours(data)
    kept_at = again.header.metadata["_compaction"]["kept_at"]
    start = again.header_span.end + kept_at
    if transcript.header_span.start == 0 and rendered.count(b"\n"):
        assert rendered[start - 1 : start] == b"\n" or start == len(rendered)
        kept = Transcript.parse(rendered[start:])
        assert [m.raw for m in kept.messages] == [m.raw for m in transcript.messages[covers:]]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_projection_changes_no_message_of_a_real_file(path: Path) -> None:
    """Good, damaged and large ones, with any number of messages covered."""
    data = path.read_bytes()
    count = len(Transcript.parse(data).messages)
    for covers in sorted({0, 1, count // 2, count}):
        if covers <= count:
            check(data, covers)


_texts = st.text(st.characters(exclude_categories=[]), max_size=8)
_messages = st.one_of(
    st.builds(lambda text: json.dumps({"role": "user", "content": text}).encode(), _texts),
    st.sampled_from(
        [
            b'{"role":"assistant","content":"\xe2\x80\xa8 line separator"}',
            b'{"role": "user", "content": "\\ud800"}\r',
            b' {"odd": 1e400, "odd": 2} ',
            b"{}",
        ]
    ),
)
_soup = st.one_of(
    st.binary(max_size=12).map(lambda data: data.replace(b"\n", b"")),
    st.sampled_from([b"", b"\x00" * 9, b"null", b"[1]", b"\xff\xfe", b"\r", b"{", BOM]),
)
_headers = st.sampled_from(
    [
        json.dumps(header_fields()).encode(),
        json.dumps(header_fields(metadata={"title": "é \ud800"}, odd=[1])).encode(),
        json.dumps(header_fields()).encode() + b"\r",
    ]
)
_provider = st.just(b'{"_type": "provider_state", "state": {}}')
_files = st.builds(
    lambda bom, first, rest, end: bom + b"\n".join([*first, *rest]) + end,
    st.sampled_from([b"", BOM]),
    st.one_of(st.just([]), _headers.map(lambda line: [line])),
    st.lists(st.one_of(_messages, _messages, _soup, _headers, _provider), max_size=8),
    st.sampled_from([b"", b"\n", b"\n\x00\x00", b"\r\n"]),
)


@given(data=_files, share=st.floats(0, 1))
def test_a_projection_changes_no_byte_of_any_soup(data: bytes, share: float) -> None:
    """CRLF, BOM, NUL, bad UTF-8, no final newline, headers anywhere and any number of them."""
    count = len(Transcript.parse(data).messages)
    check(data, round(share * count))


@given(data=st.binary(max_size=200))
def test_lines_are_all_of_a_file(data: bytes) -> None:
    """They follow each other, and only a newline ends one."""
    spans = list(split_lines(data))
    assert b"".join(data[span.start : span.end] for span in spans) == data
    assert len(spans) == data.count(b"\n") + (not data.endswith(b"\n") and bool(data))


def test_a_header_in_third_place_stays_there() -> None:
    """Nothing is moved, and what lies ahead of it can't be found from its end."""
    lines = file_bytes(*conversation(2)).splitlines(keepends=True)
    header = file_bytes(header_fields())
    data = b"".join([*lines[:2], header, *lines[2:]])
    transcript = Transcript.parse(data)
    change = change_for(transcript.messages, 1)
    rendered = transcript.project(change).splitlines(keepends=True)
    assert rendered[:2] + rendered[3:] == lines
    stamp = json.loads(rendered[2])["metadata"]["_compaction"]
    assert stamp["kept_at"] == -1


def test_of_two_headers_the_last_counts() -> None:
    """As in nanobot; the first stays as it is."""
    first, second = header_fields(odd=1), header_fields(odd=2)
    data = file_bytes(first, *conversation(1), second)
    transcript = Transcript.parse(data)
    assert transcript.header == Header(second)
    rendered = transcript.project(change_for(transcript.messages, 0))
    assert rendered.startswith(file_bytes(first, *conversation(1)))


def test_a_provider_state_is_dropped_and_not_counted() -> None:
    """It would replay the old transcript; the kept messages are found without it."""
    state = {"_type": "provider_state", "state": {"payload": "x" * 50}}
    data = file_bytes(header_fields(), state, *conversation(2))
    transcript = Transcript.parse(data)
    assert len(transcript.messages) == 4
    rendered = transcript.project(change_for(transcript.messages, 2))
    assert b"provider_state" not in rendered
    check(data, 2)


def test_a_session_without_messages_can_be_projected() -> None:
    """A header alone, with and without its newline."""
    for data in (session_bytes(0), session_bytes(0)[:-1]):
        assert Transcript.parse(data).project(change_for([], 0)).count(b"\n") == data.count(b"\n")
