"""Every interleaving of a commit with a writer that takes no lock, and crossed with a kill.

After each run, and the beginning of the next pass, no acknowledged line is lost, none is doubled,
every line is whole, and nothing of ours is left.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

import pytest

from session.durable import recover
from tests.session.crashes import choose_crashes, crash, run_killed
from tests.session.no_exchange import forbid_exchange, is_possible
from tests.session.schedules import (
    DULL,
    choose,
    commit_and_recover,
    commit_by_store,
    compact,
    compact_and_recover,
    compact_twice,
    count_steps,
    fresh,
    interleave,
    name_calls,
    no_lock,
    pass_begins,
    replace_naively,
    save,
    save_and_recover,
)
from tests.session.writers import (
    COMPACTED,
    NEW,
    ORIGINAL,
    STYLES,
    HeldAppend,
    HeldRewrite,
    Writer,
    line,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux alone exchanges names")
ACTIONS = (commit_and_recover, compact_twice, save_and_recover)
SAMPLE = 100  # of some 2,300 to 10,000 schedules; `make soak` runs them all
CRASH_SAMPLE = 25

styles = pytest.mark.parametrize("style", STYLES, ids=lambda style: style.__name__)
actions = pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.__name__)


def run_all(
    folder: Path, style: type[Writer], action: Callable[[Path], None], limit: int | None
) -> dict[tuple[int, int], list[str]]:
    """Run the schedules and return those with faults."""
    steps = count_steps(fresh(folder), action)
    found = {pair: interleave(fresh(folder), style, *pair, action) for pair in choose(steps, limit)}
    assert len(found) >= min(limit or steps * steps // 2, 30)
    return {pair: faults for pair, faults in found.items() if faults}


def crash_many(
    folder: Path, style: type[Writer], action: Callable[[Path], None], limit: int | None
) -> tuple[int, dict[tuple[int, int, int], list[str]]]:
    """Run the schedules with a kill; return how many they were, and those with faults."""
    triples = choose_crashes(name_calls(fresh(folder), action, DULL), limit)
    found = {steps: crash(fresh(folder), style, steps, action) for steps in triples}
    return len(found), {steps: faults for steps, faults in found.items() if faults}


@styles
@actions
def test_a_commit_loses_nothing_that_a_writer_says_meanwhile(
    folder: Path, style: type[Writer], action: Callable[[Path], None]
) -> None:
    """A sample of the interleavings."""
    assert run_all(folder, style, action, SAMPLE) == {}


@pytest.mark.parametrize("length", [1, 4, 9, 15])
def test_a_rewrite_between_two_looks_is_not_mistaken(folder: Path, length: int) -> None:
    """Every step of a pass can fall into a rewrite through an old handle: nothing is doubled."""
    steps = count_steps(fresh(folder), compact_and_recover)
    for begin in range(steps):
        pair = begin, begin + length
        assert interleave(fresh(folder), HeldRewrite, *pair, compact_and_recover) == [], pair


@pytest.mark.soak
@pytest.mark.timeout(1800)
@styles
@actions
def test_no_interleaving_at_all_loses_anything(
    folder: Path, style: type[Writer], action: Callable[[Path], None]
) -> None:
    """Each pair of system calls at which a writer can begin and end."""
    assert run_all(folder, style, action, None) == {}


@styles
def test_a_naive_replace_loses_lines_under_the_same_schedules(
    folder: Path, style: type[Writer]
) -> None:
    """So the schedules can fail: read, check and replace lose an acknowledged line."""
    bad = run_all(folder, style, replace_naively, None)
    assert any(f"{NEW} is there 0 times" in faults for faults in bad.values())


@styles
@actions
def test_a_kill_loses_nothing_either(
    folder: Path, style: type[Writer], action: Callable[[Path], None]
) -> None:
    """A sample of the interleavings, each with a kill of ours in between."""
    assert crash_many(folder, style, action, CRASH_SAMPLE) == (CRASH_SAMPLE, {})


@pytest.mark.soak(memory=True)
@pytest.mark.timeout(3000)
@styles
@pytest.mark.parametrize("action", [commit_by_store, save], ids=lambda action: action.__name__)
def test_no_kill_at_all_loses_anything(
    folder: Path,
    style: type[Writer],
    action: Callable[[Path], None],
    tell: Callable[..., None],
) -> None:
    """Each step at which a kill leaves something else, with each pair at which a writer is."""
    schedules, bad = crash_many(folder, style, action, None)
    tell(schedules=schedules, bad=len(bad))
    assert bad == {}
    assert schedules > 5_000


def test_killed_at_any_instant_a_file_is_as_before_or_compacted(folder: Path) -> None:
    """All or nothing, and the next start leaves nothing behind."""
    steps = count_steps(fresh(folder), compact)
    seen = []
    for step in range(steps):
        live = fresh(folder)
        assert run_killed(step, partial(compact, live)) == step + 1
        content = live.read_bytes()
        assert recover(folder, no_lock) == 0
        assert live.read_bytes() == content
        assert [path.name for path in (folder / ".compactor").iterdir()] == ["commits.lock"]
        seen.append(content)
    swapped = seen.index(COMPACTED)
    assert {*seen[:swapped]} == {ORIGINAL}
    assert {*seen[swapped:]} == {COMPACTED}


def test_a_recovery_that_is_killed_grafts_once(folder: Path) -> None:
    """A late line is there once, wherever the first attempt to save it ended."""

    def late(live: Path) -> None:
        writer = HeldAppend(live)
        compact(live)
        writer.finish()

    live = fresh(folder)
    late(live)
    steps = count_steps(live, pass_begins)
    assert steps > 40
    for step in range(steps):
        live = fresh(folder)
        late(live)
        run_killed(step, partial(pass_begins, live))
        recover(folder, no_lock)
        assert live.read_bytes() == COMPACTED + line(NEW), step
        assert [path.name for path in (folder / ".compactor").iterdir()] == ["commits.lock"]


@pytest.mark.skipif(not is_possible(), reason="no seccomp filter for this machine")
def test_a_plain_replace_is_whole_across_a_kill(folder: Path) -> None:
    """Where names can't be exchanged and every writer shares the lock."""

    def replace(live: Path) -> None:
        forbid_exchange()
        compact(live, may_replace=True)

    outcomes = set()
    for step in range(count_steps(fresh(folder), compact) + 5):
        live = fresh(folder)
        held = live.open("ab", buffering=0)
        run_killed(step, partial(replace, live))
        outcomes.add(live.read_bytes())
        with held:
            held.write(line(NEW))
        recover(folder, no_lock)
        assert live.read_bytes() in {ORIGINAL + line(NEW), COMPACTED + line(NEW)}
        assert [path.name for path in (folder / ".compactor").iterdir()] == ["commits.lock"]
    assert outcomes == {ORIGINAL, COMPACTED}
