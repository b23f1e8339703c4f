"""The projection in a header: read with suspicion, written with care, taken away wholly."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session.message import Message
from session.projection import (
    Projection,
    ProjectionChange,
    digest_content,
    digest_lines,
    digest_text,
    read_projection,
    read_tombstone,
    undo_projection,
    write_projection,
)
from session.record import Header
from tests.session.builders import change_for, conversation, header, header_fields, messages_of

MESSAGES = messages_of(*conversation(5))
AT = "2026-01-04T00:00:00Z"


def written(change: ProjectionChange, onto: Header | None = None) -> Header:
    """Return a header with the change written, as it is read back from its line."""
    encoded = write_projection(onto or header(), change, kept_at=7).encode()
    return Header(json.loads(encoded))


def undone(current: Projection, *, everything: bool = False) -> ProjectionChange:
    """Return the undo of a projection of the ten messages."""
    content = digest_content(MESSAGES[: current.covers])
    return undo_projection(
        current, message_count=len(MESSAGES), content=content, at=AT, everything=everything
    )


@pytest.mark.parametrize("value", [True, False, None, "5", 4.0, [], -1, 11, 10**30])
def test_a_cursor_that_is_nonsense_reads_as_nothing_covered(value: object) -> None:
    """The whole history is visible then."""
    fields = header_fields(last_archived=value, last_consolidated=value)
    assert Header(fields).cursor(10) == 0


@pytest.mark.parametrize(
    ("archived", "consolidated", "cursor"),
    [(3, 5, 3), (0, 5, 0), (99, 5, 0), (-1, 5, 0), (True, 5, 5), (None, 5, 5), ("3", 5, 5)],
)
def test_last_archived_wins_where_it_is_a_number(
    archived: object, consolidated: object, cursor: int
) -> None:
    """Even a number that is out of range; anything else leaves it to the older key."""
    fields = header_fields(last_archived=archived, last_consolidated=consolidated)
    assert Header(fields).cursor(10) == cursor


def test_the_cursor_may_stand_at_the_end() -> None:
    """Everything is covered."""
    assert Header(header_fields(last_archived=10)).cursor(10) == 10


@pytest.mark.parametrize(
    "summary",
    [None, "text", [], {}, {"text": None}, {"text": 3}, {"text": " \n"}, {"text": "(nothing)"}],
)
def test_a_malformed_summary_is_no_entry(summary: object) -> None:
    """It is ignored, not fatal."""
    assert read_projection(header(_last_summary=summary), 10).entry is None


def test_a_summary_of_nanobot_is_a_foreign_projection() -> None:
    """Its text and time count, and it has no stamp of ours."""
    fields = header_fields(
        last_archived=4, metadata={"_last_summary": {"text": "Theirs.", "last_active": 3}}
    )
    assert read_projection(Header(fields), 10) == Projection(4, "Theirs.", None, None)


def test_a_projection_is_read_as_it_was_written() -> None:
    """With both cursors equal, and the offset that the store knows."""
    change = change_for(MESSAGES, 4)
    got = written(change)
    projection = read_projection(got, 10)
    assert (got.fields["last_archived"], got.fields["last_consolidated"]) == (4, 4)
    assert projection.stamp == cast("dict[str, Any]", change.stamp) | {"kept_at": 7}
    assert (projection.covers, projection.entry) == (4, "What was said so far.")
    assert projection.fits(MESSAGES)


@pytest.mark.parametrize(
    "spoiled",
    [
        {"version": 2},
        {"covers": 5},
        {"covers": True},
        {"text": digest_text("other")},
        {"text": None},
        {"content": None},
        {"generation": "1"},
        {"generation": None},
    ],
)
def test_a_stamp_that_does_not_fit_is_not_ours(spoiled: dict[str, object]) -> None:
    """Somebody else compacted since: theirs stands."""
    fields = written(change_for(MESSAGES, 4)).fields
    fields["metadata"]["_compaction"] |= spoiled
    projection = read_projection(Header(fields), 10)
    assert projection.stamp is None
    assert projection.entry == "What was said so far."


@pytest.mark.parametrize("stamp", [None, [], "sha256", 1, {}, {"version": 1}])
def test_a_stamp_of_another_shape_is_not_ours(stamp: object) -> None:
    """It is ignored, not fatal."""
    fields = written(change_for(MESSAGES, 4)).fields
    fields["metadata"]["_compaction"] = stamp
    assert read_projection(Header(fields), 10).stamp is None


def test_a_stamp_beside_another_cursor_is_not_ours() -> None:
    """A session that was cleared or cut has moved it."""
    fields = written(change_for(MESSAGES, 4)).fields
    assert read_projection(Header(fields | {"last_archived": 2}), 10).stamp is None
    assert read_projection(Header(fields), 3) == Projection(
        0, "What was said so far.", "2026-01-02T11:00:00.000002", None
    )


def test_a_stamp_fits_only_what_was_summarized() -> None:
    """The readers' check says ours; the worker's looks at the content too."""
    projection = read_projection(written(change_for(MESSAGES, 4)), 10)
    others = messages_of(*conversation(5, start=7))
    assert projection.fits(MESSAGES[:4])
    assert not projection.fits(others)
    assert not Projection(4, "Theirs.").fits(MESSAGES)


def test_content_is_what_lines_say_and_digest_is_their_bytes() -> None:
    """A save that spells the lines anew changes one of them only."""
    spelled = [type(m)(json.dumps(m.data, separators=(",", ":")).encode()) for m in MESSAGES]
    assert digest_content(spelled) == digest_content(MESSAGES)
    assert digest_lines(spelled) != digest_lines(MESSAGES)
    assert digest_content(MESSAGES[:4]) != digest_content(MESSAGES[:5])


def test_unknown_keys_and_their_order_stay() -> None:
    """In the record and in its metadata; times and title are not ours."""
    fields = {"odd": [1], **header_fields(metadata={"z": 1, "title": "t", "a": {"y": 2}}), "end": 1}
    got = written(change_for(MESSAGES, 4), Header(fields))
    assert list(got.fields) == list(fields)
    assert list(got.metadata)[:3] == ["z", "title", "a"]
    kept = {key: got.fields[key] for key in fields if not key.startswith(("last_", "metadata"))}
    assert kept == {key: fields[key] for key in kept}


@pytest.mark.parametrize("metadata", [None, [], 0])
def test_metadata_that_is_empty_becomes_a_table(metadata: object) -> None:
    """The wrong types that say nothing."""
    got = written(change_for(MESSAGES, 4), Header(header_fields(metadata=metadata)))
    assert set(got.metadata) == {"_last_summary", "_compaction"}


@pytest.mark.parametrize("text", ["\ud83d alone", "two \udc00\ud800", "né \U0001f9ea"])
def test_lone_surrogates_survive(text: str) -> None:
    """In the metadata and in an entry: as escapes, since UTF-8 can't say them."""
    change = change_for(MESSAGES, 4, text)
    got = written(change, header(title=text))
    assert got.metadata["title"] == text
    assert read_projection(got, 10).stamp


