"""Writers that are faster than our repairs: their file stands, and nothing is lost."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.session.schedules import (
    compact,
    compact_and_recover,
    faults,
    fresh,
    interleave,
    name_calls,
    pass_begins,
)
from tests.session.stepping import stopping
from tests.session.writers import (
    COMPACTED,
    NEW,
    ORIGINAL,
    HeldAppend,
    HeldRewrite,
    ReadModifyRename,
    header_line,
    line,
)

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux alone exchanges names")


def replace_with(live: Path, content: bytes) -> None:
    """Rename another file over the live one."""
    other = live.with_name(".agent.tmp")
    other.write_bytes(content)
    other.replace(live)


@pytest.mark.parametrize("length", [0, 1, 2, 5, 9])
def test_a_rewrite_in_place_after_the_exchange_stands(folder: Path, length: int) -> None:
    """It went to the original through an old handle, at whatever step: header and all."""
    names = name_calls(fresh(folder), compact_and_recover)
    for begin in range(names.index("exchange") + 1, len(names)):
        live = fresh(folder)
        assert interleave(live, HeldRewrite, begin, begin + length, compact_and_recover) == []
        assert live.read_bytes().startswith(header_line(3)), begin


def test_the_newest_of_two_replacements_stands(folder: Path) -> None:
    """One came right before the exchange, one right before it was taken back."""
    live = fresh(folder)
    exchanges = iter((ORIGINAL + line(NEW), header_line(4) + ORIGINAL.partition(b"\n")[2]))

    def replace(_: int, name: str) -> None:
        if name == "exchange":
            content = next(exchanges, None)
            if content is not None:
                replace_with(live, content)

    with stopping(replace):
        compact(live)
    pass_begins(live)
    assert live.read_bytes().startswith(header_line(4))
    assert faults(live) == []  # and the line of the first one is there


def test_a_graft_that_is_overtaken_is_made_again(folder: Path) -> None:
    """The live file was replaced from memory at any step of it, without the late line."""

    def late() -> Path:
        live = fresh(folder)
        writer = HeldAppend(live)
        compact(live)
        writer.finish()
        return live

    names = name_calls(late(), pass_begins)
    for step in range(names.index("write") + 1):
        live = late()

        def replace(now: int, _: str, step: int = step, live: Path = live) -> None:
            if now == step:
                replace_with(live, COMPACTED)

        with stopping(replace):
            pass_begins(live)
        pass_begins(live)
        assert faults(live) == [], step


def test_who_reads_our_file_before_it_is_taken_back_loses_nothing_by_that(folder: Path) -> None:
    """It renamed a line right before the exchange, and goes on from what it found after that."""
    live = fresh(folder)
    first, second = ReadModifyRename(live), ReadModifyRename(live, 101)
    first.step()
    steps = iter((first.finish, second.step))

    def at(_: int, name: str) -> None:
        if name == "exchange":
            next(steps, lambda: None)()

    with stopping(at):
        compact(live)
    second.finish()
    assert line(NEW) not in live.read_bytes()
    pass_begins(live)
    pass_begins(live)
    assert faults(live) == []
    assert line(101) in live.read_bytes()
