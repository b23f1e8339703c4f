"""Every error that the worker raises, beside those of the session library.

    CompactorError
    ├── ConfigError            the configuration can't be used
    ├── JournalError           the journal can't be used
    ├── TokenizerError         the vocabulary of an encoding is not there
    └── SummaryError           no summary came of one session; its `kind` says why

`exit_code` is what a command ends with when the error reaches its edge.
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar


class CompactorError(Exception):
    """Base of all errors of this package."""

    exit_code: ClassVar[int] = 1


class ConfigError(CompactorError):
    """The configuration can't be used; `faults` are all that is wrong with it."""

    exit_code = 78

    def __init__(self, file: str, faults: tuple[str, ...]) -> None:
        self.file = file
        self.faults = faults
        super().__init__("\n".join((f"{file}: nothing was started", *faults)))


class JournalError(CompactorError):
    """The journal can't be used."""

    exit_code = 78

    def __init__(self, path: str, problem: str) -> None:
        self.path = path
        self.problem = problem
        super().__init__(f"journal {path!r}: {problem}")


class TokenizerError(CompactorError):
    """An encoding can't be loaded."""

    exit_code = 78

    def __init__(self, encoding: str, problem: str) -> None:
        self.encoding = encoding
        self.problem = problem
        super().__init__(f"encoding {encoding!r}: {problem}")


class FailureKind(StrEnum):
    """Why a session that was due was not compacted."""

    BAD_SUMMARY = "bad_summary"  # what came back breaks a rule
    STORE = "store"  # the record could not be written
    INTERNAL = "internal"  # a fault of our own


class SummaryError(CompactorError):
    """No usable summary of one session."""

    exit_code = 3

    def __init__(self, kind: FailureKind, problem: str) -> None:
        self.kind = kind
        self.problem = problem
        super().__init__(f"{kind}: {problem}")
