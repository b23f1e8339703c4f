"""What ends asking: limits, the circuit, the account; and what goes on in spite of a failure."""

from __future__ import annotations

import threading

import pytest

from compactor.errors import FailureKind
from tests.end_to_end.support import Invoke, Ran, read_header, save_header
from tests.endpoint.server import Reply, Server, Step, answer, error
from tests.endpoint.support import OTHERS, SHORT, SHORT_KEY, Place

SMALL = ("dGVsZWdyYW06YWlybGluZS0x", "dGVsZWdyYW06YWlybGluZS04")
MANY = (
    SHORT,
    *OTHERS,
    *(f"dGVsZWdyYW06YWlybGluZS{end}" for end in ("00", "01", "0w", "0xMA", "0xMQ", "0y")),
)
BAD = answer("The user wants to fly.")
GONE = error(404, code="model_not_found")
EMPTY = error(429, code="insufficient_quota")
OLD = error(400, "Unrecognized parameter: max_completion_tokens")


def once(invoke: Invoke, *more: str) -> Ran:
    """Make a pass."""
    return invoke("once", "--agent-stopped", "--json", *more)


@pytest.mark.parametrize(
    ("reply", "reason", "code", "remedy"),
    [
        (error(401), "auth", 78, "api_key_env"),
        (EMPTY, "quota", 69, "no more credit"),
        (GONE, "model_not_found", 78, "[llm] model"),
        (OLD, "parameter", 78, 'max_tokens_parameter = "max_tokens"'),
    ],
)
def test_a_fault_of_the_account_stops_the_pass(
    reply: Reply,
    reason: str,
    code: int,
    remedy: str,
    *,
    bare: Place,
    server: Server,
    invoke: Invoke,
) -> None:
    """One request, one clear message; the others are not parked, and the next pass tries again."""
    bare.add(*MANY)
    bare.configure(concurrency=1)
    server.play(reply)

    ran = once(invoke)

    assert ran.code == code
    assert len(server.requests) == 1
    assert [(row["outcome"], row["reason"]) for row in ran.json["sessions"]] == [("failed", reason)]
    assert ran.json["skipped"] == {"stopped": len(MANY) - 1}
    assert remedy in ran.err
    assert bare.journal("SELECT * FROM memory") == []
    server.play(answer())
    assert once(invoke).json["compacted"] == len(MANY)


def test_a_stop_is_heard_by_those_at_work(bare: Place, server: Server, invoke: Invoke) -> None:
    """Of four at once each fails with the reason; nobody begins another."""
    bare.add(*MANY)
    server.play(error(401))

    ran = once(invoke)

    assert 1 <= len(server.requests) <= 4
    assert {row["reason"] for row in ran.json["sessions"]} == {"auth"}
    assert ran.json["failed"] == len(server.requests)


@pytest.mark.parametrize("reply", [error(500), error(429), error(400)], ids=["500", "429", "400"])
def test_an_endpoint_that_keeps_failing_is_left_alone(
    reply: Reply, bare: Place, server: Server, invoke: Invoke
) -> None:
    """After three sessions in a row the rest wait for the next pass, when it closes again."""
    bare.add(*MANY)
    bare.configure(concurrency=1)
    server.play(reply)

    ran = once(invoke)

    assert (ran.code, ran.json["failed"]) == (3, 3)
    assert ran.json["skipped"] == {"stopped": len(MANY) - 3}
    server.play(answer())
    again = once(invoke)
    assert (again.code, again.json["compacted"]) == (0, len(MANY) - 3)
    assert again.json["skipped"] == {"parked": 3}


def test_failures_that_are_not_in_a_row_open_no_circuit(
    bare: Place, server: Server, invoke: Invoke
) -> None:
    """An answer in between shows that the endpoint is well."""
    bare.add(*MANY)
    bare.configure(concurrency=1, llm="retries = 0")
    two = (error(500), error(500), answer())
    server.play(*two * 3, answer())

    ran = once(invoke)

    assert (ran.json["failed"], ran.json["compacted"]) == (6, 4)


def test_a_session_is_asked_about_so_often_a_day(
    place: Place, server: Server, invoke: Invoke
) -> None:
    """Calls that were answered count, the second ones too; a force does not lift it."""
    place.configure(limits="per_session_per_day = 3")
    server.play(BAD)

    assert once(invoke).json["failed"] == 1
    assert once(invoke, "--force").json["failed"] == 1  # one call was left: no second question
    ran = once(invoke, "--force", "--all")

    assert ran.json["skipped"] == {"limited": 1}
    assert "per_session_per_day" in ran.session(SHORT_KEY)["detail"]
    assert len(server.requests) == 3


def test_an_outage_uses_up_no_limit_of_a_session(
    place: Place, server: Server, invoke: Invoke
) -> None:
    """It is due again as soon as its delay ends, however often nobody answered."""
    place.configure(limits="per_session_per_day = 1")
    server.play(error(503))
    for _ in range(3):
        assert once(invoke, "--force").json["failed"] == 1
    server.play(answer())

    assert once(invoke, "--force").json["compacted"] == 1


