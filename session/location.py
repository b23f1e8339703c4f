"""From the URL of a store to the store.

`jsonl:DIR`, where DIR may begin with `~` and may be a glob of folders (nanobot keeps one folder per
workspace). Other kinds of stores join this table.
"""

from __future__ import annotations

import glob
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from session.agent_files import AgentFiles
from session.errors import StoreLocationError, StoreUnavailableError
from session.jsonl_store import JsonlStore

if TYPE_CHECKING:
    from session.agent_store import AgentStore
    from session.store import SessionStore

_SCHEME = "jsonl:"


def open_store(
    url: str, *, relative_to: Path | None = None, agent_stopped: bool = False
) -> SessionStore:
    """Open the store that `url` names; a relative folder is taken from `relative_to`.

    Raises `StoreLocationError` for a URL of no known kind, and `StoreUnavailableError` where there
    is no such folder.
    """
    find_folders = partial(resolve_folders, url, relative_to)
    return JsonlStore(find_folders(), agent_stopped=agent_stopped, find_folders=find_folders)


def open_agent_store(where: str | PathLike[str] | AgentStore | JsonlStore) -> AgentStore:
    """Return the store in which an agent keeps its sessions.

    `where` is a folder, which need not exist yet, the URL of one (`jsonl:DIR`), or a store. Raises
    `StoreLocationError` where that is more than one folder.
    """
    if isinstance(where, JsonlStore):
        if len(where.folders) != 1:
            shown = _SCHEME + ", ".join(map(str, where.folders))
            raise StoreLocationError(shown, "an agent keeps its sessions in one folder")
        return AgentFiles(where.folders[0])
    if isinstance(where, str | PathLike):
        text = str(where).removeprefix(_SCHEME)
        return AgentFiles(Path(text).expanduser().resolve())
    return where


def resolve_folders(url: str, relative_to: Path | None = None) -> list[Path]:
    """Return the folders that a `jsonl:` URL names, links resolved, each of them once."""
    if not url.startswith(_SCHEME):
        raise StoreLocationError(url, "expected jsonl:DIR, where DIR may be a glob of folders")
    text = url.removeprefix(_SCHEME).removeprefix("//")
    if not text:
        raise StoreLocationError(url, "names no folder; write for example jsonl:sessions")
    try:
        pattern = Path(text).expanduser()
    except RuntimeError:  # `~somebody` who is not there
        raise StoreLocationError(url, "names the home of an unknown user") from None
    if not pattern.is_absolute():
        pattern = (relative_to or Path.cwd()) / pattern
    try:
        return _find_folders(pattern)
    except OSError as error:  # a name that is too long, a folder above that is closed to us
        raise StoreUnavailableError(str(pattern), (error.strerror or str(error)).lower()) from error


def _find_folders(pattern: Path) -> list[Path]:
    if pattern.is_dir() or not glob.has_magic(str(pattern)):
        found = [pattern]
    else:
        found = [Path(match) for match in sorted(glob.glob(str(pattern)))]  # noqa: PTH207 - absolute
    folders = list(dict.fromkeys(path.resolve() for path in found if path.is_dir()))
    if not folders:
        kind = "is no folder" if pattern.exists() else "there is no such folder"
        raise StoreUnavailableError(str(pattern), f"{kind}: create it, or correct the URL")
    return folders
