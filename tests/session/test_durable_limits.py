"""What a commit does about lines that are being written, and what it can't do anything about.

Promised is: a line that was acknowledged is lost to nothing that we do, in five styles of writing.
Three things are not, since no writer here takes a lock; each of them is shown below.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.session.schedules import compact, faults, fresh, name_calls, pass_begins
from tests.session.stepping import stopping
from tests.session.writers import (
    COMPACTED,
    NEW,
    ORIGINAL,
    AppendByPath,
    HeldAppend,
    ReadModifyRename,
    RewriteFromMemory,
    RewriteInPlace,
    Writer,
    header_line,
    line,
)

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux alone exchanges names")
OTHER = 101


@pytest.mark.parametrize("style", [HeldAppend, RewriteInPlace], ids=lambda style: style.__name__)
def test_a_commit_waits_while_somebody_is_in_the_middle_of_a_line(
    folder: Path, style: type[Writer]
) -> None:
    """Else the writer would find half a line, or half a file, and go on from that."""
    live = fresh(folder)
    writer = style(live)
    writer.step()
    half = live.read_bytes()
    assert not half.endswith(b"\n")
    compact(live)
    assert live.read_bytes() == half
    writer.finish()
    compact(live)
    pass_begins(live)
    assert live.read_bytes() == COMPACTED + line(NEW)
    assert faults(live) == []


def test_half_a_file_is_no_file_to_go_on_from(folder: Path) -> None:
    """Wherever the first piece of a rewrite ends, its rest and the next rewrite are whole."""
    for cut in range(len(header_line(1)), len(ORIGINAL + line(NEW))):
        live = fresh(folder)
        writer = RewriteInPlace(live)
        writer.cut = cut
        writer.step()
        compact(live)
        writer.finish()
        RewriteInPlace(live, OTHER).finish()
        pass_begins(live)
        assert faults(live) == [], cut
        assert line(OTHER) in live.read_bytes()


def test_half_a_line_that_nobody_goes_on_with_is_no_obstacle(folder: Path) -> None:
    """It was left by a crash, and stays what it is."""
    live = fresh(folder)
    live.write_bytes(ORIGINAL + line(NEW)[:20])
    compact(live)
    assert live.read_bytes() == COMPACTED + line(NEW)[:20]


def late(folder: Path) -> Path:
    """Return a file that lacks a line, since that went to the original through an old handle."""
    live = fresh(folder)
    writer = HeldAppend(live)
    compact(live)
    writer.finish()
    assert live.read_bytes() == COMPACTED
    return live


def test_a_graft_waits_while_somebody_is_in_the_middle_of_a_line(folder: Path) -> None:
    """It is made in the next pass, and so is the letting go of the original."""
    live = late(folder)
    writer = AppendByPath(live, OTHER)
    writer.step()
    writer.file.write(line(OTHER)[:20])
    pass_begins(live)
    assert live.read_bytes() == COMPACTED + line(OTHER)[:20]
    with writer.file as file:
        file.write(line(OTHER)[20:])
    pass_begins(live)
    assert live.read_bytes() == COMPACTED + line(OTHER) + line(NEW)
    assert faults(live) == []


def test_a_line_in_two_writes_is_torn_by_a_graft_between_its_look_and_its_write(
    folder: Path,
) -> None:
    """Not promised: a line is whole beside a graft if it is written in one call, or not just then.

    Nothing is gone: both halves are in the file, and the late line between them.
    """
    names = name_calls(late(folder), pass_begins)
    torn = []
    for step in range(len(names)):
        live = late(folder)
        writer = HeldAppend(live, OTHER)

        def at(now: int, _: str, step: int = step, writer: Writer = writer) -> None:
            if now == step:
                writer.step()

        with stopping(at):
            pass_begins(live)
        writer.finish()
        pass_begins(live)
        content = live.read_bytes()
        assert line(NEW) in content
        if line(OTHER) not in content:
            torn.append(step)
            assert content.endswith(line(OTHER)[:20] + line(NEW) + line(OTHER)[20:])
    graft = names.index("write")
    assert torn == [graft - 1, graft]
    assert [names[step] for step in torn] == ["open", "write"]


@pytest.mark.parametrize("with_us", [True, False])
def test_a_rewrite_from_memory_loses_what_its_agent_has_not_read(
    folder: Path, *, with_us: bool
) -> None:
    """Not promised: it is the agent that loses another's line, with a commit in between or not."""
    live = fresh(folder)
    other = AppendByPath(live, OTHER)
    other.finish()
    if with_us:
        compact(live)
    RewriteFromMemory(live).finish()
    pass_begins(live)
    assert line(OTHER) not in live.read_bytes()
    assert faults(live) == []


def test_who_reads_before_a_graft_and_renames_after_it_loses_it(folder: Path) -> None:
    """Not promised: an old handle beside another agent that reads, changes and renames.

    The late line is out of that agent's sight until the next pass; any other is never lost so.
    """
    live = late(folder)
    other = ReadModifyRename(live, OTHER)
    other.step()
    pass_begins(live)
    assert line(NEW) in live.read_bytes()
    other.finish()
    pass_begins(live)
    assert live.read_bytes() == COMPACTED + line(OTHER)


def test_half_a_file_that_ends_with_a_whole_line_looks_like_a_file(folder: Path) -> None:
    """Not promised: two rewrites in place, both caught where their first piece ends with a line.

    The first is taken for the file, its rest is late, and the second writes over the graft of it.
    """
    live = fresh(folder)
    writer, other = RewriteInPlace(live), RewriteInPlace(live, OTHER)
    writer.cut = ORIGINAL.index(line(5))
    other.cut = ORIGINAL.index(line(3))
    writer.step()
    compact(live)
    writer.finish()
    other.step()
    pass_begins(live)
    other.finish()
    pass_begins(live)
    assert faults(live)
    assert line(OTHER) in live.read_bytes()
