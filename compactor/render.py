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

from compactor.check import Finding, State
from compactor.durations import say_span
from compactor.model import Outcome, PassReport, SessionReport
from compactor.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import datetime

    from session.store import StoredSession

_STATES = {State.OK: "green", State.WARN: "yellow", State.FAIL: "red"}
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
    parts = [f"{len(report.sessions)} sessions scanned", f"{len(report.due)} due"]
    parts += [f"{report.count(o)} {str(o).replace('_', ' ')}" for o in _STYLES if report.count(o)]
    line = Text(", ".join(parts))
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
    """Print the lines of a check."""
    for finding in findings:
        line = Text(f"{finding.state:<5}", style=_STATES[finding.state])
        line.append(f"{finding.name:<14}", style="default")
        console.print(line.append(printable(finding.detail, lines=True), style="default"))


def print_stored(console: Console, session: StoredSession) -> None:
    """Print a session's entry, where it comes from, and what is kept."""
    projection, stamp = session.projection, session.projection.stamp
    console.print(Rule(stored(session.ref.key, style="bold")))
    covered = f"{projection.covers} of {len(session.messages)} messages are covered"
    console.print(Text(covered if projection.covers else "no message is covered"))
    if stamp is not None:
        made = f"{stamp.get('engine')} {stamp.get('model') or ''}".strip()
        console.print(
            stored(
                f"generation {stamp.get('generation')}, by {made} at {stamp.get('summarized_at')}; "
                f"{stamp.get('first_at')} to {stamp.get('last_at')}; "
                f"{stamp.get('tokens_before')} tokens became {stamp.get('tokens_after')}"
            )
        )
        sources = stamp.get("sources")
        if isinstance(sources, list) and sources:
            console.print(stored(f"sources: {', '.join(map(str, sources))}"))
    elif projection.entry is not None:
        console.print("the entry is not ours: the agent or somebody else wrote it")
    if projection.entry is not None:
        console.print()
        console.print(stored(projection.entry, lines=True))
    console.print()
    console.print(Rule(Text(f"{len(session.kept)} kept messages", style="bold")))
    print_messages(console, [message.data for message in session.kept])


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
            cut = limit is not None and len(text) > limit
            label = "" if key == "content" else f"{key}: "
            shown = f"{label}{text[:limit] if cut else text}"
            console.print(stored(shown, lines=True), end="")
            console.print(Text(f" [... {len(text) - (limit or 0):,} more]" if cut else "", "dim"))
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
