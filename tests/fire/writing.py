"""An agent in a process of its own that writes as fast as it can, without any lock.

It says at the end, as JSON, the worst delay of one line.
"""

from __future__ import annotations

import json
import sys
import time
from collections import deque
from itertools import islice
from pathlib import Path

from tests.session.writers import (
    BASE,
    NEW,
    AppendByPath,
    HeldAppendAtOnce,
    ReadModifyRename,
    RewriteFromMemory,
    RewriteInPlace,
    Writer,
)

STYLES: tuple[type[Writer], ...] = (
    AppendByPath,
    HeldAppendAtOnce,
    ReadModifyRename,
    RewriteFromMemory,
    RewriteInPlace,
)
AHEAD = 8  # handles that are opened so many lines before they are written to


def write_on(style: type[Writer], path: Path, count: int) -> float:
    """Write so many lines, and return the worst delay in seconds."""
    known = list(BASE)
    coming = (style(path, number, known) for number in range(NEW, NEW + count))
    ahead = AHEAD if style is HeldAppendAtOnce else 1
    waiting = deque(islice(coming, ahead))
    worst = 0.0
    while waiting:
        writer = waiting.popleft()
        began = time.perf_counter()
        writer.finish()
        worst = max(worst, time.perf_counter() - began)
        known.append(writer.number)
        waiting.extend(islice(coming, 1))
    return worst


def main(name: str, count: str, *paths: str) -> None:
    """Fill one session after the other with so many lines, and say how it went."""
    style = next(style for style in STYLES if style.__name__ == name)
    sys.stdout.write("writing\n")
    sys.stdout.flush()
    worst = max(write_on(style, Path(path), int(count)) for path in paths)
    sys.stdout.write(json.dumps({"worst": worst}))


if __name__ == "__main__":
    main(*sys.argv[1:])
