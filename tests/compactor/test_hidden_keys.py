"""Session keys in a log: none is told, and the same one is told alike."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from compactor.hidden_keys import SECRET_NAME, KeyHider
from session.keys import file_name

KEY = "telegram:4915112345678"
NEW = file_name(KEY)


@pytest.fixture
def hider(tmp_path: Path) -> KeyHider:
    """One with a secret of its own."""
    return KeyHider(tmp_path)


def test_a_key_is_hidden_wherever_it_stands(hider: KeyHider) -> None:
    """In its own field, in sentences, and in the names of its files, old and new."""
    told = hider.hide(
        {
            "key": KEY,
            "detail": f"session file '{NEW}' of {KEY}: no /s/telegram_4915112345678.jsonl",
            "covers": 12,
        }
    )
    assert "4915112345678" not in repr(told)
    assert NEW not in repr(told)
    name = str(told["key"])
    assert re.fullmatch("#[0-9a-f]{12}", name)
    assert told["detail"] == f"session file '{name}.jsonl' of {name}: no /s/{name}.jsonl"
    assert told["covers"] == 12


def test_what_names_no_session_stays(hider: KeyHider) -> None:
    """An operator must still be able to read it."""
    fields: dict[str, object] = {"folder": "/srv/sessions", "detail": "no such folder", "due": 3}
    assert hider.hide(fields) == fields


def test_another_process_says_the_same_and_another_worker_does_not(tmp_path: Path) -> None:
    """The hash is made with a secret, so a list of telephone numbers finds nothing."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one, again, other = (KeyHider(tmp_path / name).hide({"key": KEY}) for name in ("a", "a", "b"))
    assert one == again
    assert one != other
    assert (tmp_path / "a" / SECRET_NAME).stat().st_mode & 0o777 == 0o600


def test_without_a_state_folder_nothing_is_made(tmp_path: Path) -> None:
    """A command that only reads leaves no trace; its hashes are good for itself."""
    hider = KeyHider(tmp_path / "none")
    assert hider.hide({"key": KEY}) == hider.hide({"key": KEY})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("key", ["", "a", "\udcff", "x" * 300])
def test_any_key_will_do(hider: KeyHider, key: str) -> None:
    """Whatever an agent made of it."""
    hider.hide({"key": key, "detail": f"about {key}"})
