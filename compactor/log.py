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
    from loguru import Message, Record


def start_log(level: str, form: Literal["text", "json"]) -> None:
    """Send all events of at least `level` to standard error, in that form, and nowhere else."""
    logger.remove()
    write = _write_json if form == "json" else _write_text
    logger.add(write, level=level, format="{message}", diagnose=False, backtrace=False)


def _write_text(message: Message) -> None:
    record = message.record
    moment = record["time"].strftime("%Y-%m-%dT%H:%M:%S%z")
    fields = "".join(f" {key}={printable(str(value))}" for key, value in _fields(record).items())
    sys.stderr.write(f"{moment} {record['level'].name:<7} {printable(record['message'])}{fields}\n")


def _write_json(message: Message) -> None:
    record = message.record
    line = {
        "time": record["time"].isoformat(timespec="milliseconds"),
        "level": record["level"].name,
        "event": record["message"],
        **_fields(record),
    }
    sys.stderr.write(json.dumps(line, default=str) + "\n")


def _fields(record: Record) -> dict[str, object]:
    return {key: value for key, value in record["extra"].items() if value not in {None, ""}}
