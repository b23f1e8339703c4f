"""Session folders to measure on, made of turns of the shipped sample conversations.

Every session is a file as nanobot would have left it: whole turns, naive local times, the file's
own time that of the last message.
"""

from __future__ import annotations

import json
import os
from datetime import datetime, timedelta
from functools import cache
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any

from compactor.demo import SAMPLES
from session.keys import file_name

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SESSION_BYTES = 20_000
_LONGEST_TURN = 8_000  # bytes: one turn must not be most of a session
_STEP = timedelta(seconds=20)

Turn = tuple[dict[str, Any], ...]


def write_folder(folder: Path, sessions: int, spoken_at: datetime) -> None:
    """Fill a new folder with sessions in which somebody last spoke at `spoken_at`."""
    folder.mkdir()
    for number in range(sessions):
        write_session(folder, number, SESSION_BYTES, spoken_at)


def write_session(folder: Path, number: int, size: int, spoken_at: datetime) -> Path:
    """Write session `number`, of about `size` bytes, in place of the one that is there."""
    key = f"telegram:{100_000 + number}"
    rows = [row for turn in _pick_turns(number, size) for row in turn]
    first = spoken_at - _STEP * (len(rows) - 1)
    header = {
        "_type": "metadata",
        "key": key,
        "created_at": _say_local(first),
        "updated_at": _say_local(spoken_at),
        "metadata": {},
        "last_archived": 0,
        "last_consolidated": 0,
    }
    timed = [row | {"timestamp": _say_local(first + _STEP * n)} for n, row in enumerate(rows)]
    lines = [json.dumps(line, ensure_ascii=False) for line in (header, *timed)]
    path = folder / file_name(key)
    path.unlink(missing_ok=True)  # it may be a link to one that must stay
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    set_time(path, spoken_at)
    return path


def set_time(path: Path, moment: datetime) -> None:
    """Let a file have been changed at that moment."""
    os.utime(path, (moment.timestamp(), moment.timestamp()))


def link_folder(source: Path, target: Path) -> None:
    """Make a new folder in which the same files lie under the same names."""
    target.mkdir()
    for path in source.glob("*.jsonl"):
        (target / path.name).hardlink_to(path)


def _pick_turns(start: int, size: int) -> Iterator[Turn]:
    """Yield turns, others for each `start`, until they are about `size` bytes."""
    turns = _read_turns()
    for turn, length in islice(cycle(turns), start % len(turns), None):
        yield turn
        size -= length
        if size <= 0:
            return


@cache
def _read_turns() -> tuple[tuple[Turn, int], ...]:
    """Return the turns of the samples that end with an answer and are not too long, with bytes."""
    turns: list[list[dict[str, Any]]] = []
    for path in sorted(SAMPLES.glob("*.jsonl")):
        for line in path.read_bytes().split(b"\n")[1:-1]:
            row = json.loads(line)
            if row["role"] == "user":
                turns.append([])
            turns[-1].append(row)
    sized = [(tuple(turn), len(json.dumps(turn, ensure_ascii=False).encode())) for turn in turns]
    return tuple(
        (turn, length)
        for turn, length in sized
        if turn[-1]["role"] == "assistant"
        and not turn[-1].get("tool_calls")
        and length <= _LONGEST_TURN
    )


def _say_local(moment: datetime) -> str:
    return moment.astimezone().replace(tzinfo=None).isoformat()
