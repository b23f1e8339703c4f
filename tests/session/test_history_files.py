"""Real files of nanobot: our history beside the one that nanobot's own code made of them."""

from __future__ import annotations

from typing import Any

import pytest

from session.history import build_history
from session.projection import read_projection
from session.record import Header
from session.transcript import Transcript
from tests.session.builders import RealFile, real_files

Row = list[Any]

# Where we differ, and the rule of the design that says so. A file that is not here must be equal,
# and one that is here must differ.
DIFFERENCES = {
    "v0.3.5/telegram:555": "the media paths of a delivery are named after its text",
    "v0.3.5/bad:orphan_tool": "an orphan is dropped alone, not with all that precedes it",
    "v0.3.5/bad:unanswered_call": "an unanswered call is left out",
    "v0.3.5/bad:truncated_utf8": "a bad byte spoils one line, where nanobot loads nothing",
    "v0.3.5/bad:invalid_utf8_mid": "a bad byte spoils one line, where nanobot loads nothing",
    "v0.2.2/telegram:big2000": "no cap of 120 messages",
}
FILES = {file.name: file for file in real_files()}


def our_rows(file: RealFile) -> list[Row]:
    """Return our history of the file in the form of the expectations."""
    transcript = Transcript.parse(file.path.read_bytes())
    projection = read_projection(transcript.header or Header({}), len(transcript.messages))
    history = build_history(transcript.messages[projection.covers :])
    return [
        [row["role"], len(row["content"]), sorted(set(row) - {"role", "content"})]
        for row in history
    ]


def test_every_listed_difference_is_of_a_file_that_is_there() -> None:
    """The table names no file that has gone."""
    assert set(FILES) >= set(DIFFERENCES)
    assert len(FILES) == 67


@pytest.mark.parametrize("name", [name for name in FILES if name not in DIFFERENCES])
def test_our_history_is_what_nanobot_makes_of_the_file(name: str) -> None:
    """Role, length and extra keys of each row are the same."""
    assert our_rows(FILES[name]) == (FILES[name].history or [])


@pytest.mark.parametrize("name", sorted(DIFFERENCES))
def test_a_listed_difference_is_still_one(name: str) -> None:
    """A rule that explains nothing any more leaves the table."""
    assert our_rows(FILES[name]) != (FILES[name].history or [])


def test_the_media_of_a_delivery_are_named() -> None:
    """Only the row with media is longer than nanobot's, by that line."""
    file = FILES["v0.3.5/telegram:555"]
    last = Transcript.parse(file.path.read_bytes()).messages[-1].data
    (path,) = last["media"]
    assert our_rows(file)[:-1] == (file.history or [])[:-1]
    assert our_rows(file)[-1][1] == len(f"{last['content']}\n[media: {path}]")


def test_an_orphan_costs_its_own_row_only() -> None:
    """Nanobot loses the user's message ahead of it too."""
    file = FILES["v0.3.5/bad:orphan_tool"]
    assert our_rows(file)[1:] == file.history


def test_a_file_with_a_bad_byte_keeps_its_other_messages() -> None:
    """Eleven of twelve lines are read where nanobot loads nothing and wipes the file."""
    whole = our_rows(FILES["v0.3.5/cli:ordinary"])
    ours = our_rows(FILES["v0.3.5/bad:invalid_utf8_mid"])
    assert len(ours) == len(whole) - 1
    assert all(row in whole for row in ours)


def test_the_newest_messages_are_nanobots_where_it_caps() -> None:
    """Nanobot 0.2.2 sends the last 120 of them, and strips spaces off what an assistant said."""
    file = FILES["v0.2.2/telegram:big2000"]
    assert file.history
    for ours, theirs in zip(our_rows(file)[-len(file.history) :], file.history, strict=True):
        assert ours == theirs or (ours[0] == "assistant" and 0 < ours[1] - theirs[1] < 3)
