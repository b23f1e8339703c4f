"""Turns against commits of the same session, most of them in the middle of a turn.

A worker would leave a session alone in which somebody talks. This one does not look: every commit
is one that came at the worst moment.
"""

from __future__ import annotations

import json
import random
import re
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import pytest

from compactor.apply import apply_projection
from compactor.entry import frame
from compactor.journal import Answer
from session.location import open_store
from session.record import BUSY_KEYS
from session.store import CommitStatus, StoredSession
from tests.endpoint.server import Pause, Reply, Request, Server
from tests.nanobot.gateway import Gateway, Start
from tests.nanobot.model import MODEL, agree
from tests.nanobot.release import NO_PYTHON, PYTHON, sessions_pattern

pytestmark = [
    pytest.mark.nanobot,
    pytest.mark.skipif(not PYTHON, reason=NO_PYTHON),
]
_ENTRY = re.compile(r"entry \d+ covers (\d+)")
_QUESTION = re.compile(r"question (\d+)\b")
_BREATH = 0.1  # seconds between two commits where nobody shares a lock
_AWAY = 6.0  # seconds after which the plugin takes over what it finds
_SLOWEST = 3.0  # seconds in which the model answers


@dataclass
class Committer:
    """Commits one entry after the other to a session, with cuts at any of its turns."""

    key: str
    seed: int
    within: int = 0  # commits in the middle of a turn
    between: int = 0
    _over: threading.Event = field(default_factory=threading.Event)
    _faults: list[BaseException] = field(default_factory=list)

    @property
    def commits(self) -> int:
        """How many have landed."""
        return self.within + self.between

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(100)
        assert not self._faults

    def _run(self) -> None:
        try:
            self._commit()
        except BaseException as error:  # noqa: BLE001 - the test's own thread shows it
            self._faults.append(error)

    def _commit(self) -> None:
        chance = random.Random(self.seed)
        store = open_store(f"jsonl:{sessions_pattern()}")
        entry = next(one for one in store.list_sessions() if one.ref.key == self.key)
        with store.exclusive():
            while not self._over.wait(_BREATH):
                session = store.load(entry)
                places = [n for n, one in enumerate(session.messages) if one.role == "user" and n]
                if not places:
                    continue
                covers = chance.choice(places)
                change = _change(session, covers, self.commits)
                result = store.commit(session, change, lambda _tail: None)
                if result.status is not CommitStatus.COMMITTED:
                    continue
                if session.in_flight or any(map(session.header.metadata.get, BUSY_KEYS)):
                    self.within += 1
                else:
                    self.between += 1


def _change(session: StoredSession, covers: int, number: int) -> Any:
    answer = Answer("", "", "digest", None, "v", datetime.now(UTC))  # noqa: TID251 - a test's edge
    text = frame(f"## Done\nentry {number} covers {covers}")
    return apply_projection(
        session, covers, text, answer, tokens_before=9, tokens_after=1, counter="o200k_base"
    )


@pytest.mark.parametrize(
    ("turns", "pause_after", "within"),
    [
        pytest.param(6, 4, 4, id="some"),
        pytest.param(150, 12, 500, id="many", marks=[pytest.mark.soak, pytest.mark.timeout(3000)]),
    ],
)
def test_no_request_lacks_both_an_entry_and_the_messages_it_stands_for(
    start: Start, plugin: Path, server: Server, *, turns: int, pause_after: int, within: int
) -> None:
    """Nor does it hold both; no message is lost or doubled, in file and memory."""
    chance = random.Random(turns)
    server.answer_by(slowly(chance))
    gateway = start(plugin=plugin)
    gateway.say("question 0")
    with Committer(gateway.key, seed=turns) as committer:
        for number in range(1, turns):
            gateway.say(f"question {number}")
            if number % pause_after == 0:
                threading.Event().wait(_AWAY)

    requests = [one.json["messages"] for one in server.requests if is_asked(one)]
    for rows in requests:
        check_request(rows)
    shortened = sum(_ENTRY.search(str(rows[0]["content"])) is not None for rows in requests)
    figures = (
        f"{committer.commits} commits, {committer.within} of them in the middle of a turn; "
        f"{len(requests)} requests, {shortened} of them with an entry; "
        f"{gateway.log.count('session_adopted')} times adopted"
    )
    assert committer.within >= within, figures
    assert shortened, figures
    assert gateway.log.count("session_adopted"), figures
    assert "session_left_as_it_is" not in gateway.log
    check_file(gateway, turns)
    gateway.stop()
    check_file(gateway, turns)
    print(figures)  # noqa: T201 - what a soak run is asked for


def slowly(chance: random.Random) -> Any:
    """Answer as ever, after a while."""

    def behave(request: Request) -> Reply:
        return (Pause(chance.random() * _SLOWEST), *agree(request))

    return behave


def is_asked(request: Request) -> bool:
    """Whether this is nanobot's model being asked about what the user said."""
    if not request.body or request.json["model"] != MODEL:
        return False
    last = request.json["messages"][-1]
    return last["role"] == "user" and bool(_QUESTION.search(str(last["content"])))


def check_request(rows: list[dict[str, Any]]) -> None:
    """The entry's messages are gone and all others are there; without an entry, all are."""
    system, *spoken = rows
    found = _ENTRY.search(str(system["content"]))
    covered = int(found[1]) // 2 if found else 0
    asked = [
        int(match[1])
        for row in spoken
        if row["role"] == "user" and (match := _QUESTION.search(str(row["content"])))
    ]
    assert asked == list(range(covered, asked[-1] + 1))
    assert len(spoken) == 2 * len(asked) - 1


def check_file(gateway: Gateway, turns: int) -> None:
    """Every question and every answer, once and in order."""
    messages = [json.loads(line) for line in gateway.lines]
    assert [message["role"] for message in messages] == ["user", "assistant"] * turns
    spoken = [message["content"] for message in messages if message["role"] == "user"]
    assert [int(text.rsplit(" ", 1)[1]) for text in spoken] == list(range(turns))
