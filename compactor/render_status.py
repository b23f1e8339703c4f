"""What a person sees of `compactor status`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from compactor.durations import say_span
from compactor.model import Outcome
from compactor.pass_log import PassOutcome
from compactor.render import stored

if TYPE_CHECKING:
    from datetime import datetime

    from rich.console import Console

    from compactor.pass_log import PassRecord, Totals
    from compactor.status import Status

_WORKER = {True: "running", False: "not running", None: "nobody can tell"}
_TOLD = {
    **{name: name for name in ("scanned", "due", "compacted", "reapplied", "conflict", "failed")},
    "runs_skipped": "runs skipped before",
    "runs_missed": "runs missed before",
}
_SUMMED = (Outcome.COMPACTED, Outcome.REAPPLIED, Outcome.CONFLICT, Outcome.FAILED)


def print_status(console: Console, status: Status, *, now: datetime) -> None:
    """Print whether a worker runs, its last passes, the totals, and the sessions that wait."""
    style = "green" if status.has_worker else "yellow"
    console.print(Text("worker: ").append(_WORKER[status.has_worker], style=style))
    if status.problem:
        console.print(stored(status.problem, style="red", lines=True))
    console.print()
    if status.passes:
        console.print(_table_of_passes(status.passes, now))
    else:
        console.print("no pass yet, as far as this journal knows")
    console.print()
    console.print(_table_of_totals(status))
    if status.written_over:
        noun = "compaction" if status.written_over == 1 else "compactions"
        told = (
            f"agents wrote over {status.written_over} {noun} in the last 30 days; each was applied "
            "again, unpaid (see docs/nanobot.md)"
        )
        console.print(Text(told, style="yellow"))
    if status.waiting is not None:
        console.print()
        if status.waiting:
            console.print(_table_of_waiting(status))
        else:
            console.print("no session is parked or held")


def _table(*names: str, right: tuple[str, ...] = ()) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in names:
        if name in right:
            table.add_column(name, justify="right", no_wrap=True)
        else:
            table.add_column(name, overflow="fold")
    return table


def _table_of_passes(passes: list[PassRecord], now: datetime) -> Table:
    table = _table("last passes (UTC)", "ago", "took", "by", "outcome", "", right=("ago", "took"))
    for one in passes:
        told = [
            f"{one.counts[name]} {word}" for name, word in _TOLD.items() if one.counts.get(name)
        ]
        table.add_row(
            f"{one.began_at:%Y-%m-%d %H:%M:%S}",
            say_span(now - one.began_at),
            f"{one.seconds:.1f}s",
            one.command,
            Text(str(one.outcome), style="green" if one.outcome is PassOutcome.DONE else "yellow"),
            stored("; ".join(filter(None, (", ".join(told), one.problem)))),
        )
    return table


def _table_of_totals(status: Status) -> Table:
    names = [str(outcome) for outcome in _SUMMED]
    more = ("calls", "tokens", "became", "paid in", "paid out")
    table = _table("totals", *names, *more, right=(*names, *more))
    for name, totals in status.totals.items():
        table.add_row(name, *(f"{figure:,}" for figure in _figures(totals)))
    return table


def _figures(totals: Totals) -> list[int]:
    return [
        *(totals.outcomes.get(outcome, 0) for outcome in _SUMMED),
        totals.calls,
        totals.tokens_before,
        totals.tokens_after,
        totals.prompt,
        totals.completion,
    ]


def _table_of_waiting(status: Status) -> Table:
    table = _table("session", "waits", "")
    for report in status.waiting or ():
        table.add_row(stored(report.ref.key), str(report.reason), stored(report.detail))
    return table
