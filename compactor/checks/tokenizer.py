"""Can tokens be counted? Nothing is downloaded, so the vocabulary must be there."""

from __future__ import annotations

from compactor.checks.finding import Said, ok
from compactor.tokens import load_encoding


def check_tokenizer(encoding: str) -> Said:
    """Load an encoding; raises `TokenizerError`."""
    load_encoding(encoding)
    return ok(f"tokens are counted as {encoding}")
