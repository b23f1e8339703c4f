"""What happens to a session while a model is thinking about it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from tests.end_to_end.support import Invoke, Ran, add_messages, filler, message_lines
from tests.endpoint.material import well_informed
from tests.endpoint.server import Server, answer
from tests.endpoint.support import SHORT_KEY, Place

OLD = "2026-03-01T12:30:00"


def meanwhile(server: Server, invoke: Invoke, action: Callable[[], object]) -> Ran:
    """Make a pass, and do something while the server thinks."""
    passing: list[Ran] = []
    with server.holding():
        worker = threading.Thread(
            target=lambda: passing.append(invoke("once", "--agent-stopped", "--json", "--all"))
        )
        worker.start()
        server.wait_for(1)
        action()
    worker.join()
    return passing[0]


def set_idle(place: Place, lines: str) -> None:
    """Say when a session is idle."""
    config = place.folder / "config.toml"
    config.write_text(config.read_text().replace('ttl = "1s"', lines))


def says(role: str, content: str, at: str) -> dict[str, str]:
    """A message."""
    return {"role": role, "content": content, "timestamp": at}


def now() -> str:
    """This moment, as an agent in UTC writes it."""
    moment = datetime.now(UTC)  # noqa: TID251 - what a user says now
    return (moment + timedelta(seconds=2)).replace(tzinfo=None).isoformat()


def test_a_message_that_arrives_meanwhile_is_kept(
    place: Place, server: Server, invoke: Invoke
) -> None:
    """It is there afterwards, whole, behind the cursor and in order."""
    lines = place.lines()
    late = [says("user", "and one more thing", OLD), says("assistant", "yes?", OLD)]

    ran = meanwhile(server, invoke, lambda: add_messages(place.path(), *late))

    assert ran.json["compacted"] == 1
    after = place.lines()
    assert after[: len(lines) - 1] == lines[:-1]
    assert [b"and one more thing" in line for line in after[-3:-1]] == [True, False]
    assert place.stamp()["covers"] < len(after) - 3
    assert b"and one more thing" not in server.requests[0].body


def test_a_session_that_wakes_up_is_left_alone(
    place: Place, server: Server, invoke: Invoke
) -> None:
    """The user is back: no byte changes, and the paid answer stays in the journal."""
    set_idle(place, 'ttl = "1h"')

    ran = meanwhile(
        server, invoke, lambda: add_messages(place.path(), says("user", "I am back", now()))
    )

    row = ran.session(SHORT_KEY)
    assert (ran.code, row["outcome"], row["reason"]) == (0, "conflict", "active")
    assert b"I am back" in place.path().read_bytes()
    assert place.stamp() is None
    assert len(place.journal("SELECT * FROM answer")) == 1
    assert place.journal("SELECT outcome, calls FROM ledger") == [("conflict", 1)]
    assert place.journal("SELECT parked_until FROM memory") == [(None,)]


def test_a_paid_answer_is_used_when_the_session_is_idle_again(
    place: Place, server: Server, invoke: Invoke
) -> None:
    """An agent that only looked in (a turn that ended without a word) costs no second call."""
    set_idle(place, 'ttl = "1s"\nstuck_after = "9000d"')
    checkpoint = place.sessions / f"{place.path().stem}.checkpoint.json"

    ran = meanwhile(server, invoke, lambda: checkpoint.write_text("{}"))

    assert ran.session(SHORT_KEY)["outcome"] == "conflict"
    checkpoint.unlink()
    again = invoke("once", "--agent-stopped", "--json")
    assert again.json["compacted"] == 1
    assert len(server.requests) == 1
    assert place.journal("SELECT * FROM answer") == []
    assert place.journal("SELECT outcome, calls FROM ledger") == [("conflict", 1), ("compacted", 0)]


def test_a_paid_answer_is_used_though_the_conversation_went_on(
    place: Place, server: Server, invoke: Invoke
) -> None:
    """The user came back, said something and left."""
    set_idle(place, 'ttl = "1h"')
    meanwhile(server, invoke, lambda: add_messages(place.path(), says("user", "wait", now())))
    add_messages(place.path(), says("assistant", "I wait", now()))

    ran = invoke("once", "--agent-stopped", "--json", "--force")

    assert ran.json["compacted"] == 1
    assert len(server.requests) == 1


def test_a_session_that_is_cleared_meanwhile_stays_cleared(
    place: Place, server: Server, invoke: Invoke
) -> None:
    """`/new` wins over the model, and what was said before is in no request any more."""
    header = place.path().read_bytes().split(b"\n", 1)[0]

    ran = meanwhile(server, invoke, lambda: place.path().write_bytes(header + b"\n"))

    assert ran.session(SHORT_KEY)["outcome"] == "conflict"
    assert message_lines(place.path().read_bytes()) == [b""]
    invoke("once", "--agent-stopped")
    assert len(server.requests) == 1


def test_a_deleted_session_leaves_no_answer_behind(
    place: Place, server: Server, invoke: Invoke
) -> None:
    """It stays deleted, and what was written about it goes at the next pass."""
    ran = meanwhile(server, invoke, lambda: place.path().unlink())

    assert ran.json["compacted"] == 0
    assert not place.path().exists()
    invoke("once", "--agent-stopped")
    assert place.journal("SELECT * FROM answer") == []
    assert place.journal("SELECT * FROM memory") == []


def test_a_message_that_changes_what_is_covered_is_no_conflict_of_ours(
    place: Place, server: Server, invoke: Invoke
) -> None:
    """The agent rewrote its history: it stands, and the answer is of no use any more."""
    server.play(answer())
    rewritten = place.path().read_bytes().replace(b"the quickest one", b"the cheapest one", 1)

    ran = meanwhile(server, invoke, lambda: place.path().write_bytes(rewritten))

    assert ran.session(SHORT_KEY)["outcome"] == "conflict"
    assert place.path().read_bytes() == rewritten
    server.answer_by(well_informed)
    add_messages(place.path(), *filler(4, "2026-03-02", "later"))
    ran = invoke("once", "--agent-stopped", "--json")
    assert ran.json["compacted"] == 1, ran
    assert len(server.requests) == 2
