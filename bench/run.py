"""Measure scanning, committing, starting, asking, and what a nanobot feels of it, as ratios.

The figures are of this machine; the ratios say more. Nothing is judged here.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from bench.asking import measure_ask
from bench.beside import measure_turns
from bench.committing import measure_commit
from bench.scanning import measure_scan
from bench.starting import measure_start

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bench.timing import Measure

_NANOBOT = "NANOBOT_PYTHON"
_ROUND = 100  # figures above are said without decimals


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is asked for, and print it."""
    options = _parser().parse_args(arguments)
    nanobot = os.environ.get(_NANOBOT, "")  # noqa: TID251 - how a tester names it
    with tempfile.TemporaryDirectory(prefix="compactor-bench-") as place:
        measures = list(_measure(Path(place), options, nanobot))
    if options.as_json:
        print(json.dumps(_describe(options, measures, nanobot), indent=2))
    else:
        Console(highlight=False).print(_table(measures, _title(options)))


def _measure(place: Path, options: argparse.Namespace, nanobot: str) -> Iterator[Measure]:
    yield from measure_scan(place, options.sessions, options.rounds, nanobot)
    for size in options.megabytes:
        yield from measure_commit(place, size, options.rounds)
    yield from measure_start(place, options.rounds)
    yield from measure_ask(place, options.answers, options.rounds)
    if nanobot:
        yield from measure_turns(place / "beside", options.answers)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog=f"With {_NANOBOT} naming a Python that has nanobot-ai, its own idle scan of the "
        "same sessions is a baseline too, and its turns are timed beside a pass.",
    )
    parser.add_argument(
        "--sessions", type=_count, default=2_000, metavar="N", help="how many [%(default)s]"
    )
    parser.add_argument(
        "--megabytes",
        type=float,
        nargs="+",
        default=[1, 20],
        metavar="MB",
        help="sizes of the sessions to commit [1 20]",
    )
    parser.add_argument(
        "--answers",
        type=_count,
        default=200,
        metavar="N",
        help="how many entries to ask for, and to commit beside nanobot [%(default)s]",
    )
    parser.add_argument(
        "--rounds", type=_count, default=5, metavar="N", help="the best of so many [%(default)s]"
    )
    parser.add_argument("--json", dest="as_json", action="store_true", help="print one document")
    return parser


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        message = f"expected at least 1, not {text}"
        raise argparse.ArgumentTypeError(message)
    return number


def _describe(options: argparse.Namespace, measures: list[Measure], nanobot: str) -> dict[str, Any]:
    return {
        "sessions": options.sessions,
        "answers": options.answers,
        "rounds": options.rounds,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "nanobot": bool(nanobot),
        "measures": [measure.describe() for measure in measures],
    }


def _title(options: argparse.Namespace) -> str:
    return (
        f"{options.sessions:,} sessions, best of {options.rounds}, "
        f"Python {platform.python_version()}, {os.cpu_count()} cores"
    )


def _table(measures: list[Measure], title: str) -> Table:
    table = Table(title=title, box=SIMPLE, title_justify="left", pad_edge=False)
    for name in ("what", "baseline"):
        table.add_column(name, no_wrap=True)
    for name in ("ours ms", "bare ms", "ratio"):
        table.add_column(name, justify="right", no_wrap=True)
    for _, measures_of_part in groupby(measures, key=lambda measure: measure.part):
        for measure in measures_of_part:
            table.add_row(
                f"{measure.part}: {measure.what}",
                measure.baseline,
                _say(measure.ours * 1_000),
                _say(measure.bare * 1_000),
                _say(measure.ratio),
            )
        table.add_section()
    return table


def _say(figure: float) -> str:
    """Say a figure with about three digits that count."""
    return f"{figure:,.0f}" if figure >= _ROUND else f"{figure:.3g}"


if __name__ == "__main__":
    main()
