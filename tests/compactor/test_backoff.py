"""How long a session that failed is left alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from compactor.backoff import FIRST, LONGEST, next_try
from tests.compactor.builders import NOW

KEYS = st.text(st.characters(codec=None), max_size=20)


def test_each_failure_is_waited_for_longer() -> None:
    """The delay doubles, and no jitter undoes that."""
    delays = [next_try("telegram:42", failures, now=NOW) - NOW for failures in range(8)]
    assert delays == sorted(set(delays))
    assert delays[-1] > 50 * delays[0]


@given(key=KEYS, failures=st.integers(0, 10**9))
def test_every_delay_ends(key: str, failures: int) -> None:
    """No session is given up for ever, and none is tried again at once."""
    delay = next_try(key, failures, now=NOW) - NOW
    assert FIRST / 2 < delay <= LONGEST


def test_sessions_that_failed_together_are_not_tried_together() -> None:
    """The jitter comes of the key."""
    tries = {next_try(f"telegram:{number}", 3, now=NOW) for number in range(50)}
    assert len(tries) > 25


def test_the_same_failure_gives_the_same_delay() -> None:
    """No chance is in it, so that a decision can be replayed."""
    assert next_try("cli:a", 2, now=NOW) == next_try("cli:a", 2, now=NOW)
