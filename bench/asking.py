"""How long asking for many entries takes: a whole pass, and the bare SDK with the same requests.

Both have as many threads, and the endpoint takes its time in a process of its own.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

import openai

from bench.corpus import write_folder
from bench.endpoint import NOTES
from bench.scene import AWAY, CONFIG
from bench.timing import Measure, take_time
from compactor.assembly import join_parts
from compactor.config import check_config
from compactor.model import Outcome
from compactor.parts import PassOptions
from compactor.pipeline import run_pass
from compactor.setup import read_clock
from compactor.sqlite_journal import SqliteJournal
from compactor.summarize import Question, Summarizer, Summary, SummaryRequest
from compactor.summary_prompt import build_messages
from session.jsonl_store import JsonlStore
from session.memory_store import MemoryRecord, MemoryStore
from tests.endpoint.support import without_identifiers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from compactor.config import Config

_PART = "ask"
_BASELINE = "openai SDK, bare"
_SECONDS = 0.25  # that the endpoint takes for an answer
_AT_ONCE = 16
_SCRIPT = Path(__file__).with_name("endpoint.py")
_CONFIG = f"""\
{CONFIG}
engine = "openai"
[llm]
base_url = "{{url}}"
model = "bench"
api_key_env = ""
concurrency = {_AT_ONCE}
[limits]
calls_per_hour = 1_000_000
sessions_per_pass = 1_000_000
"""


class _Listener(Summarizer):
    """An engine that asks nobody and keeps what the real one would have sent."""

    name, model, prompt = "openai", "bench", "listened"

    def __init__(self, reasoning_tokens: int) -> None:
        self.bodies: list[dict[str, Any]] = []
        self._reasoning = reasoning_tokens

    def measure(self, request: SummaryRequest) -> int:
        """Return all of them; see `Summarizer`."""
        return len(request.covered)

    def prepare(self, request: SummaryRequest) -> Question:
        """Keep a request."""
        self.bodies.append(
            {
                "model": self.model,
                "messages": build_messages(request, mark="0" * 16),
                "max_completion_tokens": request.max_tokens + self._reasoning,
            }
        )
        return partial(Summary, NOTES)

    def close(self) -> None:
        """Nothing is held."""


@dataclass(frozen=True, slots=True)
class Sessions:
    """Idle sessions in memory, and the configuration to compact them with."""

    place: Path
    config: Config
    records: Mapping[str, MemoryRecord]

    @classmethod
    def write(cls, place: Path, count: int, url: str) -> Self:
        """Write so many sessions, and take them into memory.

        Nothing in them has to be named: the endpoint's one answer is good for all.
        """
        place.mkdir()
        idle = read_clock() - AWAY
        write_folder(place / "sessions", count, idle)
        config = check_config(tomllib.loads(_CONFIG.format(url=url)), "bench")
        found = JsonlStore([place / "sessions"]).list_sessions()
        records = {
            entry.ref.key: MemoryRecord(
                without_identifiers((place / "sessions" / entry.name).read_bytes()), idle
            )
            for entry in found
        }
        return cls(place, config, records)

    def compact(self, name: str, engine: Summarizer | None = None) -> float:
        """Compact them all from the beginning; returns the seconds of the pass.

        The journal is a new one, on the disk as always. Raises `RuntimeError` unless each session
        was compacted.
        """
        store = MemoryStore({key: replace(record) for key, record in self.records.items()})
        with closing(SqliteJournal(self.place / name)) as journal:
            parts = join_parts(self.config, store, journal, key="none")
            with closing(parts.engine):
                report = run_pass(replace(parts, engine=engine or parts.engine), PassOptions())
        if report.count(Outcome.COMPACTED) != len(self.records):
            message = f"not all were compacted: {report.skipped}, {report.due[:3]}"
            raise RuntimeError(message)
        return report.seconds

    def listen(self) -> list[dict[str, Any]]:
        """Return what a pass would send."""
        listener = _Listener(self.config.llm.reasoning_tokens)
        self.compact("listen", listener)
        return listener.bodies


def measure_ask(place: Path, answers: int, rounds: int) -> Iterator[Measure]:
    """Measure passes that ask for so many entries, in turn with the bare SDK.

    A pass is whole: it scans, plans, asks, keeps answers in a journal on the disk, and commits.
    """
    with ExitStack() as held:
        url = held.enter_context(_serve())
        sessions = Sessions.write(place / "ask", answers, url)
        bodies = sessions.listen()
        client = held.enter_context(openai.OpenAI(api_key="none", base_url=url, max_retries=0))
        pool = held.enter_context(ThreadPoolExecutor(_AT_ONCE))
        ask = partial(_ask_bare, client, pool, bodies)
        ask()
        sessions.compact("warm")
        ours, bare = [], []
        for number in range(rounds):
            bare.append(take_time(ask))
            ours.append(sessions.compact(f"round-{number}"))
    what = f"{answers:,} answers of {_SECONDS * 1_000:.0f} ms, {_AT_ONCE} at once"
    yield Measure(_PART, what, _BASELINE, min(ours), min(bare))


def _ask_bare(
    client: openai.OpenAI, pool: ThreadPoolExecutor, bodies: list[dict[str, Any]]
) -> None:
    def ask(body: dict[str, Any]) -> str | None:
        reply = client.chat.completions.create(**cast("Any", body))
        return cast("str | None", reply.choices[0].message.content)

    if set(pool.map(ask, bodies)) != {NOTES}:
        message = "the endpoint gave another answer"
        raise RuntimeError(message)


@contextmanager
def _serve() -> Iterator[str]:
    """Start the endpoint; yields its address."""
    command = [sys.executable, str(_SCRIPT), str(_SECONDS)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        process.communicate()
