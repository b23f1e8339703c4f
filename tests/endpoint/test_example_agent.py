"""The example agent as a process, a worker beside it, and a server on loopback for both."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO

import pytest
from freezegun import freeze_time

from session.keys import file_name
from tests.end_to_end.support import ROOT, Invoke, message_lines, read_header
from tests.endpoint.server import Server, answer
from tests.endpoint.support import Place


class Agent:
    """The example agent, to be talked to line by line."""

    def __init__(self, folder: Path, url: str) -> None:
        self.process = subprocess.Popen(
            [
                sys.executable,
                str(ROOT / "examples" / "agent.py"),
                str(folder),
                f"--base-url={url}",
                "--model=agents-model",
            ],
            env={**os.environ, "OPENAI_API_KEY": "nobody", "PYTHONPATH": str(ROOT)},  # noqa: TID251 - a child needs one
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def say(self, line: str) -> str:
        """Say something and return the line that it answers."""
        stdin, stdout = self._pipes()
        stdin.write(line + "\n")
        stdin.flush()
        return stdout.readline().rstrip("\n")

    def read_line(self) -> str:
        """Return one more line."""
        return self._pipes()[1].readline().rstrip("\n")

    def stop(self, *, politely: bool = True) -> int:
        """End the input, or send SIGTERM; returns the exit code."""
        if politely:
            self._pipes()[0].close()
        else:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)

    def _pipes(self) -> tuple[IO[str], IO[str]]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        return self.process.stdin, self.process.stdout


@pytest.fixture
def agent(bare: Place, server: Server) -> Iterator[Agent]:
    """An agent that has started; its model answers what it is told to."""
    started = Agent(bare.sessions, server.url)
    yield started
    started.process.kill()
    started.process.wait()
    for pipe in (started.process.stdin, started.process.stdout):
        assert pipe is not None
        pipe.close()


def last_asked(server: Server) -> list[str]:
    """The messages of the newest request to the agent's model, as `role: text`."""
    asked = [one for one in server.requests if one.json["model"] == "agents-model"]
    return [f"{row['role']}: {row['content']}" for row in asked[-1].json["messages"]]


def say_much(agent: Agent, turns: int) -> None:
    """Have a conversation that is worth compacting."""
    for number in range(turns):
        assert agent.say(f"question {number} " + "word " * 500) == "yes"


def compact(bare: Place, invoke: Invoke) -> None:
    """Let the worker make its pass tomorrow."""
    bare.configure(keep=2)
    with freeze_time(datetime.now(UTC) + timedelta(days=1)):  # noqa: TID251 - a test's
        ran = invoke("once", "--json")
    assert (ran.code, ran.json["compacted"]) == (0, 1), ran


def test_a_compaction_is_in_the_next_turn_of_a_running_agent(
    agent: Agent, bare: Place, server: Server, invoke: Invoke
) -> None:
    """Entry and kept messages; saves and SIGTERM keep it; no message is lost."""
    server.play(answer("yes"), model="agents-model")
    say_much(agent, 8)
    path = bare.sessions / file_name("cli:me")
    before = message_lines(path.read_bytes())

    compact(bare, invoke)
    assert agent.say("I am back") == "yes"

    system, first, *rest = last_asked(server)
    assert system.startswith("system: ")
    assert "## Goal" in first
    assert "question 7" in first
    assert rest == ["assistant: yes", "user: I am back"]
    assert agent.stop(politely=False) == 0
    header = read_header(path)
    assert header["last_archived"] == 14
    assert "## Goal" in header["metadata"]["_last_summary"]["text"]
    after = message_lines(path.read_bytes())
    assert after[: len(before) - 1] == before[:-1]
    assert len(after) == len(before) + 2


@pytest.mark.parametrize("compacted", [False, True], ids=["", "compacted in between"])
def test_who_answers_a_message_from_elsewhere_is_understood(
    agent: Agent, bare: Place, server: Server, invoke: Invoke, compacted: bool
) -> None:
    """The tool sends to another session, and that one's next request holds what was sent."""
    call = {
        "id": "call_1",
        "type": "function",
        "function": {
            "name": "message",
            "arguments": json.dumps(
                {"channel": "telegram", "chat_id": "42", "content": "The report is ready"}
            ),
        },
    }
    server.play(answer("yes"), model="agents-model")
    for number in range(8):
        agent.say(f"telegram:42 question {number} " + "word " * 500)
    asks = answer(None, "tool_calls", tool_calls=[call])
    server.play(asks, answer("I told them"), answer("yes"), model="agents-model")
    assert agent.say("Tell them that the report is ready") == "-> telegram:42: The report is ready"
    assert agent.read_line() == "I told them"
    if compacted:
        bare.configure(keep=2)
        with freeze_time(datetime.now(UTC) + timedelta(days=1)):  # noqa: TID251 - a test's
            ran = invoke("once", "--json", "--key", "telegram:42")
        assert ran.json["compacted"] == 1, ran

    assert agent.say("telegram:42 Which report?") == "yes"

    asked = last_asked(server)
    assert "assistant: [Sent from cli:me] The report is ready" in asked
    assert asked[-1] == "user: Which report?"
    assert compacted == ("## Goal" in "".join(asked))
    assert agent.stop() == 0
