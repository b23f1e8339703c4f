"""Whatever an endpoint does: the session stays as it was, the reason is told, and it ends."""

from __future__ import annotations

import time

import pytest

from compactor.errors import FailureKind
from tests.end_to_end.support import Invoke
from tests.endpoint.faults import FAULTS, Fault, Next
from tests.endpoint.server import Server, answer, error
from tests.endpoint.support import SHORT_KEY, Place

DEADLINE = 0.4  # seconds for one call, where only the deadline ends it
AMPLE = 8  # what a busy machine may take longer
BAD = {FailureKind.BAD_SUMMARY}


def test_the_table_is_long_enough() -> None:
    """At least forty faults, each by a name of its own, and every kind is met."""
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 40
    ours = {FailureKind.STORE, FailureKind.INTERNAL, FailureKind.PARAMETER}
    assert {fault.reason for fault in FAULTS} == set(FailureKind) - ours


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_ends_typed_and_changes_nothing(
    fault: Fault, place: Place, server: Server, invoke: Invoke
) -> None:
    """Session bytes, reason, requests, time, exit code, ledger, and the next pass."""
    place.configure(timeout=f"{DEADLINE}s" if fault.slow else "20s")
    server.play(fault.reply)
    before = place.files()

    begin = time.monotonic()
    ran = invoke("once", "--agent-stopped", "--json")
    took = time.monotonic() - begin

    row = ran.session(SHORT_KEY)
    assert (row["outcome"], row["reason"]) == ("failed", fault.reason)
    assert row["detail"], "no fault is silent"
    assert f"reason={fault.reason}" in ran.err
    assert ran.code == fault.exit_code
    assert len(server.requests) == fault.requests
    assert took < AMPLE * (1 + (fault.requests * DEADLINE if fault.slow else 0))
    assert place.files() == before
    assert place.journal("SELECT reason, calls FROM ledger") == [(fault.reason, fault.requests)]
    assert place.journal("SELECT * FROM answer") == []

    server.play(answer())
    again = invoke("once", "--agent-stopped", "--json")

    asked = len(server.requests) - fault.requests
    if fault.then is Next.PARKED:
        assert (again.json["skipped"], asked) == ({"parked": 1}, 0)
        assert place.files() == before
    else:
        assert (again.json["compacted"], asked) == (1, 1)


@pytest.mark.parametrize(
    "fault",
    [fault for fault in FAULTS if fault.requests > 1 and not fault.slow],
    ids=lambda fault: fault.name,
)
def test_a_fault_that_passes_costs_one_request_more(
    fault: Fault, place: Place, server: Server, invoke: Invoke
) -> None:
    """What is tried again succeeds once the endpoint is well, and both calls are counted."""
    server.play(fault.reply, answer())

    ran = invoke("once", "--agent-stopped", "--json")

    assert (ran.code, ran.json["compacted"]) == (0, 1)
    assert len(server.requests) == 2
    assert place.journal("SELECT outcome, calls FROM ledger") == [("compacted", 2)]


def test_what_an_endpoint_asks_for_is_waited_for(
    place: Place, server: Server, invoke: Invoke
) -> None:
    """A wait that is too long to sit through parks the session for as long."""
    server.play(error(429, RETRY_AFTER="43200"))

    invoke("once", "--agent-stopped", "--json")

    [(hours,)] = place.journal(
        "SELECT (julianday(parked_until) - julianday((SELECT at FROM ledger))) * 24 FROM memory"
    )
    assert 11.9 < hours < 12.1


def test_a_short_wait_is_sat_through(place: Place, server: Server, invoke: Invoke) -> None:
    """The second request comes no earlier than the endpoint asked for."""
    server.play(error(429, RETRY_AFTER_MS="600"), answer())

    begin = time.monotonic()
    ran = invoke("once", "--agent-stopped", "--json")

    assert ran.json["compacted"] == 1
    assert time.monotonic() - begin > 0.6


def test_a_refused_connection_is_told(place: Place, server: Server, invoke: Invoke) -> None:
    """Nobody listens: three tries, and the endpoint can't be reached."""
    place.configure(url="http://127.0.0.1:1/v1")
    before = place.files()

    ran = invoke("once", "--agent-stopped", "--json")

    row = ran.session(SHORT_KEY)
    assert (ran.code, row["reason"]) == (3, "unavailable")
    assert "can't be reached" in row["detail"]
    assert place.files() == before
    assert place.journal("SELECT calls FROM ledger") == [(3,)]


def test_delays_grow_from_pass_to_pass(place: Place, server: Server, invoke: Invoke) -> None:
    """Each failure in a row parks the session for longer, and a success ends that."""
    server.play(error(500))
    waits = []
    for _ in range(3):
        invoke("once", "--agent-stopped", "--force", "--json")
        [(wait,)] = place.journal(
            "SELECT julianday(parked_until) - julianday((SELECT max(at) FROM ledger)) FROM memory"
        )
        waits.append(wait)
    assert waits == sorted(set(waits))
    server.play(answer())

    assert invoke("once", "--agent-stopped", "--force", "--json").json["compacted"] == 1

    assert place.journal("SELECT parked_until, failures FROM memory") == [(None, 0)]


def test_why_a_session_waits_is_told_as_long_as_it_does(
    place: Place, server: Server, invoke: Invoke
) -> None:
    """Who looks later must not have to guess."""
    server.play(answer("The user flies."))
    invoke("once", "--agent-stopped")

    told = invoke("scan", "--json", "--all").session(SHORT_KEY)

    assert told["reason"] == "parked"
    problem = "none of the headings has anything under it"
    assert told["detail"].startswith(f"bad_summary: {problem}; next try at ")
