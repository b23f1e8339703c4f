"""Every error that the worker raises, beside those of the session library.

    CompactorError
    ├── ConfigError            the configuration can't be used
    ├── JournalError           the journal can't be used
    │   └── JournalUnavailableError    for now: it is held, or its disk is full or failing
    ├── TokenizerError         the vocabulary of an encoding is not there
    ├── AbandonedError         a call was given up: the pass ends
    └── SummaryError           no summary came of one session; its `kind` says why
        └── StopError          none will come of any: the pass ends
            ├── AuthError             the endpoint refuses the key
            ├── QuotaError            the account has no credit
            ├── ModelNotFoundError    the endpoint has no such model
            └── ParameterError        the endpoint takes no such parameter

`exit_code` is what a command ends with when the error reaches its edge.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta


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


class JournalUnavailableError(JournalError):
    """The journal can't be used for now, and nobody has to change it: trying again may do."""

    exit_code = 69


class TokenizerError(CompactorError):
    """An encoding can't be loaded."""

    exit_code = 78

    def __init__(self, encoding: str, problem: str) -> None:
        self.encoding = encoding
        self.problem = problem
        super().__init__(f"encoding {encoding!r}: {problem}")


class AbandonedError(CompactorError):
    """A call was given up before its answer came, as if nothing had been asked."""


class FailureKind(StrEnum):
    """Why a session that was due was not compacted."""

    AUTH = "auth"  # the key is refused
    QUOTA = "quota"  # the account has no credit
    MODEL_NOT_FOUND = "model_not_found"  # there is no such model, or no such path
    PARAMETER = "parameter"  # the endpoint does not take what is configured
    RATE_LIMITED = "rate_limited"  # too many requests
    UNAVAILABLE = "unavailable"  # the endpoint can't be reached, or answers nonsense
    TIMEOUT = "timeout"  # no whole reply in time
    CONTEXT_OVERFLOW = "context_overflow"  # too long for the model
    BAD_REQUEST = "bad_request"  # the endpoint refuses the request
    REFUSED = "refused"  # the model refuses to summarize
    BAD_SUMMARY = "bad_summary"  # what came back breaks a rule
    STORE = "store"  # the record could not be written
    INTERNAL = "internal"  # a fault of our own


class SummaryError(CompactorError):
    """No usable summary of one session.

    `calls` says how many calls were made in vain and `usage` what tokens they took, `retry_after`
    how long the endpoint asks to be left alone. A `final` one is not worth another question.
    `remedy` is what the operator can do; unlike `problem`, it is nothing to tell a model. `missing`
    are identifiers that the summary left out; they are never told to anybody else.
    """

    exit_code = 3

    def __init__(
        self,
        kind: FailureKind,
        problem: str,
        *,
        retry_after: timedelta | None = None,
        final: bool = False,
        remedy: str = "",
    ) -> None:
        self.kind = kind
        self.problem = problem
        self.remedy = remedy
        self.retry_after = retry_after
        self.final = final
        self.calls = 0
        self.usage: Mapping[str, int] = {}
        self.missing: tuple[str, ...] = ()
        super().__init__(f"{kind}: {self.detail}")

    @property
    def detail(self) -> str:
        """The problem and the way out, for a person."""
        return "; ".join(filter(None, (self.problem, self.remedy)))


class StopError(SummaryError):
    """A fault that every other session would meet too: the pass ends."""

    exit_code = 78
    fault: ClassVar[FailureKind]

    def __init__(self, problem: str) -> None:
        super().__init__(self.fault, problem)


class AuthError(StopError):
    """The endpoint refuses the key."""

    fault = FailureKind.AUTH


class QuotaError(StopError):
    """The account has no credit."""

    exit_code = 69
    fault = FailureKind.QUOTA


class ModelNotFoundError(StopError):
    """The endpoint has no such model, or no such path."""

    fault = FailureKind.MODEL_NOT_FOUND


class ParameterError(StopError):
    """The endpoint does not take a parameter that is configured."""

    fault = FailureKind.PARAMETER


_STOPS = (AuthError, QuotaError, ModelNotFoundError, ParameterError)
STOPPING = frozenset(stop.fault for stop in _STOPS)
