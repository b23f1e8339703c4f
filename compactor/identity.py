"""Whose files are these? As root, become their owner, so that nothing of root's is left there.

A lock or a session file made by root would make every later save of the agent fail.
"""

from __future__ import annotations

import codecs
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from session.errors import StoreOwnershipError
from session.kernel import current_user, user_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def become_owner(places: Sequence[str], state: Path, *, load: Callable[[], None]) -> None:
    """As root, take the identity of the owner of the folders; else do nothing.

    The state folder is made first, with all above it that is not there, and given to the owner, who
    may not be able to make it. `load`
    reads what the owner may not be able to read any more (root's own Python, its data files).
    Raises `StoreOwnershipError` where the folders belong to several users.
    """
    if current_user() != 0:
        return
    owners = {(status.st_uid, status.st_gid): place for place, status in _stats(places)}
    users = {uid for uid, _ in owners}
    if len(users) > 1:
        first, second = sorted(users)[:2]
        place = next(place for (uid, _), place in owners.items() if uid == second)
        raise StoreOwnershipError(place, owner=user_name(second), user=user_name(first))
    (uid, gid), _ = next(iter(owners.items()))
    if uid == 0:
        return
    load()
    for codec in ("ascii", "idna", "unicode_escape"):
        codecs.lookup(codec)  # Python imports these at their first use
    with suppress(OSError):  # what is in the way is told by who opens the journal there
        missing = [folder for folder in (state, *state.parents) if not folder.exists()]
        for folder in reversed(missing):
            folder.mkdir(mode=0o700)
            os.chown(folder, uid, gid)
    os.setgroups([gid])
    os.setgid(gid)
    os.setuid(uid)


def _stats(places: Sequence[str]) -> list[tuple[str, os.stat_result]]:
    return [(place, Path(place).stat()) for place in places]
