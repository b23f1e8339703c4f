"""Damaged files: what can be read is there, what can't be stays, and the original is put aside."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

import pytest

from session.keys import file_name
from session.manager import SessionManager
from session.message import decode_line
from session.transcript import Transcript
from tests.session.builders import RealFile, file_bytes, header_fields, real_files, row

if TYPE_CHECKING:
    from pathlib import Path

KEY = "telegram:42"
HEADER = file_bytes(header_fields(last_archived=1, last_consolidated=1))
ROWS = [row("user", "one"), row("assistant", "two"), row("user", "three é")]
LINES = [file_bytes(data).rstrip(b"\n") for data in ROWS]
GARBAGE = b'{"role": "assist'
DAMAGE = {
    "torn tail": (HEADER + b"\n".join([*LINES, GARBAGE]), 1),
    "garbage between": (HEADER + b"\n".join([LINES[0], b"\x00\x01 garbage", *LINES[1:], b""]), 1),
    "NUL tail": (HEADER + b"\n".join([*LINES, b"\0" * 40]), 1),
    "invalid UTF-8": (HEADER + b"\n".join([*LINES[:2], b'{"role":"user\xff"}', LINES[2], b""]), 1),
    "no objects": (HEADER + b"\n".join([b"[1]", b"17", b'"text"', *LINES, b""]), 3),
    "metadata that is garbage": (b'{"_type":"metadata"' + b"\n" + b"\n".join([*LINES, b""]), 1),
    "no metadata": (b"\n".join([*LINES, b""]), 0),
    "metadata in third place": (b"\n".join([*LINES[:2], HEADER.rstrip(), LINES[2], b""]), 0),
    "metadata twice": (HEADER + b"\n".join([*LINES, HEADER.rstrip(), b""]), 0),
    "metadata that is a text": (
        file_bytes(header_fields(metadata="x")) + b"\n".join([*LINES, b""]),
        0,
    ),
    "BOM and no metadata": (b"\xef\xbb\xbf" + b"\n".join([*LINES, b""]), 0),
}


def file_of(folder: Path) -> Path:
    """The file of the session."""
    return folder / file_name(KEY)


def asides(folder: Path) -> list[Path]:
    """What was put aside."""
    return sorted(folder.glob(".compactor/damaged/*/*"))


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_costs_no_message_and_no_line(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Every message loads; a save keeps the unreadable lines and the original, and warns."""
    data, unreadable = DAMAGE[name]
    file_of(tmp_path).write_bytes(data)
    with SessionManager(tmp_path) as manager:
        session = manager.get_or_create(KEY)
        assert session.messages == ROWS
        assert file_of(tmp_path).read_bytes() == data, "reading changes nothing"
        session.add_message("user", "four")
        manager.save(session)

    written = file_of(tmp_path).read_bytes()
    lines = written.split(b"\n")
    assert decode_line(lines[0]) is not None
    assert json.loads(lines[0])["_type"] == "metadata"
    assert [line for line in lines if line in LINES] == LINES
    bad = [line for line in data.split(b"\n") if line.strip() and decode_line(line) is None]
    bad = [line for line in bad if not line.startswith(b"\xef\xbb\xbf")]
    assert [line for line in lines if line and decode_line(line) is None] == bad
    assert len(bad) == unreadable
    assert len(Transcript.parse(written).header_spans) == 1
    [aside] = asides(tmp_path)
    assert aside.read_bytes() == data
    assert aside.stat().st_mode & 0o777 == 0o600
    assert "session_damaged" in caplog.text


def test_an_original_is_put_aside_once(tmp_path: Path) -> None:
    """Later saves, by this process or the next, have nothing new to keep."""
    file_of(tmp_path).write_bytes(DAMAGE["garbage between"][0])
    for text in ("a", "b"):
        manager = SessionManager(tmp_path)
        session = manager.get_or_create(KEY)
        session.add_message("user", text)
        manager.save(session)
        session.add_message("user", text)
        manager.save(session)
    assert len(asides(tmp_path)) == 1
    assert [m["content"] for m in session.messages[-4:]] == ["a", "a", "b", "b"]


