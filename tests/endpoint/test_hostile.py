"""Transcripts that attack: they stay between their marks, and a model that obeys does no harm."""

from __future__ import annotations

import json
import re

import pytest

from compactor.entry import FRAME, Heading
from compactor.refusals import Refusal, find_fault
from tests.end_to_end.support import Invoke, Ran, add_messages, read_header, save_header
from tests.endpoint.attacks import CANARY, LANDS, LEAK, Hostile
from tests.endpoint.hostile import HOSTILE, ROWS
from tests.endpoint.material import PARTS, parts_of, turns
from tests.endpoint.server import Reply, Request, Server, answer
from tests.endpoint.support import SHORT_KEY, Place

NAME = r'"[^"\[\]]*"'
AT = rf"\d{{4}}-\d\d-\d\dT[\d:.]+|{NAME}"
LABEL = re.compile(
    rf"\[(?:user|agent|tool|system)(?: {NAME}(?: \({NAME}(?:, {NAME})*\))?)?(?:, (?:{AT}))?"
    rf"(?:, from {NAME})?(?:, begun by a timer or a trigger)?(?:, result of a subagent)?"
    r"(?:, sent on the agent's own account)?\]"
)
EVENT = re.compile(r"calls [^\[\]]*?\(.*|\[attached: [^\[\]]*\]")
BY_NAME = pytest.mark.parametrize("hostile", ROWS, ids=[row.name for row in ROWS])


def attack(hostile: Hostile, place: Place, server: Server, invoke: Invoke) -> Ran:
    """Put a hostile transcript in place and compact it with a model that obeys."""

    def obey(request: Request) -> Reply:
        text = hostile.answer
        return answer(text if isinstance(text, str) else text(request))

    server.answer_by(obey)
    add_messages(place.path(), *hostile.rows, *turns(4, "later"))
    if hostile.previous is not None:
        header = read_header(place.path())
        header["metadata"]["_last_summary"] = {"text": hostile.previous, "last_active": ""}
        save_header(place.path(), header)
    return invoke("once", "--agent-stopped", "--json")


def outdented(parts: dict[str, str]) -> tuple[list[str], list[str]]:
    """The lines of messages that are not indented: labels, and others."""
    lines = "\n".join(text for name, text in parts.items() if "MESSAGES" in name).split("\n")
    ours = [line for line in lines if line and not line.startswith("  ")]
    labels = [line for line in ours if LABEL.fullmatch(line)]
    return labels, [line for line in ours if line not in labels]


def test_there_are_hostile_transcripts_of_every_kind() -> None:
    """Six kinds, each form of a refusal among them, and what no form can tell."""
    assert len(ROWS) >= 40
    assert all(len(rows) >= 4 for rows in HOSTILE.values())
    assert len({row.name for row in ROWS}) == len(ROWS)
    assert {row.outcome for row in ROWS} == {*Refusal, LEAK, LANDS}


@BY_NAME
def test_nothing_hostile_leaves_its_part_or_passes_for_a_label(
    hostile: Hostile, place: Place, server: Server, invoke: Invoke
) -> None:
    """Around the parts there stands what stands there always; a message has one label, ours."""
    attack(hostile, place, server, invoke)

    request = server.requests[0]
    parts = parts_of(request)
    earlier = ["PREVIOUS NOTES"] * (hostile.previous is not None)
    assert list(parts) == [*earlier, "OLDER MESSAGES", "MESSAGES THAT STAY"]
    assert CANARY in parts["OLDER MESSAGES" if hostile.previous is None else "PREVIOUS NOTES"]
    assert PARTS.sub("", request.user).split("\n\n") == [""] * len(parts) + ["Write the notes now."]
    mark = PARTS.findall(request.user)[0][1]
    assert request.user.count(mark) == 2 * len(parts)
    assert CANARY not in request.system

    labels, others = outdented(parts)
    rows = [json.loads(line) for line in place.lines() if line]
    assert len(labels) == sum(bool(row["content"] or row.get("tool_calls")) for row in rows)
    assert [line for line in others if not EVENT.fullmatch(line)] == []


@BY_NAME
def test_a_model_that_obeys_is_refused_or_lands_as_reference(
    hostile: Hostile, place: Place, server: Server, invoke: Invoke
) -> None:
    """Which of the two the table says; what is refused is asked for once more, and told why."""
    ran = attack(hostile, place, server, invoke)

    if hostile.outcome is not LANDS:
        assert len(server.requests) == 2
        assert f"Your last answer was not usable: {hostile.outcome}." in server.requests[1].user
    if hostile.outcome is not LANDS and not hostile.once:
        told = ran.session(SHORT_KEY)
        assert (told["outcome"], told["reason"]) == ("failed", "bad_summary")
        assert told["detail"] == hostile.outcome
        assert place.stamp() is None
        assert read_header(place.path())["metadata"].get("_last_summary", {}).get("text") == (
            hostile.previous
        )
        return
    assert ran.session(SHORT_KEY)["outcome"] == "compacted", ran.out
    entry = place.entry()
    assert entry.startswith(f"{FRAME}\n\n## ")
    assert entry.count(FRAME) == 1
    headings = re.findall(r"(?m)^## (.*)$", entry)
    assert set(headings) <= set(Heading)


@pytest.mark.parametrize(
    "hostile", [row for row in ROWS if row.outcome is not LANDS and not row.once][::3]
)
def test_a_digest_of_a_hostile_transcript_lands(
    hostile: Hostile, place: Place, server: Server, invoke: Invoke
) -> None:
    """A session that attacks its summarizer is compacted all the same, if the operator says so."""
    place.configure(on_failure="digest")

    ran = attack(hostile, place, server, invoke)

    assert ran.session(SHORT_KEY)["engine"] == "digest", ran.out
    assert place.entry().startswith(f"{FRAME}\n\n## ")
    assert find_fault(place.entry().removeprefix(FRAME).strip()) is None
