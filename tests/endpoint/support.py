"""A folder whose configuration points at our server, and what a test asks of it."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.end_to_end.support import SAMPLES, message_lines, read_header

KEY = "test-key-of-nobody"
KEY_NAME = "COMPACTOR_TEST_KEY"
SHORT, SHORT_KEY = "dGVsZWdyYW06YWlybGluZS0z", "telegram:airline-3"
OTHERS = ("dGVsZWdyYW06YWlybGluZS03", "dGVsZWdyYW06YWlybGluZS05", "dGVsZWdyYW06YWlybGluZS02")

_NAMED = re.compile(r"""\S*[\d_/@$"'`]\S*|\b[A-Z]{3,}\b""")
_CONFIG = """\
[store]
url = "jsonl:sessions"
timezone = "UTC"
[idle]
ttl = "{ttl}"
min_tokens = 1
min_new_tokens = 1
{idle}
[keep]
messages = {keep}
[summary]
engine = "openai"
{summary}
min_gain = 0.0
on_failure = "{on_failure}"
[llm]
base_url = "{url}"
model = "{model}"
api_key_env = "{key}"
timeout = "{timeout}"
retry_pause = "{pause}"
concurrency = {concurrency}
{llm}
[limits]
{limits}
[log]
{log}
"""


def without_identifiers(data: bytes) -> bytes:
    """The lines of a session, its sizes and its structure kept, with nothing an audit looks for.

    So a fixed answer lacks nothing; what comes of one that does is tested for itself.
    """
    lines = data.split(b"\n")
    for at, line in enumerate(lines):
        row = json.loads(line) if line else {}
        if "role" not in row:
            continue
        if isinstance(row.get("content"), str):
            row["content"] = _NAMED.sub(_say_less, row["content"])
        for call in row.get("tool_calls") or []:
            call["function"]["arguments"] = json.dumps({"about": "things"})
        lines[at] = json.dumps(row, ensure_ascii=False).encode()
    return b"\n".join(lines)


def _say_less(match: re.Match[str]) -> str:
    return ("things " * len(match[0]))[: len(match[0])]


@dataclass(frozen=True)
class Place:
    """A folder with a configuration and sessions."""

    folder: Path
    url: str

    def configure(self, **changed: Any) -> None:
        """Write the configuration, with some things other than usual."""
        usual: dict[str, Any] = {
            "url": self.url,
            "model": "test-model",
            "key": KEY_NAME,
            "timeout": "20s",
            "pause": "0.02s",
            "concurrency": 4,
            "on_failure": "keep",
            "keep": 4,
            "llm": "",
            "summary": "",
            "limits": "",
            "ttl": "1s",
            "idle": "",
            "log": "",
        }
        (self.folder / "config.toml").write_text(_CONFIG.format(**usual | changed))

    @property
    def sessions(self) -> Path:
        """Where the sessions are."""
        return self.folder / "sessions"

    def add(self, *stems: str) -> None:
        """Put fresh sample sessions in place."""
        for stem in stems:
            source = SAMPLES / f"{stem}.jsonl"
            self.path(stem).write_bytes(without_identifiers(source.read_bytes()))
            shutil.copystat(source, self.path(stem))

    def path(self, stem: str = SHORT) -> Path:
        """The file of a session."""
        return self.sessions / f"{stem}.jsonl"

    def files(self) -> dict[str, bytes]:
        """Every session file, byte for byte."""
        return {path.name: path.read_bytes() for path in self.sessions.glob("*.jsonl")}

    def key(self, stem: str = SHORT) -> str:
        """The key of a session."""
        return str(read_header(self.path(stem))["key"])

    def lines(self, stem: str = SHORT) -> list[bytes]:
        """The messages of a session."""
        return message_lines(self.path(stem).read_bytes())

    def stamp(self, stem: str = SHORT) -> Any:
        """The stamp of a session, None where it has none."""
        return read_header(self.path(stem))["metadata"].get("_compaction")

    def entry(self, stem: str = SHORT) -> str:
        """The compact entry of a session."""
        return str(read_header(self.path(stem))["metadata"]["_last_summary"]["text"])

    def journal(self, query: str) -> list[Any]:
        """What the journal says, read beside the product's own code."""
        file = self.folder / "state" / "journal.sqlite3"
        with sqlite3.connect(file) as db:
            found = db.execute(query).fetchall()
        db.close()
        return found

    def journal_bytes(self) -> bytes:
        """All bytes of the journal and of whatever lies beside it."""
        return b"".join(path.read_bytes() for path in (self.folder / "state").iterdir())
