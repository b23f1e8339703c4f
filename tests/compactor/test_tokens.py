"""Counting tokens without a network."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import tiktoken
from hypothesis import example, given
from hypothesis import strategies as st

from compactor.errors import TokenizerError
from compactor.tokens import (
    FILES,
    VOCABULARY,
    TokenCounter,
    load_encoding,
    message_text,
    most_tokens,
)
from tests.compactor.builders import NoCounter

if TYPE_CHECKING:
    from pathlib import Path

ANY_TEXT = st.text(st.characters(codec=None), max_size=80)
COUNT = """
import os
from compactor.tokens import TokenCounter
print(TokenCounter().count("Where is my parcel?"), os.environ["TIKTOKEN_CACHE_DIR"])
"""


def child_environment(folder: Path) -> dict[str, str]:
    """Return an environment in which every request over the network fails, and at once."""
    proxy = "http://127.0.0.1:9"
    return dict(os.environ) | {  # noqa: TID251 - a child process needs one
        "TIKTOKEN_CACHE_DIR": str(folder),
        "http_proxy": proxy,
        "https_proxy": proxy,
        "no_proxy": "",
    }


def test_a_count_needs_no_network(tmp_path: Path) -> None:
    """With nothing in tiktoken's own folder the vocabulary comes from this package.

    The environment is afterwards what it was, and nothing was put into that folder.
    """
    done = subprocess.run(
        [sys.executable, "-c", COUNT],
        env=child_environment(tmp_path),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["5", str(tmp_path)]
    assert not list(tmp_path.iterdir())


@given(ANY_TEXT)
@example("lone \ud800 surrogate")
def test_a_count_is_that_of_tiktoken(text: str) -> None:
    """Our figures can be compared with anybody's."""
    counter = TokenCounter()
    counter.count("x")  # from here on tiktoken has the vocabulary
    assert counter.count(text) == len(tiktoken.get_encoding("o200k_base").encode_ordinary(text))


@pytest.mark.parametrize("unit", ["a", " ", "\n", "中", "^", "\ud800", "👋", "word "])
def test_a_long_text_is_counted_in_pieces(unit: str) -> None:
    """One endless word is counted too, and the pieces add next to nothing."""
    counter = TokenCounter()
    text = unit * 50_000
    piece = counter.count(unit * 10_000)
    assert counter.count(text) == pytest.approx(5 * piece, rel=0.01, abs=8)


def test_words_that_mark_the_end_of_a_text_are_plain_text() -> None:
    """A transcript may quote them."""
    assert TokenCounter().count("<|endoftext|>") > 1


@given(ANY_TEXT)
@example("\ud800")
def test_a_text_has_at_most_as_many_tokens_as_bytes(text: str) -> None:
    """The bound on which so much is decided holds, for lone surrogates too."""
    assert TokenCounter().count(text) <= most_tokens(text)


def test_nothing_is_counted_where_the_bound_decides() -> None:
    """A short text is never over a large limit."""
    assert not NoCounter().exceeds("x" * 100, 100)
    assert not NoCounter().exceeds("ü" * 50, 100)
    with pytest.raises(AssertionError, match="counted"):
        NoCounter().exceeds("x" * 101, 100)


@given(st.text(st.characters(codec=None), max_size=2000), st.integers(0, 60))
def test_a_trimmed_text_is_within_its_limit(text: str, limit: int) -> None:
    """Whatever the text, and whatever the limit."""
    counter = TokenCounter()
    trimmed = counter.trim(text, limit)
    assert counter.count(trimmed) <= limit
    assert trimmed == text or "characters left out" in trimmed or not trimmed


def test_a_trimmed_text_has_its_head_and_its_tail() -> None:
    """The gap between them is marked, and says how much is gone."""
    text = f"first {'middle ' * 500}last"
    trimmed = TokenCounter().trim(text, 60)
    assert trimmed.startswith("first middle")
    assert trimmed.endswith("middle last")
    head, _, rest = trimmed.partition(" [... ")
    gone, _, tail = rest.partition(" characters left out ...] ")
    assert len(head) + int(gone) + len(tail) == len(text)
    assert TokenCounter().count(trimmed) > 50


def test_a_text_that_fits_is_not_trimmed() -> None:
    """Not by a character."""
    assert TokenCounter().trim("as it is", 3) == "as it is"


def test_an_unknown_encoding_is_refused_with_those_that_are_known() -> None:
    """The remedy stands in the message."""
    with pytest.raises(TokenizerError, match="o200k_base, cl100k_base"):
        TokenCounter("p50k_base").count("x")


@pytest.mark.parametrize("content", [None, b"", b"not the vocabulary"])
def test_another_encoding_needs_its_whole_file(
    content: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tiktoken would delete a damaged one and fetch it anew; nothing is touched or fetched."""
    name, _ = FILES["cl100k_base"]
    if content is not None:
        (tmp_path / name).write_bytes(content)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(TokenizerError, match=f"{name} is not, or not whole, in .*{tmp_path.name}"):
        load_encoding("cl100k_base")
    assert [file.read_bytes() for file in tmp_path.iterdir()] == (
        [] if content is None else [content]
    )


def test_the_vocabulary_is_shipped_with_its_licence() -> None:
    """What is needed lies in the package."""
    assert {file.name for file in VOCABULARY.iterdir()} >= {
        FILES["o200k_base"][0],
        "LICENSE.tiktoken",
    }


def test_the_text_of_a_message_is_all_that_a_model_reads() -> None:
    """Text, parts, calls and reasoning count; an empty field does not."""
    call = {"id": "1", "function": {"name": "look", "arguments": '{"q": "ü"}'}}
    text = message_text(
        {"role": "assistant", "content": "so", "reasoning_content": "hm", "tool_calls": [call]}
    )
    assert text.startswith("so\nhm\n")
    assert "look" in text
    assert "ü" in text
    assert message_text({"role": "user", "content": [{"type": "text", "text": "Grüße"}]}) == (
        '[{"type": "text", "text": "Grüße"}]'
    )
    assert message_text({"role": "assistant", "content": None, "tool_calls": []}) == ""