def test_undo_restores_the_projection_before() -> None:
    """With its stamp, and a tombstone in it for what was undone."""
    first = read_projection(written(change_for(MESSAGES, 4)), 10)
    second = read_projection(written(change_for(MESSAGES, 8, "Newer.", current=first)), 10)
    got = written(undone(second))
    assert read_projection(got, 10).entry == first.entry
    assert read_projection(got, 10).covers == 4
    assert read_projection(got, 10).fits(MESSAGES)
    assert read_tombstone(got) == {
        "covers": 8,
        "content": digest_content(MESSAGES[:8]),
        "messages": 10,
        "at": AT,
    }


def test_undo_restores_one_level_only() -> None:
    """The second undo gives the full transcript back."""
    current = None
    for covers in (2, 4, 6):
        change = change_for(MESSAGES, covers, f"Entry {covers}.", current=current)
        current = read_projection(written(change), 10)
    assert current
    once = read_projection(written(undone(current)), 10)
    assert (once.covers, once.entry) == (4, "Entry 4.")
    assert once.stamp
    assert once.stamp["previous"] is None
    assert read_projection(written(undone(once)), 10) == Projection()


@pytest.mark.parametrize(
    "before", [Projection(3, "Theirs.", "2026-01-01T00:00:00"), Projection(3), Projection(0, "T.")]
)
def test_undo_restores_what_was_not_ours(before: Projection) -> None:
    """Cursor, entry and time of another's compaction, with a tombstone of its own."""
    current = read_projection(written(change_for(MESSAGES, 8, current=before)), 10)
    got = written(undone(current))
    restored = read_projection(got, 10)
    assert (restored.covers, restored.entry) == (before.covers, before.entry)
    assert (restored.last_active or None, restored.stamp) == (before.last_active, None)
    tombstone = read_tombstone(got)
    assert tombstone
    assert tombstone["covers"] == 8


