"""Two writers of one session: what becomes of the messages of both.

Three versions are compared, line by line: `base`, which both began with, `mine` in memory, and
`theirs` in the store. Messages are appended in any case of doubt, and never dropped.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from session.message import decode_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class Merge:
    """How to get to the result: replace `mine[shared:cut]` by `theirs[shared:taken]`."""

    shared: int
    cut: int
    taken: int


def merge_lines(
    base: Sequence[bytes] | None, mine: Sequence[bytes], theirs: Sequence[bytes]
) -> Merge | None:
    """Return how to merge what both have done to `base`, or None where that can't be said.

    Who has done nothing takes what the other has. Where one of two that grew is the beginning of
    the other, the longer one is the result; where both grew from the same beginning, theirs comes
    first, since it was stored first. What they have cleared stays cleared, and what was said here
    since then is kept. `base` is None where nobody knows what both began with.
    """
    shared = count_shared(mine, theirs)
    if base is None:
        goes_on = shared in {len(mine), len(theirs)}
        return Merge(shared, shared, len(theirs)) if goes_on else None
    if shared == len(mine) == len(theirs) or same_lines(theirs, base):
        return Merge(shared, shared, shared)  # they have done nothing: mine stands
    if same_lines(mine, base):
        return Merge(shared, len(mine), len(theirs))
    if count_shared(mine, base) < len(base):
        return None  # messages were removed or changed here, and something happened there
    return _merge_grown(base, theirs, shared)


def _merge_grown(base: Sequence[bytes], theirs: Sequence[bytes], shared: int) -> Merge | None:
    if not theirs:
        return Merge(0, len(base), 0)
    if shared == len(theirs):
        return Merge(shared, shared, shared)
    if count_shared(theirs, base) < len(base):
        return None
    return Merge(shared, shared, len(theirs))


def count_shared(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    """Return how many leading lines say the same."""
    pairs = zip(one, other, strict=False)
    return next(
        (index for index, (left, right) in enumerate(pairs) if not same_line(left, right)),
        min(len(one), len(other)),
    )


def same_lines(one: Sequence[bytes], other: Sequence[bytes]) -> bool:
    """Whether both say the same, line by line."""
    return len(one) == len(other) == count_shared(one, other)


def same_line(one: bytes, other: bytes) -> bool:
    """Whether two lines say the same, however they are spelled (an agent's save spells anew)."""
    return one == other or _canonical(one) == _canonical(other)


def merge_tables(
    base: Mapping[str, Any], mine: Mapping[str, Any], theirs: Mapping[str, Any]
) -> dict[str, Any]:
    """Return `theirs` with what was changed, added or removed in `mine`, key by key."""
    merged = dict(theirs)
    for key in {**base, **mine}:
        if not same_value(mine.get(key), base.get(key)):
            merged.pop(key, None)
            merged |= {key: mine[key]} if key in mine else {}
    return merged


def same_value(one: object, other: object) -> bool:
    """Whether two JSON values are the same; `1` and `true` are equal to Python alone."""
    return repr(one) == repr(other)


def _canonical(line: bytes) -> str:
    return json.dumps(decode_line(line), sort_keys=True)
