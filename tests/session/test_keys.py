"""Session keys and file names, there and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session.keys import file_name, guess_key, key_of_stem


@given(key=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40))
def test_a_key_is_found_in_its_file_name(key: str) -> None:
    """Whatever it says; and the name stays within its folder."""
    name = file_name(key)
    assert key_of_stem(name.removesuffix(".jsonl")) == key
    assert not {"/", ".", "\\", "\0"} & set(name.removesuffix(".jsonl"))


@pytest.mark.parametrize(
    "stem",
    ["cli_direct", "telegram_123", "YQ==", "YR", "Y Q", "", "Y+Q", "w", "/w", "_w", "YWJj\n"],
)
def test_what_is_no_canonical_stem_spells_no_key(stem: str) -> None:
    """Old names, padding, other alphabets, bits that nobody wrote, bytes that are no text."""
    assert key_of_stem(stem) is None


@pytest.mark.parametrize(
    ("stem", "key"), [("telegram_123_456", "telegram:123_456"), ("heartbeat", "heartbeat")]
)
def test_an_old_name_is_guessed_at_its_first_underscore(stem: str, key: str) -> None:
    """The oldest files do not say it themselves."""
    assert guess_key(stem) == key


def test_a_key_that_is_too_long_is_refused_clearly() -> None:
    """With the figures and the way out."""
    assert len(file_name("k" * 186)) == 254
    with pytest.raises(ValueError, match=r"has 300 characters.* 406 bytes .at most 255.: use a"):
        file_name("k" * 300)


def test_an_empty_key_is_refused() -> None:
    """It would be a file without a name."""
    with pytest.raises(ValueError, match="can't be empty"):
        file_name("")
