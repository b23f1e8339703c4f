"""What a model leaves out of its notes is asked for once, and then appended."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from compactor.audit import find_missing, select_wanted
from compactor.entry import Heading, parse_sections
from compactor.tokens import TokenCounter
from session.transcript import Transcript
from tests.end_to_end.support import SAMPLES, Invoke, add_messages
from tests.endpoint.material import parts_of, turns
from tests.endpoint.server import GOOD, Reply, Request, Server, answer
from tests.endpoint.support import SHORT, Place

STEMS = ("Y2xpOnBpLWNvZGluZw", "d2hhdHNhcHA6YWlybGluZS1tb250aA", SHORT)
CAP = 1_200


def put_whole(place: Place, invoke: Invoke, stem: str = SHORT) -> tuple[str, ...]:
    """Put a real session in place; returns what notes on what will be covered should name."""
    shutil.copy2(SAMPLES / f"{stem}.jsonl", place.sessions)
    place.configure(llm="context_window = 900000")
    messages = Transcript.parse(place.path(stem).read_bytes()).messages
    return select_wanted(messages[: invoke("scan", "--json").session(place.key(stem))["covers"]])


def naming(*names: str) -> Reply:
    """Notes that name these."""
    return answer("\n".join([GOOD, *(f"- {name}" for name in names)]))


@pytest.mark.parametrize("stem", STEMS)
def test_every_second_identifier_that_was_left_out_is_in_the_entry(
    stem: str, bare: Place, server: Server, invoke: Invoke
) -> None:
    """The figure says how many; the entry stays under its cap, the list under its own."""
    wanted = put_whole(bare, invoke, stem)
    assert len(wanted) >= 12
    server.play(naming(*wanted[::2]))

    ran = invoke("once", "--agent-stopped", "--json")

    row = ran.session(bare.key(stem))
    assert row["outcome"] == "compacted", row
    assert len(server.requests) == 2
    asked = parts_of(server.requests[1])["LEFT OUT OF YOUR LAST NOTES"].split("\n")
    left_out = find_missing(wanted, "\n".join(wanted[::2]))
    assert asked == list(left_out)
    entry = bare.entry(stem)
    assert find_missing(wanted, entry) == ()
    named = len(wanted) - len(left_out)
    assert row["audit"] == {"wanted": len(wanted), "found": named, "appended": len(left_out)}
    counter = TokenCounter()
    assert counter.count(entry) <= CAP
    listed = [line for line in entry.split("\n") if line.startswith("- `")]
    assert len(listed) == len(left_out)
    assert counter.count("\n".join(listed)) <= CAP / 3


def test_a_model_that_names_them_when_it_is_asked_has_nothing_appended(
    bare: Place, server: Server, invoke: Invoke
) -> None:
    """The second answer stands, and is the one that the journal had."""
    wanted = put_whole(bare, invoke)
    server.play(naming(*wanted[::2]), naming(*wanted))

    row = invoke("once", "--agent-stopped", "--json").session(bare.key())

    assert row["audit"] == {"wanted": len(wanted), "found": len(wanted), "appended": 0}
    assert all(f"- {name}" in bare.entry() for name in wanted)


@pytest.mark.parametrize("second", ["worse", "refused", "broken"])
def test_a_second_answer_that_is_no_better_does_no_harm(
    second: str, bare: Place, server: Server, invoke: Invoke
) -> None:
    """The first one stands, with what it left out."""
    wanted = put_whole(bare, invoke)
    worse = {
        "worse": naming(*wanted[:4]),
        "refused": answer("I can't do that."),
        "broken": (b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n",),
    }
    server.play(naming(*wanted[::2]), worse[second])

    row = invoke("once", "--agent-stopped", "--json").session(bare.key())

    assert row["outcome"] == "compacted"
    assert row["audit"]["found"] == len(wanted) // 2
    assert find_missing(wanted, bare.entry()) == ()


def test_for_a_few_nobody_pays_a_second_time(bare: Place, server: Server, invoke: Invoke) -> None:
    """Less than a fifth is appended at once."""
    wanted = put_whole(bare, invoke)
    server.play(naming(*wanted[4:]))

    row = invoke("once", "--agent-stopped", "--json").session(bare.key())

    assert len(server.requests) == 1
    assert row["audit"] == {"wanted": 40, "found": 36, "appended": 4}
    facts = parse_sections(bare.entry())[Heading.FACTS]
    assert all(f"- `{name}`" in facts for name in wanted[:4])


def test_where_no_call_is_left_what_is_missing_is_appended_at_once(
    bare: Place, server: Server, invoke: Invoke
) -> None:
    """A good answer is not thrown away for a limit."""
    wanted = put_whole(bare, invoke)
    bare.configure(limits="per_session_per_day = 1")
    server.play(naming(*wanted[::2]))

    row = invoke("once", "--agent-stopped", "--json").session(bare.key())

    assert len(server.requests) == 1
    assert row["audit"] == {"wanted": 40, "found": 20, "appended": 20}


def test_notes_that_name_next_to_nothing_are_refused_once(
    bare: Place, server: Server, invoke: Invoke
) -> None:
    """What they are about is hardly this conversation; if they come again, the list says it."""
    wanted = put_whole(bare, invoke)

    row = invoke("once", "--agent-stopped", "--json").session(bare.key())

    assert len(server.requests) == 2
    assert "it names 0 of the 40 identifiers that matter" in server.requests[1].user
    assert "LEFT OUT OF YOUR LAST NOTES" in parts_of(server.requests[1])
    assert (row["outcome"], row["audit"]["found"]) == ("compacted", 0)
    assert find_missing(wanted, bare.entry()) == ()


def test_constraints_do_not_vanish_without_a_question(
    bare: Place, server: Server, invoke: Invoke
) -> None:
    """Asked once whether that is meant; a second answer may not lose those of the first either."""
    bare.add(SHORT)
    rules = "## Decisions and constraints\n- Never deploy on Fridays"
    server.play(answer(f"{GOOD}\n\n{rules}"))
    invoke("once", "--agent-stopped")
    add_messages(bare.path(), *turns(24, "well"))
    server.play(answer())

    invoke("once", "--agent-stopped")

    assert "what stood under 'Decisions and constraints'" in server.requests[-1].user
    assert "Fridays" not in bare.entry(), "it was asked, and meant it"


def test_the_figure_is_kept_with_what_was_paid(bare: Place, server: Server, invoke: Invoke) -> None:
    """In the ledger, and shown with the entry."""
    wanted = put_whole(bare, invoke)
    server.answer_by(lambda request: _every_second(request, wanted))

    invoke("once", "--agent-stopped")

    assert bare.journal("SELECT calls, audit FROM ledger") == [
        (2, '{"wanted": 40, "found": 20, "appended": 20}')
    ]
    shown: dict[str, Any] = invoke("show", bare.key(), "--json").json
    assert shown["audit"] == {"wanted": 40, "found": 20, "appended": 20}
    assert shown["cost"]["calls"] == 2
    assert "audit: 20 of 40 identifiers in the text, 20 appended" in invoke("show", bare.key()).out


def _every_second(_: Request, wanted: tuple[str, ...]) -> Reply:
    return naming(*wanted[::2])


def test_names_do_not_outweigh_constraints(bare: Place, server: Server, invoke: Invoke) -> None:
    """A second answer that names everything and has lost what was forbidden is not the better."""
    wanted = put_whole(bare, invoke)
    rules = "## Decisions and constraints\n- She forbids transfers\n\n## Exact facts"
    first = "\n".join(
        [GOOD.replace("## Exact facts", rules), *(f"- {name}" for name in wanted[::2])]
    )
    server.play(answer(first), naming(*wanted))

    row = invoke("once", "--agent-stopped", "--json").session(bare.key())

    assert len(server.requests) == 2
    assert "She forbids transfers" in bare.entry()
    assert row["audit"]["found"] < len(wanted)
    assert find_missing(wanted, bare.entry()) == ()
