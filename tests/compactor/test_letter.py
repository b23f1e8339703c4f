"""What a model is sent: within its window whatever it is, and cut at the same places each time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactor.entry import FRAME
from compactor.errors import FailureKind, SummaryError
from compactor.letter import LetterWriter
from compactor.summarize import SummaryRequest
from compactor.tokens import TokenCounter
from session.message import Message
from tests.compactor.builders import agent, calls, messages_of, user

WINDOW, REASONING, CAP = 8000, 1000, 600
ROOM = int(WINDOW * 0.9) - REASONING - CAP
TEXTS = st.one_of(
    st.text(max_size=200),
    st.builds(lambda word, times: word * times, st.text(max_size=9), st.integers(0, 4000)),
)
TALK = tuple(messages_of(*[user("and so on " * 100), agent("yes " * 100)] * 30))


class CountingCounter(TokenCounter):
    """Counts tokens, and how many characters it was shown."""

    def __init__(self) -> None:
        super().__init__()
        self.shown = 0

    def count(self, text: str) -> int:
        """Return the number of tokens."""
        self.shown += len(text)
        return super().count(text)


def writer_of(window: int = WINDOW, counter: TokenCounter | None = None) -> LetterWriter:
    """Return a writer of letters to a small model."""
    return LetterWriter(counter or TokenCounter(), window=window, reasoning_tokens=REASONING)


def request_of(covered: tuple[Message, ...] = TALK, **changed: Any) -> SummaryRequest:
    """Return a request that was found too long, with some things changed."""
    usual = SummaryRequest("telegram:42", None, covered, (), CAP, is_measured=True)
    return replace(usual, **changed)


def parts_of(request: SummaryRequest, writer: LetterWriter) -> list[int]:
    """The sizes of all parts."""
    sizes: list[int] = []
    while sum(sizes) < len(request.covered):
        rest = request.covered[sum(sizes) :]
        sizes.append(writer.measure(replace(request, covered=rest)))
    return sizes


@given(st.lists(TEXTS, min_size=1, max_size=12), st.lists(TEXTS, max_size=4), TEXTS)
def test_every_letter_is_within_the_window(
    covered: list[str], kept: list[str], previous: str
) -> None:
    """By tokens, and by bytes; whatever stands in the messages and in the entry before."""
    writer, counter = writer_of(), TokenCounter()
    request = request_of(
        tuple(messages_of(*map(user, covered))),
        kept=tuple(messages_of(*map(user, kept))),
        previous=previous,
    )
    size = writer.measure(request)
    assert 1 <= size <= len(covered)
    part = replace(request, covered=request.covered[:size])
    if size < len(covered):
        part = replace(part, kept=(), goes_on=True)
    text = writer.write(part).text
    assert counter.count(text) <= ROOM
    assert len(text.encode()) <= ROOM * 8 + 8


@settings(max_examples=40)
@given(st.text(max_size=100), st.lists(TEXTS, min_size=1, max_size=4))
def test_parts_depend_on_the_history_alone(previous: str, kept: list[str]) -> None:
    """What a model wrote of the parts before moves no cut, nor does what was said since."""
    writer = writer_of()
    usual = parts_of(request_of(kept=TALK[:1], previous="## Goal\n- fly"), writer)
    other = parts_of(
        request_of(kept=tuple(messages_of(*map(user, kept))), previous=previous), writer
    )
    shared = min(len(usual), len(other)) - 1  # the last is as large as the kept ones let it be
    assert usual[:shared] == other[:shared]
    assert len(usual) > 3
    assert abs(len(usual) - len(other)) <= 1


def test_a_history_that_goes_on_has_the_same_parts() -> None:
    """All but the last."""
    writer = writer_of()
    usual = parts_of(request_of(kept=TALK[:1]), writer)
    longer = parts_of(request_of((*TALK, *TALK), kept=TALK[:4]), writer)
    assert longer[: len(usual) - 1] == usual[:-1]


def test_a_larger_window_or_share_makes_no_smaller_part() -> None:
    """More room, more messages."""
    sizes = [writer_of(window).measure(request_of()) for window in range(4000, 30_000, 1000)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1] == len(TALK)
    shares = [writer_of().measure(request_of(share=share / 10)) for share in range(6, 11)]
    assert shares == sorted(shares)
    assert shares[0] < shares[-1]


def test_the_work_grows_with_the_history_and_no_faster() -> None:
    """Of one twice as long twice as many characters are looked at, not four times."""
    shown = []
    for times in (2, 4, 8):
        counter = CountingCounter()
        parts_of(request_of(TALK * times, kept=TALK), writer_of(counter=counter))
        shown.append(counter.shown)
    assert shown[1] < shown[0] * 2.3
    assert shown[2] < shown[1] * 2.3


def test_a_run_of_spaces_takes_room_by_its_bytes() -> None:
    """It is very few tokens, but no endpoint is sent a megabyte for a small window."""
    writer = writer_of()
    request = request_of(tuple(messages_of(*[user(f"a{' ' * 3000}b")] * 60)))
    sizes = parts_of(request, writer)
    assert len(sizes) > 3
    part = replace(request, covered=request.covered[: sizes[0]])
    assert len(writer.write(part).text.encode()) < ROOM * 8


def test_a_part_of_messages_that_nobody_sees_is_none() -> None:
    """Commands take no room, so they never fill a question."""
    hidden = messages_of(*[user("/help", _command=True)] * 9000)
    assert writer_of().measure(request_of((*hidden, *TALK[:2]))) == 9002


def test_a_huge_message_is_sent_with_its_head_and_its_tail() -> None:
    """And a marked gap."""
    text = (
        writer_of().write(request_of(tuple(messages_of(user(f"HEAD {'и ' * 90_000} TAIL"))))).text
    )
    assert "HEAD" in text
    assert "[…]" in text
    assert "TAIL" in text


def test_an_entry_longer_than_ours_is_sent_with_its_head_and_its_tail() -> None:
    """In a third of the room; one of our own is sent whole."""
    ours = "## Exact facts\n" + "- flight\n" * 190
    assert (
        ours.strip() in writer_of().write(request_of(TALK[:1], previous=f"{FRAME}\n\n{ours}")).text
    )
    huge = f"HEAD {'and so on ' * 90_000} TAIL"
    text = writer_of().write(request_of(TALK[:1], previous=huge)).text
    assert TokenCounter().count(text) < ROOM * 2 // 3
    assert "HEAD" in text
    assert "TAIL" in text


def test_an_entry_that_fits_is_sent_whole_whoever_wrote_it() -> None:
    """Nothing is cut from what was not found too long."""
    long = "and so on " * 1500
    request = request_of(TALK[:1], previous=long, is_measured=False)
    assert long.strip() in writer_of().write(request).text


def test_of_too_many_kept_messages_the_newest_are_sent() -> None:
    """In their order; and all of the older ones."""
    kept = messages_of(*[user(f"kept number {number}") for number in range(2000)])
    text = writer_of().write(request_of(TALK[:4], kept=tuple(kept))).text
    sent = [number for number in range(2000) if f"kept number {number}\n" in text]
    assert sent == list(range(sent[0], 2000))
    assert 0 < sent[0] < 1990
    assert text.count("and so on and") >= 2


def test_a_message_of_very_many_calls_is_made_to_fit() -> None:
    """The first of them, and how many more there were."""
    message = messages_of(calls(*[f"c{number}" for number in range(9000)]))
    text = writer_of().write(request_of(tuple(message))).text
    assert "calls look({})" in text
    assert " more]" in text


@pytest.mark.parametrize("is_measured", [False, True])
def test_a_window_without_room_is_said_to_be_too_small(is_measured: bool) -> None:
    """Before anybody is asked, with what to lower."""
    request = request_of(TALK[:1], is_measured=is_measured)
    with pytest.raises(SummaryError, match=r"lower .llm. reasoning") as caught:
        writer_of(2000).write(request)
    assert caught.value.kind is FailureKind.CONTEXT_OVERFLOW
    assert caught.value.calls == 0
