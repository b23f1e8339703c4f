"""When a live session of nanobot's takes over what its file says, ask by ask and save by save."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from loguru import logger

from session.nanobot_adoption import Adoption, follow_files
from tests.session.live_nanobot import EMPTY, KEY, OTHER, OURS, Beside, Live, Memory, write


@pytest.fixture
def beside(tmp_path: Path) -> Beside:
    """A session of four messages that nanobot has saved and the plugin has seen."""
    made = Beside(Memory(tmp_path))
    Adoption(made.manager, clock=lambda: made.now).start()
    session = made.ask()
    session.messages = [{"role": "user", "content": str(number)} for number in range(4)]
    session.metadata["title"] = "A title"
    made.save(session)
    return made


def follow(manager: Memory | None) -> None:
    """Follow the files of a nanobot that never compacts by itself."""
    follow_files(manager, read_minutes=lambda: 0)


@pytest.fixture
def said() -> Iterator[list[str]]:
    """What the log says, from warnings up."""
    lines: list[str] = []
    added = logger.add(lambda line: lines.append(str(line)), level="WARNING", format="{message}")
    yield lines
    logger.remove(added)


def test_the_next_ask_sees_a_compaction(beside: Beside) -> None:
    """The same object, in place; what else is in its metadata stays as it is in memory."""
    before = beside.ask()
    before.provider_state = object()
    beside.compact()

    after = beside.ask()

    assert after is before
    assert after.written == OURS
    assert after.metadata["title"] == "A title"
    assert after.provider_state is None


def test_a_new_session_that_was_never_asked_for_again_sees_it_too(beside: Beside) -> None:
    """The last thing that happened to it was a save."""
    beside.compact()

    assert beside.ask().written == OURS


def test_a_save_sees_it_first(beside: Beside) -> None:
    """As at nanobot's end, when everything is saved once more; under the folder's lock."""
    session = beside.ask()
    beside.compact()
    beside.manager.locked = 0

    beside.save(session)

    assert beside.in_file() == OURS
    assert beside.manager.locked == 1


def test_a_session_that_was_just_asked_for_is_compacted_later(beside: Beside) -> None:
    """A turn may have begun; when it is quiet again the file is still there to be seen."""
    beside.ask()
    beside.compact()

    assert beside.ask(after=4.0).written == EMPTY
    assert beside.ask(after=4.0).written == EMPTY
    assert beside.ask(after=6.0).written == OURS


@pytest.mark.parametrize("key", ["pending_user_turn", "runtime_checkpoint"])
def test_a_running_turn_keeps_its_memory(beside: Beside, key: str) -> None:
    """Its save writes the compaction over."""
    session = beside.ask()
    session.metadata[key] = {"any": "thing"}
    beside.compact()

    beside.save(session)

    assert session.written == beside.in_file() == EMPTY


def test_what_was_said_meanwhile_keeps_its_memory(beside: Beside) -> None:
    """A message that only memory has is never put behind a cursor that does not know it."""
    session = beside.ask()
    beside.compact()
    session.messages.append({"role": "user", "content": "new"})
    session.updated_at += timedelta(seconds=1)

    beside.save(session)

    assert session.written == beside.in_file() == EMPTY


def test_nanobots_own_compaction_is_not_taken_back(beside: Beside) -> None:
    """Memory moved, and the file did not follow yet."""
    session = beside.ask()
    session.last_consolidated = OTHER.covers
    session.metadata["_last_summary"] = OTHER.summary

    assert beside.ask().written == OTHER
    beside.save(session)
    assert beside.in_file() == OTHER
    beside.compact()
    assert beside.ask().written == OURS


def test_a_session_that_is_saved_unseen_is_what_it_is(beside: Beside) -> None:
    """As a fork is: made in memory, and never asked for."""
    made = Live(KEY, [{"role": "user", "content": "other"}] * 4)
    beside.compact()

    beside.save(made)

    assert made.written == beside.in_file() == EMPTY


def test_a_session_that_was_in_memory_before_the_plugin_sees_it_at_once(beside: Beside) -> None:
    """What its file said when it was loaded is what it says itself."""
    manager = Memory(beside.manager.sessions_dir)
    session = manager.get_or_create(KEY)
    beside.compact()
    follow(manager)

    manager.get_or_create(KEY)

    assert session.written == OURS


def test_an_undo_is_seen_as_well(beside: Beside) -> None:
    """The entry goes where the file has none."""
    beside.compact()
    beside.ask()
    found = Memory(beside.manager.sessions_dir).get_or_create(KEY)
    write(beside.path, replace(found, metadata={}, last_consolidated=0))

    session = beside.ask()

    assert session.written == EMPTY
    assert "_last_summary" not in session.metadata


def test_an_unchanged_file_is_not_read(
    beside: Beside, monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    """One `stat` for each ask."""
    beside.ask()

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(Path, "open", refuse)
    beside.ask()

    assert said == []


@pytest.mark.parametrize(
    "content",
    [b"", b"SECRET\n", b"[]\n", b"\xff\n", b'{"updated_at": "SECRET"}\n'],
    ids=["empty", "no JSON", "no table", "no UTF-8", "no time"],
)
def test_nothing_reaches_nanobot(beside: Beside, content: bytes, said: list[str]) -> None:
    """A file that can't be read is said once, in no words of its own, and memory stands."""
    beside.ask()
    beside.path.write_bytes(content)

    for _ in range(3):
        assert beside.ask().written == EMPTY

    assert len(said) == 1
    assert "session_left_as_it_is key=websocket:1" in said[0]
    assert "SECRET" not in said[0]


