"""A worker that runs for months keeps hold of folders that come, go and come back."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from session.errors import StoreBusyError, StoreUnavailableError
from session.jsonl_store import JsonlStore
from session.location import open_store
from tests.session.builders import session_bytes

NAME = "Y2xpOjE.jsonl"


def fill(folder: Path) -> Path:
    """A folder with one session."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / NAME).write_bytes(session_bytes(key="cli:1"))
    return folder


def hold(folder: Path) -> None:
    """Hold a folder as another worker, for a moment."""
    with JsonlStore([folder]).exclusive():
        pass


def test_a_folder_that_went_away_is_held_again_when_it_is_back(tmp_path: Path) -> None:
    """While it is gone, the worker says so; the one that comes is another folder."""
    folder = fill(tmp_path / "sessions")
    store = open_store(f"jsonl:{folder}")
    with store.exclusive():
        shutil.rmtree(folder)
        with pytest.raises(StoreUnavailableError, match="there is no such folder"):
            store.tend()
        assert not store.has_worker()
        fill(folder)
        store.tend()
        with pytest.raises(StoreBusyError):
            hold(folder)
        assert [entry.ref.key for entry in store.list_sessions()] == ["cli:1"]
    hold(folder)


def test_a_lock_that_was_swept_away_is_taken_anew(tmp_path: Path) -> None:
    """Somebody removed `.compactor/`: it is made again, and held."""
    folder = fill(tmp_path / "sessions")
    store = open_store(f"jsonl:{folder}")
    with store.exclusive():
        shutil.rmtree(folder / ".compactor")
        store.tend()
        with pytest.raises(StoreBusyError):
            hold(folder)


def test_folders_join_and_leave_a_glob(tmp_path: Path) -> None:
    """A new workspace is held from the next look on, and one that is gone is let go of."""
    one, two = fill(tmp_path / "a" / "sessions"), tmp_path / "b" / "sessions"
    store = open_store(f"jsonl:{tmp_path}/*/sessions")
    with store.exclusive():
        fill(two)
        store.tend()
        assert list(store.places) == [str(one), str(two)]
        for folder in (one, two):
            with pytest.raises(StoreBusyError):
                hold(folder)
        one.rename(tmp_path / "elsewhere")
        store.tend()
        assert list(store.places) == [str(two)]
        hold(tmp_path / "elsewhere")


def test_a_folder_that_another_worker_holds_is_left_to_it(tmp_path: Path) -> None:
    """Both say so; when the other is done, the next look takes it."""
    one, two = fill(tmp_path / "a" / "sessions"), tmp_path / "b" / "sessions"
    store = open_store(f"jsonl:{tmp_path}/*/sessions")
    with store.exclusive():
        with JsonlStore([fill(two)]).exclusive():
            store.tend()
            assert [type(fault) for fault in store.faults.values()] == [StoreBusyError]
            assert list(store.faults) == [str(two)]
            assert [entry.ref.place for entry in store.list_sessions()] == [str(one)]
        with pytest.raises(StoreBusyError):
            hold(one)
        store.tend()
        assert not store.faults
        with pytest.raises(StoreBusyError):
            hold(two)
