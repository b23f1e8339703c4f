"""A pass that ends between the parts of a long session: what was paid for is there for the next."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections import Counter

import pytest

from tests.end_to_end.support import Invoke
from tests.endpoint.folding import (
    LIMITS,
    Reader,
    add,
    chat,
    check_chain,
    check_ledger,
    fill,
    first_questions,
    once,
    read_in,
    said,
)
from tests.endpoint.server import Reply, Request, Server, Step, error
from tests.endpoint.support import SHORT_KEY, Place
from tests.endpoint.test_kills import run_until

SEED = 20261130
WINDOW = 16_000
COMMAND = [sys.executable, "-m", "compactor", "once", "--agent-stopped"]
LEDGER = "SELECT outcome, calls, reason FROM ledger ORDER BY id"


@pytest.fixture
def long(place: Place, server: Server) -> Place:
    """A session of several parts."""
    fill(place, chat(60))
    place.configure(llm=f"context_window = {WINDOW}\nretries = 0", limits=LIMITS)
    server.answer_by(Reader(WINDOW))
    return place


def asked_about(server: Server) -> Counter[tuple[int, ...]]:
    """How often each part was asked about."""
    return Counter(tuple(read_in(one)) for one in server.requests)


def kill_at(server: Server, count: int) -> None:
    """Run a pass that is killed when its n-th request has arrived, which is answered in vain."""
    reader, seen = Reader(WINDOW), len(server.requests)

    def reply(request: Request) -> Reply:
        if len(server.requests) - seen == count:
            os.kill(child.pid, signal.SIGKILL)
        return reader(request)

    server.answer_by(reply)
    child = subprocess.Popen(COMMAND, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert child.wait(100) == -signal.SIGKILL
    server.answer_by(reader)


def test_a_kill_between_two_parts_costs_one_call(
    long: Place, server: Server, invoke: Invoke
) -> None:
    """Parts that were answered are never asked about again; the one under way is."""
    kill_at(server, 2)
    kill_at(server, 3)  # the second part, the third, and the fourth in vain

    assert once(invoke).json["compacted"] == 1

    counted = asked_about(server)
    assert sorted(counted.values(), reverse=True)[:3] == [2, 2, 1]
    assert [number for part in counted for number in part] == list(range(long.stamp()["covers"]))


@pytest.mark.parametrize("kills", [pytest.param(60, marks=pytest.mark.soak)])
@pytest.mark.timeout(1000)
def test_a_kill_at_any_moment_costs_one_call_at_most(
    kills: int, long: Place, server: Server, invoke: Invoke
) -> None:
    """Of all the parts of a session there is only one that can be under way."""
    code, last = run_until(0)
    assert (code, long.stamp() is not None) == (0, True)
    parts = len(server.requests)
    assert parts > 3
    moments = random.Random(SEED)
    for _ in range(kills):
        subprocess.run(["rm", "-rf", str(long.folder / "state")], check=True)
        fill(long, chat(60))
        server.requests.clear()

        code, _ = run_until(moments.randrange(last // 3, last))

        if code != -signal.SIGKILL:
            continue
        once(invoke)
        assert long.stamp() is not None
        assert len(server.requests) <= parts + 1
        assert len(asked_about(server)) == parts


def test_parts_ahead_stay_while_a_session_goes_on(
    long: Place, server: Server, invoke: Invoke
) -> None:
    """Whoever speaks in between changes what is kept and what comes last, nothing before."""
    kill_at(server, 4)
    add(long, said("user", "one thing more " * 900), said("assistant", "noted " * 500))
    add(long, *chat(4))

    assert once(invoke).json["compacted"] == 1

    counted = asked_about(server)
    assert sorted(counted.values(), reverse=True)[:2] == [2, 1]
    assert list(counted.values())[:3] == [1, 1, 1]


def test_calls_that_run_out_are_made_in_the_next_hour(
    long: Place, server: Server, invoke: Invoke
) -> None:
    """The session is `limited`, not failed and not parked; its parts are known by then."""
    long.configure(llm=f"context_window = {WINDOW}", limits="calls_per_hour = 3")

    ran = once(invoke)

    assert (ran.code, ran.json["skipped"]) == (0, {"limited": 1})
    assert long.journal(LEDGER) == [("folded", 1, None)] * 3
    assert once(invoke).json["skipped"] == {"limited": 1}
    long.configure(llm=f"context_window = {WINDOW}", limits=LIMITS)
    assert once(invoke).json["compacted"] == 1
    assert set(asked_about(server).values()) == {1}
    check_chain(server.requests, long.stamp()["covers"])
    check_ledger(long, server)


def test_what_was_refused_before_the_calls_ran_out_is_counted(
    long: Place, server: Server, invoke: Invoke
) -> None:
    """A call that told us to make the parts shorter stands in the ledger too."""
    long.configure(llm=f"context_window = {WINDOW}", limits="calls_per_hour = 1")
    server.answer_by(Reader(WINDOW, factor=2.2))

    assert once(invoke).json["skipped"] == {"limited": 1}
    check_ledger(long, server)
    assert once(invoke).json["skipped"] == {"limited": 1}
    assert len(server.requests) == 1


def test_a_pass_that_is_over_goes_on_with_the_next_part(
    long: Place, server: Server, invoke: Invoke
) -> None:
    """The part under way is finished and kept; the session is `stopped` until the next pass."""
    limits = f'{LIMITS}\npass_deadline = "1s"'
    long.configure(llm=f"context_window = {WINDOW}", limits=limits, concurrency=1)
    reader = Reader(WINDOW)
    server.answer_by(lambda request: (Step.HOLD, *reader(request)))
    child = subprocess.Popen([*COMMAND, "--json"], stdout=subprocess.PIPE, text=True)
    server.wait_for(1)
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(1.2)
    server.release()
    out, _ = child.communicate(timeout=100)

    assert '"stopped": 1' in out
    assert long.journal(LEDGER) == [("folded", 1, None)]
    long.configure(llm=f"context_window = {WINDOW}", limits=LIMITS)
    assert once(invoke).json["compacted"] == 1
    assert set(asked_about(server).values()) == {1}
    check_ledger(long, server)


def test_parts_use_up_no_limit_of_their_session(
    long: Place, server: Server, invoke: Invoke
) -> None:
    """One call a day for the session is enough for all of them and the last."""
    long.configure(llm=f"context_window = {WINDOW}", limits=f"{LIMITS}\nper_session_per_day = 1")

    assert once(invoke).json["compacted"] == 1
    assert len(server.requests) > 3
    check_ledger(long, server)


def test_a_part_that_breaks_a_rule_is_asked_for_once_more(
    long: Place, server: Server, invoke: Invoke
) -> None:
    """With what was wrong; then it goes on as if nothing had been."""
    reader = Reader(WINDOW)
    reader.spoiled = {60: 1}
    server.answer_by(reader)

    assert once(invoke).json["compacted"] == 1

    again = [one for one in server.requests if "Your last answer was not usable" in one.user]
    assert [60 in read_in(one) for one in again] == [True]
    assert (2,) in long.journal("SELECT calls FROM ledger WHERE outcome = 'folded'")
    check_ledger(long, server)


def test_a_part_that_breaks_a_rule_twice_fails_alone(
    long: Place, server: Server, invoke: Invoke
) -> None:
    """The session is parked; at the next try the parts before are not paid for again."""
    reader = Reader(WINDOW)
    reader.spoiled = {60: 2}
    server.answer_by(reader)
    before = long.files()

    ran = once(invoke)

    row = ran.session(SHORT_KEY)
    assert (ran.code, row["outcome"], row["reason"]) == (3, "failed", "bad_summary")
    assert long.files() == before
    assert long.journal(LEDGER)[-1] == ("failed", 2, "bad_summary")
    check_ledger(long, server)
    assert once(invoke).json["skipped"] == {"parked": 1}
    first = len(server.requests)
    assert once(invoke, "--force").json["compacted"] == 1
    counted = asked_about(server)
    assert [count for part, count in counted.items() if 60 not in part] == [1] * (len(counted) - 1)
    assert 60 in read_in(server.requests[first])
    check_ledger(long, server)


@pytest.mark.parametrize(
    ("reply", "requests"), [(None, 2), (error(500), 1)], ids=["broken rules", "down"]
)
def test_a_digest_stands_in_for_the_rest(
    reply: Reply | None, requests: int, long: Place, server: Server, invoke: Invoke
) -> None:
    """It is told the notes so far; the endpoint is not asked for every part that is left."""
    usual = f"context_window = {WINDOW}\nretries = 0"
    long.configure(llm=usual, limits=LIMITS, on_failure="digest")
    reader = Reader(WINDOW)
    reader.spoiled = {60: 1000}
    server.answer_by(lambda request: reply if reply and 60 in read_in(request) else reader(request))

    ran = once(invoke)

    row = ran.session(SHORT_KEY)
    assert (ran.code, row["outcome"], row["engine"]) == (0, "compacted", "digest"), ran.out
    assert (long.stamp()["engine"], long.stamp()["model"]) == ("digest", None)
    assert sum(60 in read_in(one) for one in server.requests) == requests
    assert 60 in read_in(server.requests[-1])
    assert "heard " in long.entry()
    assert long.journal(LEDGER)[-1] == ("compacted", requests, None)
    check_ledger(long, server)


def test_a_key_that_is_refused_between_parts_ends_the_pass(
    long: Place, server: Server, invoke: Invoke
) -> None:
    """No digest stands in for that, and nothing is lost."""
    usual = f"context_window = {WINDOW}"
    long.configure(llm=usual, limits=LIMITS, on_failure="digest")
    reader = Reader(WINDOW)
    server.answer_by(lambda request: error(401) if 60 in read_in(request) else reader(request))

    ran = once(invoke)

    assert (ran.code, ran.session(SHORT_KEY)["reason"]) == (78, "auth")
    server.answer_by(reader)
    assert once(invoke).json["compacted"] == 1
    assert len(first_questions(server)) == len(asked_about(server)) + 1
    check_ledger(long, server)
