"""The log: constant event names with fields, as text or as JSON lines, on standard error.

Tracebacks never print variables (loguru would by default): they hold messages and keys.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Literal

from loguru import logger

from compactor.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from loguru import Message, Record

    Fields = dict[str, object]

# What journald reads at the beginning of a line (sd-daemon(3)).
_PRIORITIES = {"DEBUG": 7, "INFO": 6, "WARNING": 4, "ERROR": 3}


def start_log(
    level: str,
    form: Literal["text", "json"],
    *,
    hide: Callable[[Fields], Fields] | None = None,
    to_journal: bool = False,
) -> None:
    """Send all events of at least `level` to standard error, in that form, and nowhere else.

    `hide` makes of the fields what may be told. In the journal each line begins with its priority,
    and text has no time of its own.
    """
    logger.remove()
    write = _write_json if form == "json" else _write_text

    def log(message: Message) -> None:
        record = message.record
        fields = _fields(record) if hide is None else hide(_fields(record))
        line = write(record, fields, to_journal=to_journal)
        priority = f"<{_PRIORITIES.get(record['level'].name, 6)}>" if to_journal else ""
        sys.stderr.write(f"{priority}{line}\n")

    logger.add(log, level=level, format="{message}", diagnose=False, backtrace=False)


def _write_text(record: Record, fields: Fields, *, to_journal: bool) -> str:
    told = "".join(f" {key}={printable(str(value))}" for key, value in fields.items())
    event = f"{printable(record['message'])}{told}"
    if to_journal:
        return event
    return f"{record['time']:%Y-%m-%dT%H:%M:%S%z} {record['level'].name:<7} {event}"


def _write_json(record: Record, fields: Fields, *, to_journal: bool) -> str:
    del to_journal  # a line of JSON is whole wherever it is read
    line = {
        "time": record["time"].isoformat(timespec="milliseconds"),
        "level": record["level"].name,
        "event": record["message"],
        **fields,
    }
    return json.dumps(line, default=str)


def _fields(record: Record) -> Fields:
    return {key: value for key, value in record["extra"].items() if value not in {None, ""}}