def test_each_damage_of_a_header_is_put_aside(tmp_path: Path) -> None:
    """The same kind of damage, another content."""
    for text in ("first", "second"):
        header = file_bytes(header_fields(metadata=[text]))
        file_of(tmp_path).write_bytes(header + b"\n".join([*LINES, b""]))
        manager = SessionManager(tmp_path)
        session = manager.get_or_create(KEY)
        session.add_message("user", text)
        manager.save(session)
    kept = b"".join(path.read_bytes() for path in asides(tmp_path))
    assert b"first" in kept
    assert b"second" in kept


def test_clearing_a_damaged_session_keeps_nothing_of_it(tmp_path: Path) -> None:
    """Who clears a conversation means all of it, also what was put aside before."""
    file_of(tmp_path).write_bytes(DAMAGE["garbage between"][0])
    manager = SessionManager(tmp_path)
    session = manager.get_or_create(KEY)
    session.add_message("user", "a")
    manager.save(session)
    session.clear()
    manager.save(session)
    assert asides(tmp_path) == []
    assert len(file_of(tmp_path).read_bytes().splitlines()) == 1


def test_an_empty_file_is_an_empty_session(tmp_path: Path) -> None:
    """No damage, no warning, and it can be saved."""
    file_of(tmp_path).write_bytes(b"")
    manager = SessionManager(tmp_path)
    session = manager.get_or_create(KEY)
    assert session.messages == []
    session.add_message("user", "first")
    manager.save(session)
    assert len(file_of(tmp_path).read_bytes().splitlines()) == 2
    assert asides(tmp_path) == []


def test_garbage_alone_is_an_empty_session_that_keeps_its_garbage(tmp_path: Path) -> None:
    """Nothing readable is no reason to throw anything away."""
    file_of(tmp_path).write_bytes(b"\xff\xfe\n\x00")
    manager = SessionManager(tmp_path)
    session = manager.get_or_create(KEY)
    assert session.messages == []
    manager.flush_all()
    assert file_of(tmp_path).read_bytes().split(b"\n")[1:] == [b"\xff\xfe", b"\x00", b""]
    assert asides(tmp_path)[0].read_bytes() == b"\xff\xfe\n\x00"


def test_carriage_returns_stay(tmp_path: Path) -> None:
    """CRLF is white space to JSON: the lines load, and keep their bytes."""
    data = (HEADER + b"\n".join([*LINES, b""])).replace(b"\n", b"\r\n")
    file_of(tmp_path).write_bytes(data)
    manager = SessionManager(tmp_path)
    session = manager.get_or_create(KEY)
    session.add_message("user", "four")
    manager.save(session)
    assert file_of(tmp_path).read_bytes().split(b"\n")[1:4] == [line + b"\r" for line in LINES]
    assert asides(tmp_path) == []


def test_a_symbolic_link_is_not_followed(tmp_path: Path) -> None:
    """It may lead anywhere."""
    other = tmp_path / "elsewhere"
    other.write_bytes(HEADER)
    file_of(tmp_path).symlink_to(other)
    with pytest.raises(Exception, match="symbolic link"):
        SessionManager(tmp_path).get_or_create(KEY)


@pytest.mark.parametrize("real", real_files(), ids=lambda real: real.name)
def test_real_files_load_and_save_with_every_line(
    real: RealFile, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Of nanobot's releases, good and bad: no line lost, none changed, messages in order."""
    caplog.set_level(logging.CRITICAL)
    path = tmp_path / real.path.name
    path.write_bytes(real.path.read_bytes())
    manager = SessionManager(tmp_path)
    keys = [str(about["key"]) for about in manager.list_sessions()]
    for key in keys:
        session = manager.get_or_create(key)
        session.add_message("user", "appended")
        manager.save(session)

    [written] = list(tmp_path.glob("*.jsonl"))
    before, after = (content_lines(one.read_bytes()) for one in (real.path, written))
    assert after[: len(before)] == before
    assert len(after) == len(before) + 1
    assert json.loads(after[-1])["content"] == "appended"


def content_lines(data: bytes) -> list[bytes]:
    """All lines that are neither blank nor a record of the agent's own."""
    lines = [line for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n") if line.strip()]
    kinds = [decode_line(line) or {} for line in lines]
    own = {"metadata", "provider_state"}
    return [line for line, kind in zip(lines, kinds, strict=True) if kind.get("_type") not in own]
