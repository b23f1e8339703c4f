"""From the URL of a store to its folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from session.errors import SessionError, StoreLocationError, StoreUnavailableError
from session.keys import file_name
from session.location import open_store, resolve_folders
from tests.session.builders import conversation, file_bytes, header_fields

KEY = "telegram:42"


def test_a_url_names_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Absolute, relative, the home, a glob, and a name that looks like one."""
    for name in ("one", "two", "odd[1]"):
        (tmp_path / name).mkdir()
    (tmp_path / "file").touch()
    monkeypatch.setenv("HOME", str(tmp_path))
    one, two, odd = (tmp_path / name for name in ("one", "two", "odd[1]"))
    assert resolve_folders(f"jsonl:{one}") == [one]
    assert resolve_folders(f"jsonl://{one}") == [one]
    assert resolve_folders("jsonl:one", tmp_path) == [one]
    assert resolve_folders("jsonl:~/one") == [one]
    assert resolve_folders(f"jsonl:{tmp_path}/*") == [odd, one, two]
    assert resolve_folders("jsonl:odd[1]", tmp_path) == [odd]


def test_a_symlinked_root_is_resolved(tmp_path: Path) -> None:
    """And a folder that is reached in two ways is one folder."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert resolve_folders(f"jsonl:{tmp_path}/link") == [tmp_path / "real"]
    assert resolve_folders(f"jsonl:{tmp_path}/*") == [tmp_path / "real"]


@pytest.mark.parametrize(
    ("url", "error", "code"),
    [
        ("sqlite:///x", StoreLocationError, 78),
        ("sessions", StoreLocationError, 78),
        ("jsonl:", StoreLocationError, 78),
        ("jsonl:~nobody-has-this-name/x", StoreLocationError, 78),
        ("jsonl:missing", StoreUnavailableError, 69),
        ("jsonl:missing/*", StoreUnavailableError, 69),
        ("jsonl:file", StoreUnavailableError, 69),
    ],
)
def test_a_url_that_names_nothing_is_refused(
    tmp_path: Path, url: str, error: type[SessionError], code: int
) -> None:
    """As an error of the configuration, or of the place."""
    (tmp_path / "file").touch()
    with pytest.raises(error) as caught:
        open_store(url, relative_to=tmp_path)
    assert caught.value.exit_code == code


def test_folders_of_a_glob_are_one_store(tmp_path: Path) -> None:
    """The same key in two of them is two sessions."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        data = file_bytes(header_fields(), *conversation(1))
        (tmp_path / name / file_name(KEY)).write_bytes(data)
    store = open_store(f"jsonl:{tmp_path}/*")
    refs = [entry.ref for entry in store.list_sessions()]
    assert [(ref.folder, ref.key) for ref in refs] == [("a", KEY), ("b", KEY)]
    assert len({ref.place for ref in refs}) == 2
