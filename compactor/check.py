"""Can it work here? Each line of `compactor check`, with the way out where something is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from compactor.errors import CompactorError, FailureKind, SummaryError
from compactor.model import Outcome
from compactor.ways import say_ways
from session.errors import SessionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import datetime

    from compactor.journal import Journal
    from compactor.llm_client import LlmClient
    from compactor.ways import Way
    from session.store import SessionStore

_PROBE = [{"role": "user", "content": "This is a test of the connection. Answer with: OK"}]


LOOK_BACK = timedelta(days=30)


class State(StrEnum):
    """How a line of a check ended."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: what was looked at, how it is, and what a failure would exit with."""

    name: str
    state: State
    detail: str
    exit_code: int = 0

    def describe(self) -> dict[str, Any]:
        """Return the line as `check --json` prints it."""
        return {"name": self.name, "state": self.state, "detail": self.detail}


def run_checks(checks: Iterable[tuple[str, Callable[[], tuple[State, str]]]]) -> list[Finding]:
    """Return a finding for each named check; an error of ours is a failure with its own words."""
    findings: list[Finding] = []
    for name, look in checks:
        try:
            state, detail = look()
            findings.append(Finding(name, state, detail))
        except (CompactorError, SessionError) as error:
            findings.append(Finding(name, State.FAIL, str(error), error.exit_code))
    return findings


def check_store(open_store: Callable[[], SessionStore]) -> tuple[State, str]:
    """Look at the sessions: are they there, and ours to write?"""
    store = open_store()
    entries = store.list_sessions()
    store.check_writable()
    odd = [entry for entry in entries if entry.problem is not None]
    told = f"{len(entries)} sessions"
    if odd:
        return State.WARN, f"{told}, {len(odd)} of them unreadable ({odd[0].problem})"
    if not entries:
        return State.WARN, f"{told}: is this the right folder?"
    return State.OK, told


def check_ways(ways: Mapping[str, Way]) -> tuple[State, str]:
    """Say by which way a compaction will be seen; folders without one are the news."""
    vain = {place: way for place, way in ways.items() if not way.works}
    if vain and len(ways) > 1:
        return State.WARN, "\n".join(say_ways(vain, always_name=True))
    if vain:
        return State.WARN, next(iter(vain.values())).sentence
    return State.OK, "; ".join(dict.fromkeys(way.sentence for way in ways.values()))


def check_written_over(journal: Journal, now: datetime) -> tuple[State, str]:
    """Say how often an agent wrote over a compaction that it had not seen."""
    count = journal.count_outcomes(Outcome.REAPPLIED, now - LOOK_BACK)
    told = f"in the last {LOOK_BACK.days} days"
    if not count:
        return State.OK, f"no compaction {told}"
    return State.WARN, (
        f"{told} agents wrote over {count} compaction{'s' if count > 1 else ''} that they had not "
        "seen, and each was applied again, unpaid (see docs/nanobot.md)"
    )


def check_endpoint(connect: Callable[[], LlmClient], *, max_tokens: int) -> tuple[State, str]:
    """Ask the model one small question, with as much room for its answer as an entry gets."""
    client = connect()
    try:
        reply = client.complete(_PROBE, max_tokens=max_tokens)
    except SummaryError as error:
        if error.kind is FailureKind.BAD_SUMMARY:
            return State.WARN, f"{client.settings.model} answers, but {error.detail}"
        raise
    finally:
        client.close()
    used = sum(reply.usage.get(name, 0) for name in ("prompt", "completion"))
    return State.OK, f"{client.settings.model} answers ({used} tokens)"
