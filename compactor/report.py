"""The JSON documents that the commands print: shapes that others rely on."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from compactor.model import Outcome, PassReport, SessionReport

if TYPE_CHECKING:
    from compactor.making import EntryCost, Making
    from compactor.status import Status
    from session.store import StoredSession

_SETTLED = (Outcome.COMPACTED, Outcome.REAPPLIED, Outcome.WOULD_COMPACT)


def describe_pass(report: PassReport, *, everything: bool = False) -> dict[str, Any]:
    """Return what `once` and `scan` print; `everything` lists the skipped sessions too.

    `scanned` is `due` and all of `skipped`; `due` is the sum of the outcomes. Tokens are summed
    over what was compacted, applied again, or would be.
    """
    settled = [session for session in report.sessions if session.outcome in _SETTLED]
    return {
        "scanned": len(report.sessions),
        "due": len(report.due),
        "compacted": report.count(Outcome.COMPACTED),
        "reapplied": report.count(Outcome.REAPPLIED),
        "would_compact": report.count(Outcome.WOULD_COMPACT),
        "conflict": report.count(Outcome.CONFLICT),
        "failed": report.count(Outcome.FAILED),
        "skipped": report.skipped,
        "tokens_before": sum(session.tokens_before or 0 for session in settled),
        "tokens_after": sum(session.tokens_after or 0 for session in settled),
        "seconds": round(report.seconds, 3),
        "problems": [str(fault) for fault in report.faults],
        "sessions": [
            describe_session(session) for session in (report.sessions if everything else report.due)
        ],
    }


def count_pass(report: PassReport) -> dict[str, int]:
    """Return the figures of a pass by their names: what was scanned, due, done, and left alone."""
    figures = {name: value for name, value in describe_pass(report).items() if type(value) is int}
    return figures | report.skipped


def say_pass(report: PassReport) -> str:
    """Return what came of a pass in one line."""
    told = [f"{len(report.sessions)} sessions scanned", f"{len(report.due)} due"]
    told += [
        f"{report.count(outcome)} {str(outcome).replace('_', ' ')}"
        for outcome in Outcome
        if outcome is not Outcome.SKIPPED and report.count(outcome)
    ]
    return ", ".join(told)


def describe_session(session: SessionReport) -> dict[str, Any]:
    """Return one row of `sessions`."""
    return {
        "key": session.ref.key,
        "folder": session.ref.folder,
        "outcome": session.outcome,
        "reason": session.reason,
        "detail": session.detail,
        "idle_since": session.idle_since.isoformat() if session.idle_since else None,
        "messages": session.messages,
        "covers": session.covers,
        "tokens_before": session.tokens_before,
        "tokens_after": session.tokens_after,
        "audit": asdict(session.audit) if session.audit else None,
        "engine": session.engine,
        "model": session.model,
        "seconds": None if session.seconds is None else round(session.seconds, 3),
    }


def describe_status(status: Status) -> dict[str, Any]:
    """Return what `status` prints. `running` and `sessions` are null where nobody could look."""
    waiting = status.waiting
    return {
        "running": status.has_worker,
        "problem": status.problem or None,
        "passes": [
            {
                "began_at": one.began_at.isoformat(timespec="seconds"),
                "seconds": round(one.seconds, 3),
                "command": one.command,
                "outcome": one.outcome,
                "problem": one.problem or None,
                "counts": dict(one.counts),
            }
            for one in status.passes
        ],
        "totals": {name: asdict(totals) for name, totals in status.totals.items()},
        "written_over": status.written_over,
        "sessions": None if waiting is None else [describe_session(one) for one in waiting],
    }


def describe_stored(
    session: StoredSession, making: Making | None = None, *, prompt: bool
) -> dict[str, Any]:
    """Return what `show` prints: the entry, where it comes from, its cost and the kept messages.

    With `prompt` the messages are exactly those that an agent would send.
    """
    projection = session.projection
    return {
        "key": session.ref.key,
        "folder": session.ref.folder,
        "messages": len(session.messages),
        "covers": projection.covers,
        "entry": projection.entry,
        "stamp": projection.stamp,
        "audit": asdict(making.audit) if making and making.audit else None,
        "cost": _describe_cost(making.cost) if making and making.cost else None,
        "kept": session.get_history() if prompt else [message.data for message in session.kept],
    }


def _describe_cost(cost: EntryCost) -> dict[str, Any]:
    return {
        "calls": cost.calls,
        "parts": cost.parts,
        "usage": dict(cost.usage),
        "seconds": round(cost.seconds, 3),
    }
