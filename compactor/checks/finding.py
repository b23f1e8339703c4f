"""A line of a check: how something is and, where it is not well, the way out.

A look says how it is, or raises one of our errors, whose words and exit code then make the line. It
raises `NotLookedAtError` where something that it needs is amiss: that has a line of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from compactor.checks.remedies import tell_remedy
from compactor.errors import CompactorError
from session.errors import SessionError, StoreError
from session.listing import tell_reason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class State(StrEnum):
    """How a line of a check ended, the best first."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Line(StrEnum):
    """What is looked at, by the name of its line."""

    CONFIGURATION = "configuration"
    STORE = "store"
    PERMISSIONS = "permissions"
    WORKER = "worker"
    DISK = "disk"
    CLOCK = "clock"
    TTL = "ttl"
    RHYTHM = "rhythm"
    ADOPTION = "adoption"
    JOURNAL = "journal"
    WRITTEN_OVER = "written over"
    TOKENIZER = "tokenizer"
    WINDOW = "window"
    ENDPOINT = "endpoint"


@dataclass(frozen=True, slots=True)
class Said:
    """What a look says: how it is, the way out, and what a failure exits with.

    `detail` may end with the way out in its own words; then `remedy` is that end.
    """

    state: State
    detail: str
    remedy: str = ""
    exit_code: int = 0


@dataclass(frozen=True, slots=True)
class Finding:
    """A line of a check: what was looked at, and what was said of it."""

    name: Line
    said: Said

    @property
    def problem(self) -> str:
        """The detail without the remedy, which is shown by itself."""
        detail, remedy = self.said.detail, self.said.remedy
        if not remedy or not detail.endswith(remedy):
            return detail
        return detail.removesuffix(remedy).rstrip(" :;,")

    def describe(self) -> dict[str, Any]:
        """Return the line as `check --json` prints it."""
        return {
            "name": self.name,
            "state": self.said.state,
            "detail": self.said.detail,
            "remedy": self.said.remedy or None,
        }


class NotLookedAtError(Exception):
    """Something that a look needs is amiss; `line` is the one that says what."""

    def __init__(self, line: Line) -> None:
        self.line = line
        super().__init__(line)


def ok(detail: str) -> Said:
    """Say that all is well."""
    return Said(State.OK, detail)


def warn(detail: str, remedy: str) -> Said:
    """Say that something works, but not as anybody would want it."""
    return Said(State.WARN, detail, remedy)


def fail(detail: str, remedy: str, *, exit_code: int) -> Said:
    """Say that it can't work."""
    return Said(State.FAIL, detail, remedy, exit_code)


def join_said(said: Iterable[Said], otherwise: str) -> Said:
    """Return all that is amiss as one, in the worst of its states; `otherwise` where nothing is."""
    amiss = [one for one in said if one.state is not State.OK]
    if not amiss:
        return ok(otherwise)
    failing = [one for one in amiss if one.state is State.FAIL]
    return Said(
        State.FAIL if failing else State.WARN,
        "\n".join(one.detail for one in amiss),
        "\n".join(one.remedy for one in amiss),
        failing[0].exit_code if failing else 0,
    )


def run_checks(looks: Iterable[tuple[Line, Callable[[], Said]]]) -> list[Finding]:
    """Return a finding for each named look."""
    return [Finding(name, _take(look)) for name, look in looks]


def _take(look: Callable[[], Said]) -> Said:
    try:
        return look()
    except NotLookedAtError as error:
        told = f"not looked at: it needs what the line {str(error.line)!r} is about"
        return warn(told, f"see to the line {str(error.line)!r}, and check again")
    except (CompactorError, SessionError) as error:
        return fail(str(error), tell_remedy(error), exit_code=error.exit_code)
    except OSError as error:
        told = f"{error.filename or 'a file'}: {tell_reason(error)}"
        return fail(told, "see to that file or folder", exit_code=StoreError.exit_code)