def test_so_many_calls_are_made_an_hour(bare: Place, server: Server, invoke: Invoke) -> None:
    """All count, also those of passes before and tries in vain; what is over waits."""
    bare.add(*MANY)
    bare.configure(concurrency=1, limits="calls_per_hour = 5")
    server.play(error(500), error(500), answer())

    ran = once(invoke, "--all")

    assert ran.json["compacted"] == 3
    assert ran.json["skipped"] == {"limited": len(MANY) - 3}
    assert "calls_per_hour" in next(
        row["detail"] for row in ran.json["sessions"] if row["reason"] == "limited"
    )
    assert len(server.requests) == 5
    assert once(invoke).json["compacted"] == 0
    assert len(server.requests) == 5


def test_a_pass_does_so_many_sessions(bare: Place, server: Server, invoke: Invoke) -> None:
    """The rest are `stopped`, and come next; those that are left alone anyway don't count."""
    bare.add(*MANY)
    bare.configure(limits="sessions_per_pass = 4")

    bare.add(*SMALL)

    assert once(invoke).json["skipped"] == {"stopped": len(MANY) - 4, "small": 2}
    assert len(server.requests) == 4
    assert once(invoke).json["compacted"] == 4


def test_a_pass_begins_nothing_after_its_deadline(
    bare: Place, server: Server, invoke: Invoke
) -> None:
    """What is under way is finished."""
    bare.add(*MANY)
    bare.configure(concurrency=1, limits='pass_deadline = "1s"')
    passing: list[Ran] = []
    with server.holding():
        worker = threading.Thread(target=lambda: passing.append(once(invoke)))
        worker.start()
        server.wait_for(1)
        worker.join(1.2)
    worker.join()

    assert passing[0].json["compacted"] == 1
    assert passing[0].json["skipped"] == {"stopped": len(MANY) - 1}


def test_the_channels_take_turns(bare: Place, server: Server, invoke: Invoke) -> None:
    """One busy channel starves nobody: the only session of another comes second."""
    bare.add(*MANY)
    path = bare.path(MANY[-1])
    header = read_header(path)
    save_header(path, header | {"key": "slack:C1"})
    path.rename(bare.path("c2xhY2s6QzE"))
    bare.configure(limits="sessions_per_pass = 2", concurrency=1)

    ran = once(invoke)

    keys = {row["key"].split(":")[0] for row in ran.json["sessions"]}
    assert keys == {"telegram", "slack"}


@pytest.mark.parametrize("concurrency", [1, 3, 8])
def test_so_many_are_asked_at_once(
    concurrency: int, bare: Place, server: Server, invoke: Invoke
) -> None:
    """The server holds that many requests, and no more arrive until it answers."""
    bare.add(*MANY)
    bare.configure(concurrency=concurrency)
    passing: list[Ran] = []
    with server.holding():
        worker = threading.Thread(target=lambda: passing.append(once(invoke)))
        worker.start()
        server.wait_for(concurrency)
        worker.join(0.3)
        assert len(server.requests) == concurrency
    worker.join()

    assert passing[0].json["compacted"] == len(MANY)


@pytest.mark.parametrize(
    ("reply", "requests"), [(error(500), 3), (BAD, 2), (answer(None, refusal="no"), 1)]
)
def test_a_digest_stands_in_if_the_operator_says_so(
    reply: Reply, requests: int, place: Place, server: Server, invoke: Invoke
) -> None:
    """The stamp and the report say that it was the digest; the calls in vain are counted."""
    place.configure(on_failure="digest")
    server.play(reply)

    ran = once(invoke)

    row = ran.session(SHORT_KEY)
    assert (ran.code, row["outcome"], row["engine"]) == (0, "compacted", "digest")
    assert row["model"] is None
    stamp = place.stamp()
    assert (stamp["engine"], stamp["model"]) == ("digest", None)
    assert "## " in place.entry()
    assert len(server.requests) == requests
    assert place.journal("SELECT outcome, calls FROM ledger") == [("compacted", requests)]


def test_an_endpoint_that_is_down_is_not_asked_for_every_digest(
    bare: Place, server: Server, invoke: Invoke
) -> None:
    """After three failures the digest stands in at once."""
    bare.add(*MANY)
    bare.configure(concurrency=1, on_failure="digest", llm="retries = 0")
    server.play(error(500))

    ran = once(invoke)

    assert ran.json["compacted"] == len(MANY)
    assert len(server.requests) == 3


def test_a_digest_does_not_stand_in_for_a_key(place: Place, server: Server, invoke: Invoke) -> None:
    """A fault of the account is told, not covered up."""
    place.configure(on_failure="digest")
    server.play(error(401))

    ran = once(invoke)

    assert (ran.code, ran.session(SHORT_KEY)["reason"]) == (78, FailureKind.AUTH)
    assert place.stamp() is None


def test_calls_that_hang_are_given_up_a_grace_period_after_the_deadline(
    bare: Place, server: Server, invoke: Invoke
) -> None:
    """The pass ends long before the calls would; of them nothing is left, and the next one asks."""
    bare.add(*MANY[:4])
    bare.configure(timeout="10m", limits='pass_deadline = "1s"\ngrace = "0.2s"')
    before = bare.files()
    server.play((Step.HANG,))

    ran = once(invoke)

    assert ran.code == 0
    assert ran.json["skipped"] == {"stopped": 4}
    assert bare.files() == before
    assert bare.journal("SELECT count(*) FROM ledger") == [(0,)]
    server.play(answer())
    bare.configure()
    assert once(invoke).json["compacted"] == 4
