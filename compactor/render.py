"""What a person sees: tables and texts through rich, every stored text made printable first."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from compactor.checks.finding import Finding, State
from compactor.clusters import cut_before
from compactor.durations import say_span
from compactor.model import Outcome, PassReport, SessionReport
from compactor.printable import printable
from compactor.report import say_pass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime

    from compactor.making import Making
    from compactor.tokens import TokenCounter
    from session.message import Message
    from session.projection import Projection
    from session.store import StoredSession

_STATES = {State.OK: "green", State.WARN: "yellow", State.FAIL: "red"}
_STATE_WIDTH, _NAME_WIDTH = 5, 15
_WIDE = 110  # columns from which on there is room for sentences
_STYLES = {
    Outcome.COMPACTED: "green",
    Outcome.REAPPLIED: "green",
    Outcome.WOULD_COMPACT: "cyan",
    Outcome.CONFLICT: "yellow",
    Outcome.FAILED: "red",
}


def make_console(*, stderr: bool = False) -> Console:
    """Return where a person reads; what is piped is not wrapped at eighty columns."""
    console = Console(stderr=stderr, highlight=False)
    return console if console.is_terminal else Console(stderr=stderr, highlight=False, width=200)


def stored(text: str, *, style: str = "", lines: bool = False) -> Text:
    """Return stored text as rich prints it: no markup in it counts, nothing in it is hidden."""
    return Text(printable(text, lines=lines), style=style)


def print_pass(
    console: Console, report: PassReport, sessions: Iterable[SessionReport], *, now: datetime
) -> None:
    """Print a table of the sessions, and what came of the pass in one line."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("session", overflow="fold", min_width=22)
    for name in ("idle", "messages", "covered", "tokens", "after"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("outcome", overflow="fold")
    wide = console.width >= _WIDE
    for session in sorted(sessions, key=lambda s: (s.outcome is Outcome.SKIPPED, s.ref)):
        table.add_row(*_row(session, now, wide=wide))
    if table.row_count:
        console.print(table)
        console.print()
    console.print(summarize_pass(report))
    if not wide and report.skipped:
        console.print(Text("A wider terminal, a pipe or --json tells why in a sentence.", "dim"))


def _row(session: SessionReport, now: datetime, *, wide: bool) -> list[Text]:
    outcome = session.reason if session.outcome is Outcome.SKIPPED else session.outcome
    said = Text(str(outcome), style=_STYLES.get(session.outcome, "dim"))
    about = session.detail
    if session.outcome in {Outcome.CONFLICT, Outcome.FAILED}:
        about = f"{session.reason}: {about}"
    if about and (wide or session.outcome is not Outcome.SKIPPED):
        said.append(f"  {printable(about)}", style="dim")
    idle = "" if session.idle_since is None else say_span(now - session.idle_since)
    figures = (session.messages, session.covers, session.tokens_before, session.tokens_after)
    return [
        stored(session.ref.key),
        Text(idle),
        *(Text("" if figure is None else f"{figure:,}") for figure in figures),
        said,
    ]


def summarize_pass(report: PassReport) -> Text:
    """Return what came of a pass, in one line."""
    line = Text(say_pass(report))
    if report.skipped:
        told = ", ".join(f"{count} {reason}" for reason, count in sorted(report.skipped.items()))
        line.append(f"; left alone: {told}")
    settled = [s for s in report.sessions if s.tokens_before and s.tokens_after]
    before = sum(s.tokens_before or 0 for s in settled)
    after = sum(s.tokens_after or 0 for s in settled)
    if before:
        line.append(f"; {before:,} tokens become {after:,} ({1 - after / before:.0%} less)")
    return line


def print_findings(console: Console, findings: Iterable[Finding]) -> None:
    """Print the lines of a check, each with the way out below it where something is amiss."""
    margin = " " * (_STATE_WIDTH + _NAME_WIDTH)
    for finding in findings:
        said = finding.said
        line = Text(f"{said.state:<{_STATE_WIDTH}}", style=_STATES[said.state])
        line.append(f"{finding.name:<{_NAME_WIDTH}}", style="default")
        problem = printable(finding.problem, lines=True).replace("\n", f"\n{margin}")
        console.print(line.append(problem, style="default"), soft_wrap=True)
        for remedy in filter(None, said.remedy.split("\n")):
            # Never broken by us: it may be a command to copy.
            console.print(Text(f"{margin}-> {printable(remedy)}", "bold"), soft_wrap=True)


def print_stored(
    console: Console, session: StoredSession, making: Making, counter: TokenCounter
) -> None:
    """Print a session: its entry, how that was made, what is kept."""
    projection = session.projection
    console.print(Rule(stored(session.ref.key, style="bold")))
    covered = f"{projection.covers} of {len(session.messages)} messages are covered"
    console.print(Text(covered if projection.covers else "no message is covered"))
    for line in (*_say_provenance(projection), *_say_making(making)):
        console.print(stored(line))
    console.print(stored(_say_kept(session.kept, counter)))
    if projection.entry is not None:
        console.print()
        console.print(stored(projection.entry, lines=True))
    console.print()
    console.print(Rule(Text(f"{len(session.kept)} kept messages", style="bold")))
    print_messages(console, [message.data for message in session.kept])


def _say_provenance(projection: Projection) -> Iterator[str]:
    stamp = projection.stamp
    if stamp is None:
        if projection.entry is not None:
            yield "the entry is not ours: the agent or somebody else wrote it"
        return
    made = f"{stamp.get('engine')} {stamp.get('model') or ''}".strip()
    yield f"generation {stamp.get('generation')}, by {made} at {stamp.get('summarized_at')}"
    yield (
        f"covered: {stamp.get('first_at')} to {stamp.get('last_at')}, "
        f"{stamp.get('tokens_before')} tokens became {stamp.get('tokens_after')}"
    )
    sources = stamp.get("sources")
    if isinstance(sources, list) and sources:
        yield f"sources: {', '.join(map(str, sources))}"


def _say_making(making: Making) -> Iterator[str]:
    if making.problem is not None:
        yield say_unknown(making.problem)
    audit, cost = making.audit, making.cost
    if audit is not None:
        appended = f", {audit.appended} appended" if audit.appended else ""
        yield f"audit: {audit.found} of {audit.wanted} identifiers in the text{appended}"
    if cost is None:
        return
    if not cost.calls:
        yield "cost: no model was asked"
        return
    parts = f" ({cost.parts} of them for parts)" if cost.parts else ""
    told = [f"{cost.calls} {'call' if cost.calls == 1 else 'calls'}{parts}"]
    about = "about " if cost.usage.get("estimated") else ""
    for name, unit, within in (
        ("prompt", "tokens in", "cached"),
        ("completion", "out", "reasoning"),
    ):
        if name in cost.usage:
            inner = f" ({cost.usage[within]:,} {within})" if cost.usage.get(within) else ""
            told.append(f"{about}{cost.usage[name]:,} {unit}{inner}")
    yield f"cost: {', '.join(told)}, {cost.seconds:,.1f} s"


def say_unknown(problem: str) -> str:
    """Say why nobody knows what an entry took."""
    return f"audit and cost are not known: {problem}"


def _say_kept(kept: Sequence[Message], counter: TokenCounter) -> str:
    if not kept:
        return "kept: no message"
    tokens = sum(counter.count_message(message.data) for message in kept)
    noun = "message" if len(kept) == 1 else "messages"
    times = [message.timestamp for message in kept if isinstance(message.timestamp, str)]
    span = f", {times[0]} to {times[-1]}" if times else ""
    return f"kept: {len(kept)} {noun}, {tokens:,} tokens{span}"


def print_messages(
    console: Console, messages: Iterable[dict[str, Any]], *, limit: int | None = None
) -> None:
    """Print messages one by one; `limit` is in characters for each, None for all of it."""
    for message in messages:
        console.print(stored(str(message.get("role", "(no role)")), style="bold"))
        for key, value in message.items():
            if key in {"role", "timestamp"} or value in (None, "", []):
                continue
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            end = len(text) if limit is None else cut_before(text, limit)
            label = "" if key == "content" else f"{key}: "
            console.print(stored(f"{label}{text[:end]}", lines=True), end="")
            more = len(text) - end
            console.print(Text(f" [... {more:,} more]" if more > 0 else "", "dim"))
        console.print()


@contextmanager
def progress_on(console: Console) -> Iterator[Callable[[SessionReport, int], None]]:
    """Show a bar of the sessions that are done, on a terminal only; yields what to tell it."""
    bar = Progress(
        TextColumn("compacting"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[tokens]:,} tokens less, {task.fields[failed]} failed"),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    tokens = failed = 0
    with bar:
        task = bar.add_task("compacting", total=None, tokens=tokens, failed=failed)

        def tell(report: SessionReport, total: int) -> None:
            nonlocal tokens, failed
            tokens += (report.tokens_before or 0) - (report.tokens_after or 0)
            failed += report.outcome is Outcome.FAILED
            bar.update(task, advance=1, total=total, tokens=tokens, failed=failed)

        yield tell
