"""The sessions: are they there, ours to write, and can they be read?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from compactor.checks.finding import Said, ok, warn
from compactor.checks.remedies import move_aside

if TYPE_CHECKING:
    from collections.abc import Sequence

    from session.store import SessionEntry, SessionStore


def check_store(store: SessionStore, entries: Sequence[SessionEntry]) -> Said:
    """Look at the sessions as a listing shows them; raises `StoreError` where it can't be used."""
    for fault in store.faults.values():
        raise fault
    store.check_writable()
    odd = [entry for entry in entries if entry.problem is not None]
    told = f"{len(entries)} sessions"
    if odd:
        first = odd[0]
        return warn(
            f"{told}, {len(odd)} of them unreadable ({first.problem})",
            f"move it aside: {move_aside(str(Path(first.ref.place) / first.name))}",
        )
    if not entries:
        where = ", ".join(map(repr, store.places))
        return warn(
            f"{told}: is this the right folder?",
            f"name the folder of the agent's session files in [store] url, in place of {where}",
        )
    return ok(told)
