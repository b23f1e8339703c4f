"""A real nanobot, its gateway running or not, and a worker beside it.

What counts is the request that nanobot's model gets when the user returns.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from session import kernel
from tests.end_to_end.support import Invoke
from tests.endpoint.server import Server
from tests.nanobot.gateway import Gateway, Start, wait_until
from tests.nanobot.model import MODEL, look_and_wait
from tests.nanobot.release import NO_PYTHON, PYTHON, is_older, sessions_pattern

pytestmark = [
    pytest.mark.nanobot,
    pytest.mark.skipif(not PYTHON, reason=NO_PYTHON),
]
_WORKER = """\
[store]
url = "jsonl:{sessions}"
[idle]
ttl = "{ttl}"
min_tokens = 1
min_new_tokens = 1
[keep]
messages = {keep}
[summary]
engine = "{engine}"
min_gain = 0.0
[llm]
base_url = "{url}"
model = "workers-model"
api_key_env = ""
"""
# Longer than the plugin wants a session to be left alone.
_QUIET = "6s"
_TURNS = [f"question {number} " + f"word-{number} " * 400 for number in range(8)]


class Worker:
    """A worker that makes one pass after the other."""

    def __init__(self, invoke: Invoke, server: Server) -> None:
        self._invoke, self._url = invoke, server.url
        self.configure()

    def configure(self, *, keep: int = 2, ttl: str = _QUIET, engine: str = "digest") -> None:
        """Write its configuration."""
        text = _WORKER.format(
            sessions=sessions_pattern(), keep=keep, ttl=ttl, engine=engine, url=self._url
        )
        Path("config.toml").write_text(text)

    def work(self, outcome: str, *options: str) -> None:
        """Make passes until one session comes to this outcome."""

        def has_come() -> bool:
            ran = self._invoke("once", "--json", *options)
            assert ran.code == 0, ran
            return bool(ran.json[outcome] == 1)

        wait_until(has_come, patience=20)

    def skip(self, reason: str, *options: str) -> None:
        """Make passes until the one session is left alone for this reason."""

        def is_left() -> bool:
            ran = self._invoke("once", "--json", *options)
            assert (ran.code, ran.json["due"]) == (0, 0), ran
            return bool(ran.json["skipped"] == {reason: 1})

        wait_until(is_left)


@pytest.fixture
def worker(start: Start, invoke: Invoke, server: Server) -> Worker:
    """A worker in the folder of the gateway."""
    return Worker(invoke, server)


def asked(server: Server, text: str) -> list[dict[str, Any]]:
    """The messages of the newest request that was made for what the user said."""
    requests = [one.json["messages"] for one in server.requests if one.body]
    return next(rows for rows in reversed(requests) if text in str(rows[-1]["content"]))


def assert_compact(server: Server, gateway: Gateway, text: str, *between: str) -> None:
    """The request holds our entry, the kept turn, what came since, and the fresh input."""
    entry = gateway.header["metadata"]["_last_summary"]["text"]
    system, *rows = asked(server, text)
    assert system["role"] == "system"
    assert system["content"].endswith(entry)
    expected = [*between, text]
    spoken = [row["content"] for row in rows if row["role"] == "user"]
    assert len(spoken) == len(expected)
    assert all(part in row for part, row in zip(expected, spoken, strict=True)), spoken
    assert len(rows) == 2 * len(expected) - 1


def test_a_running_nanobot_with_the_plugin_adopts_a_compaction(
    start: Start, plugin: Path, server: Server, worker: Worker
) -> None:
    """Entry, kept messages, fresh input; SIGTERM and a restart keep it; no message is lost."""
    gateway = start(plugin=plugin)
    gateway.say(*_TURNS)
    before = gateway.lines

    worker.work("compacted")
    gateway.say("I am back")

    assert_compact(server, gateway, "I am back", "question 7")
    assert f"session_adopted key={gateway.key} covers=14" in gateway.log
    gateway.stop()
    assert gateway.header["last_consolidated"] == 14
    assert "_compaction" in gateway.header["metadata"]
    gateway.start()
    gateway.say("And once more")
    assert_compact(server, gateway, "And once more", "question 7", "I am back")
    gateway.stop()
    assert gateway.lines[: len(before)] == before
    assert len(gateway.lines) == len(before) + 4


def test_sigterm_keeps_a_compaction_that_nobody_has_asked_for_yet(
    start: Start, plugin: Path, worker: Worker
) -> None:
    """All that it has in memory is saved when it ends; with the plugin it looks first."""
    gateway = start(plugin=plugin)
    gateway.say(*_TURNS)
    worker.work("compacted")
    compacted, file = gateway.header, gateway.path.read_bytes()

    gateway.stop()

    assert projection(gateway.header) == projection(compacted)
    if not is_older():  # those spell a header in their own way
        assert gateway.path.read_bytes() == file


def test_the_plugin_leaves_a_sign_while_its_nanobot_lives(
    start: Start, plugin: Path, server: Server
) -> None:
    """The worker can tell that compactions have an effect; the model gets no tool of ours."""
    gateway = start(plugin=plugin)
    gateway.say("hello")
    assert f"nanobot_followed folder={gateway.path.parent}" in gateway.log
    assert all(b"idle_compactor" not in request.body for request in server.requests)

    (sign,) = gateway.path.parent.glob(".compactor/adopter-*.json")

    assert json.loads(sign.read_text())["kind"] == "nanobot-plugin"
    with kernel.flocked(sign, wait=False) as is_stale:
        assert not is_stale
    gateway.kill()
    with kernel.flocked(sign, wait=False) as is_stale:
        assert is_stale


def test_with_nanobots_own_compaction_beside_the_plugin_nothing_is_paid_for(
    start: Start, plugin: Path, server: Server, worker: Worker, invoke: Invoke
) -> None:
    """What the running process goes by counts, until it is started anew; nor is it stopped."""
    gateway = start(plugin=plugin, idle_minutes=15)
    gateway.say(*_TURNS)
    before = gateway.path.read_bytes()
    worker.configure(ttl="1s", engine="openai")

    for _ in range(2):
        worker.skip("no_effect")
        assert "idleCompactAfterMinutes to 0" in adoption(invoke)
        assert invoke("once").out.startswith("none: ")
        gateway.idle_minutes = 0
        gateway.configure()  # but not started anew

    gateway.stop()
    gateway.start()
    assert "nanobot runs with our plugin" in adoption(invoke)
    worker.skip("no_effect", "--agent-stopped")  # which is not true
    assert gateway.path.read_bytes() == before
    assert count_paid(server) == 3  # each `check` asks one small question
    worker.work("compacted")
    gateway.stop()


def test_a_nanobot_that_was_stopped_starts_with_the_compaction(
    start: Start, server: Server, worker: Worker
) -> None:
    """No plugin: down, `once --agent-stopped`, up."""
    gateway = start()
    gateway.say(*_TURNS)
    gateway.stop()
    before = gateway.lines
    worker.configure(ttl="1s")

    worker.work("compacted", "--agent-stopped")
    gateway.start()
    gateway.say("I am back")

    assert_compact(server, gateway, "I am back", "question 7")
    gateway.stop()
    assert gateway.header["last_consolidated"] == 14
    assert gateway.lines[: len(before)] == before


def test_what_a_nanobot_without_the_plugin_wrote_over_is_applied_again_unpaid(
    start: Start, server: Server, worker: Worker, invoke: Invoke
) -> None:
    """It keeps what it has in memory; the next pass gives the answer that was paid for."""
    gateway = start()
    gateway.say(*_TURNS)
    worker.configure(ttl="1s", engine="openai")
    worker.skip("no_effect")
    worker.work("compacted", "--agent-stopped")  # which is not true
    stamp = gateway.header["metadata"]["_compaction"]
    paid = count_paid(server)

    gateway.say("I am back")

    assert len(asked(server, "I am back")) == 2 * len(_TURNS) + 2
    assert gateway.header["last_consolidated"] == 0
    assert "_compaction" not in gateway.header["metadata"]
    worker.work("reapplied", "--agent-stopped")
    assert gateway.header["last_consolidated"] == 14
    assert gateway.header["metadata"]["_compaction"]["text"] == stamp["text"]
    assert count_paid(server) == paid == 1
    assert "in the last 30 days agents wrote over 1 compaction" in invoke("check").out
    gateway.stop()


@pytest.mark.parametrize("patient", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_nanobots_own_idle_compaction_adopts_an_entry_that_covers_everything(
    start: Start, server: Server, worker: Worker, patient: bool
) -> None:
    """No plugin: its scan reads the file again, finds nothing to do, and pays for nothing.

    A second chat, which nobody compacted, shows that the scan was there: nanobot pays for that one.
    """
    gateway = start(idle_minutes=1)
    gateway.say(*_TURNS)
    chat_id, gateway.chat_id = gateway.chat_id, ""
    gateway.say(*(f"canary {number}" for number in range(6)))  # 0.3.0 leaves eight messages
    other, gateway.chat_id = gateway.chat_id, chat_id
    before = gateway.lines
    worker.configure(keep=0, ttl="1s")
    worker.work("compacted", "--key", gateway.key)
    compacted = gateway.header
    asked_before = len(server.requests)

    if not patient:  # as if the minute had passed
        for gateway.chat_id in (chat_id, other):
            make_older(gateway.path)
    gateway.chat_id = chat_id
    wait_until(lambda: len(server.requests) > asked_before)
    gateway.say("I am back")

    scanned, *_ = server.requests[asked_before:]
    assert b"canary" in scanned.body
    assert b"word-3" not in scanned.body
    assert_compact(server, gateway, "I am back")
    assert gateway.header["metadata"]["_compaction"] == compacted["metadata"]["_compaction"]
    assert gateway.lines[: len(before)] == before
    gateway.stop()
    assert gateway.header["last_consolidated"] == len(before)


def test_a_turn_that_lasts_longer_than_the_ttl_is_left_alone(
    start: Start, plugin: Path, server: Server, worker: Worker
) -> None:
    """Its checkpoint file stays as it is, and the turn comes to its end."""
    gateway = start(plugin=plugin)
    gateway.say(*_TURNS)
    worker.configure(ttl="1s")
    server.answer_by(look_and_wait)
    with ThreadPoolExecutor() as pool:
        turn = pool.submit(gateway.say, "take your time")
        wait_until(lambda: bool(gateway.turn))
        wait_until(lambda: [row["role"] for row in last_rows(server)][-1] == "tool")
        kept, file = gateway.turn, gateway.path.read_bytes()

        worker.skip("busy")
        worker.skip("busy", "--force")

        assert (gateway.turn, gateway.path.read_bytes()) == (kept, file)
        server.release()
        assert turn.result()[0].endswith("done")
    worker.work("compacted")
    gateway.stop()


def adoption(invoke: Invoke) -> str:
    """What `check` says of the way in force."""
    findings = invoke("check", "--json").json["findings"]
    return str(next(one["detail"] for one in findings if one["name"] == "adoption"))


def projection(header: dict[str, Any]) -> tuple[Any, ...]:
    """Cursor, entry and stamp of a header."""
    metadata = header["metadata"]
    return header["last_consolidated"], metadata["_last_summary"], metadata["_compaction"]


def last_rows(server: Server) -> list[dict[str, Any]]:
    """The messages of the newest request."""
    return list(server.requests[-1].json["messages"])


def make_older(path: Path) -> None:
    """Let a session have been left alone for two minutes more."""
    header, rest = path.read_bytes().split(b"\n", 1)
    fields = json.loads(header)
    fields["updated_at"] = str(datetime.fromisoformat(fields["updated_at"]) - timedelta(minutes=2))
    spare = path.with_suffix(".older")
    spare.write_bytes(json.dumps(fields).encode() + b"\n" + rest)
    spare.replace(path)


def count_paid(server: Server) -> int:
    """How often the worker asked its model."""
    return sum(one.json["model"] != MODEL for one in server.requests if one.body)