def test_undo_of_everything_leaves_a_tombstone_alone() -> None:
    """Whatever was there before: no cursor, no entry, and what was undone is remembered."""
    first = read_projection(written(change_for(MESSAGES, 4)), 10)
    second = read_projection(written(change_for(MESSAGES, 8, current=first)), 10)
    got = written(undone(second, everything=True))
    assert read_projection(got, 10) == Projection()
    assert got.metadata == {"_compaction": {"version": 1, "undone": read_tombstone(got)}}
    assert got.fields | {"metadata": {}} == header_fields()


@pytest.mark.parametrize("previous", ["odd", [], {}, {"covers": "4"}, {"covers": True}, 5])
def test_undo_to_nonsense_is_undo_of_everything(previous: object) -> None:
    """A stamp that was damaged does not stop an operator."""
    fields = written(change_for(MESSAGES, 4)).fields
    fields["metadata"]["_compaction"]["previous"] = previous
    current = read_projection(Header(fields), 10)
    assert current.stamp
    assert undone(current).projection == Projection()


def test_undo_of_a_stamp_without_previous_is_undo_of_everything() -> None:
    """The key itself may be missing."""
    fields = written(change_for(MESSAGES, 4)).fields
    del fields["metadata"]["_compaction"]["previous"]
    assert undone(read_projection(Header(fields), 10)).projection == Projection()


@pytest.mark.parametrize(
    "tombstone",
    [
        None,
        "x",
        {"covers": 4},
        {"covers": True, "messages": 10, "content": "c", "at": AT},
        {"covers": 4, "messages": "10", "content": "c", "at": AT},
        {"covers": 4, "messages": 10, "content": None, "at": AT},
    ],
)
def test_a_malformed_tombstone_is_none(tombstone: object) -> None:
    """It is ignored, not fatal."""
    assert read_tombstone(header(_compaction={"version": 1, "undone": tombstone})) is None


def test_a_new_compaction_forgets_the_tombstone() -> None:
    """The stamp before it is kept without one."""
    first = read_projection(written(change_for(MESSAGES, 4)), 10)
    second = read_projection(written(change_for(MESSAGES, 8, current=first)), 10)
    back = read_projection(written(undone(second)), 10)
    third = written(change_for(MESSAGES, 6, "Third.", current=back))
    assert read_tombstone(third) is None
    assert "undone" not in third.metadata["_compaction"]["previous"]


_keys = st.sampled_from(["text", "covers", "version", "content", "previous", "undone", "messages"])
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_keys, inner, max_size=4),
    max_leaves=8,
)


@given(summary=_json, stamp=_json, archived=_json, consolidated=_json)
def test_any_header_can_be_read_and_undone(
    summary: object, stamp: object, archived: object, consolidated: object
) -> None:
    """Whatever an agent or an accident left there."""
    metadata = {"_last_summary": summary, "_compaction": stamp}
    odd = header_fields(last_archived=archived, last_consolidated=consolidated, metadata=metadata)
    projection = read_projection(Header(odd), 10)
    read_tombstone(Header(odd))
    assert 0 <= projection.covers <= 10
    got = written(undone(projection), Header(odd))
    assert read_projection(got, 10).covers == 0


def test_a_message_nested_deeper_than_python_writes_has_a_digest_all_the_same() -> None:
    """One that can be read counts as a message, so it must not stop its session."""
    deep: list[object] = []
    for _ in range(5000):
        deep = [deep]
    one, other = (Message(raw, {"role": "user", "content": deep}) for raw in (b"one", b"other"))

    assert digest_content([one]) != digest_content([other])