def test_a_lock_that_fails_does_not_keep_nanobot_from_saving(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    """Whether it can be saved without is for nanobot's own save to say."""

    def refuse(_: Memory) -> None:
        raise OSError

    monkeypatch.setattr(Memory, "locked_session_files", refuse)
    manager = Memory(tmp_path)
    follow(manager)

    manager.save(Live(KEY, [{"role": "user", "content": "new"}]))

    assert len(Memory(tmp_path).get_or_create(KEY).messages) == 1
    assert [line.split(" error=")[0] for line in said] == ["lock_not_taken key=websocket:1"]


def test_settings_that_are_not_as_expected_are_left_unsaid(tmp_path: Path, said: list[str]) -> None:
    """Nanobot goes on, followed; its configuration is then all that the worker knows."""

    def refuse() -> int:
        raise AttributeError

    follow_files(Memory(tmp_path), read_minutes=refuse)

    assert [line.split(" key=")[0] for line in said] == ["nanobot_settings_not_read"]
    (sign,) = tmp_path.glob(".compactor/adopter-*.json")
    assert json.loads(sign.read_text()).keys() == {"kind", "pid", "version"}


def test_an_error_of_nanobots_own_is_nanobots(tmp_path: Path) -> None:
    """What its methods raise goes through, as it would without us."""
    manager = Memory(tmp_path)
    follow(manager)

    with pytest.raises(TypeError, match="not JSON serializable"):
        manager.save(Live(KEY, [{"role": object()}]))


def test_a_manager_is_followed_once(tmp_path: Path) -> None:
    """Its tools may be loaded again; for a sub-agent there is no manager at all."""
    manager = Memory(tmp_path)
    follow(manager)
    ask = manager.get_or_create

    follow(manager)
    follow(None)

    assert manager.get_or_create == ask
    assert len(list(tmp_path.glob(".compactor/adopter-*.json"))) == 1


def test_a_folder_that_takes_no_sign_is_followed_all_the_same(
    tmp_path: Path, said: list[str]
) -> None:
    """The worker then can't tell, but what it writes is seen."""
    (tmp_path / ".compactor").write_text("in the way")
    manager = Memory(tmp_path)

    follow(manager)

    assert "nanobot_not_followed" in said[0]
    assert "_idle_compactor" in vars(manager)
    assert manager.get_or_create != manager._get_or_create
