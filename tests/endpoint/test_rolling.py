"""Ten compactions in a row over one conversation that grows, with models of three kinds."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from compactor.entry import Heading, parse_sections
from compactor.tokens import TokenCounter
from tests.end_to_end.support import Invoke, add_messages
from tests.endpoint.material import parts_of, row
from tests.endpoint.server import Reply, Request, Server, answer
from tests.endpoint.support import Place

STAGES = 10
CAP = 1_200
# What the user says: a fact holds until it is corrected, a task is open until it is done.
_FACT = re.compile(r"(The .+?) is now ([A-Z]\d+-\w+)\.")
_TASK = re.compile(r"Please (.+?) \((OPS-\d+)\)\.")
_DONE = re.compile(r"Thanks, (OPS-\d+) is done\.")
_OPEN_LINE = re.compile(r"- (.+) \((OPS-\d+)\)")
_FACT_LINE = re.compile(r"- (.+): (\S+)")
CHORES = ("water the flowers", "call the plumber", "print the menu", "feed the cat")
THINGS = ("locker code", "gate", "seat", "room", "voucher", "container", "shelf", "badge")


def stage(number: int) -> list[str]:
    """What is said in one stage: a new fact, a correction, a task, and one that is done."""
    said = [
        f"The {THINGS[number % len(THINGS)]} is now {chr(65 + number)}{number}1-x{number}.",
        f"Please {CHORES[number % len(CHORES)]} (OPS-{100 + number}).",
    ]
    if number:
        said.append(f"Thanks, OPS-{99 + number} is done.")
    return said


def rows_of(number: int) -> list[dict[str, object]]:
    """The stage among talk that says nothing."""
    talk = "well and then we went on talking about nothing at all for quite a while " * 8
    texts = [text for said in stage(number) for text in (said, talk)] + [talk] * 8
    at = number * 100
    return [
        row(role, text if role == "user" else "I see, " + talk, at + n)
        for n, text in enumerate(texts)
        for role in ("user", "assistant")
    ]


@dataclass
class Notes:
    """What a model that behaves keeps: facts by what they are of, tasks by their number."""

    facts: dict[str, str] = field(default_factory=dict)
    tasks: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, request: Request) -> Notes:
        """Read the notes so far, and revise them by what is new."""
        parts = parts_of(request)
        sections = parse_sections(parts.get("PREVIOUS NOTES", ""))
        notes = cls(
            dict(_FACT_LINE.findall(sections.get(Heading.FACTS, ""))),
            {task: what for what, task in _OPEN_LINE.findall(sections.get(Heading.OPEN, ""))},
        )
        for part in ("OLDER MESSAGES", "MESSAGES THAT STAY"):
            text = parts.get(part, "")
            notes.facts |= dict(_FACT.findall(text))
            notes.tasks |= {task: what for what, task in _TASK.findall(text)}
            for task in _DONE.findall(text):
                notes.tasks.pop(task, None)
        return notes

    @property
    def lines(self) -> dict[Heading, list[str]]:
        """The lines under their headings."""
        return {
            Heading.GOAL: ["- Get everything ready"],
            Heading.OPEN: [f"- {what} ({task})" for task, what in self.tasks.items()],
            Heading.FACTS: [f"- {what}: {value}" for what, value in self.facts.items()],
        }


def say(lines: dict[Heading, list[str]]) -> Reply:
    """The lines as an answer."""
    told = {heading: under for heading, under in lines.items() if under}
    return answer(
        "\n\n".join("\n".join([f"## {heading}", *under]) for heading, under in told.items())
    )


def behave(request: Request) -> Reply:
    """Revise the notes as they should be."""
    return say(Notes.read(request).lines)


def repeat(request: Request) -> Reply:
    """Take over every line that ever was, and add what is new."""
    lines = Notes.read(request).lines
    before = parse_sections(parts_of(request).get("PREVIOUS NOTES", ""))
    for heading, text in before.items():
        kept = [line for line in text.split("\n") if line]
        lines[heading] = [*kept, *(line for line in lines.get(heading, []) if line not in kept)]
    return say(lines)


def forget(seed: int) -> Callable[[Request], Reply]:
    """Behave, and drop one line at random each time."""
    chance = random.Random(seed)

    def reply(request: Request) -> Reply:
        lines = Notes.read(request).lines
        heading = chance.choice([heading for heading, under in lines.items() if under])
        lines[heading].remove(chance.choice(lines[heading]))
        return say(lines)

    return reply


def holding() -> dict[str, str]:
    """The facts that hold in the end, by what they are of."""
    said = "\n".join(text for number in range(STAGES) for text in stage(number))
    return dict(_FACT.findall(said))


@pytest.mark.parametrize(
    "model", [behave, repeat, *map(forget, range(4))], ids=["behaves", "repeats", *"0123"]
)
def test_ten_compactions_lose_no_fact_and_revive_no_task(
    model: Callable[[Request], Reply], bare: Place, server: Server, invoke: Invoke
) -> None:
    """The entry stays under its cap; corrections win, save over one that repeats everything."""
    header = {"_type": "metadata", "key": "telegram:1", "metadata": {}, "last_consolidated": 0}
    bare.path("dGVsZWdyYW06MQ").write_bytes(b"")
    add_messages(bare.path("dGVsZWdyYW06MQ"), header | {"updated_at": "2026-03-02T10:00:00"})
    bare.configure(limits="per_session_per_day = 100")
    server.answer_by(model)
    stem = "dGVsZWdyYW06MQ"
    for number in range(STAGES):
        add_messages(bare.path(stem), *rows_of(number))
        ran = invoke("once", "--agent-stopped", "--force", "--json")
        assert ran.json["compacted"] == 1, ran.out
        assert TokenCounter().count(bare.entry(stem)) <= CAP

    assert bare.stamp(stem)["generation"] == STAGES
    sections = parse_sections(bare.entry(stem))
    facts = sections[Heading.FACTS]
    assert all(value in facts for value in holding().values()), facts
    if model is behave:
        assert dict(_FACT_LINE.findall(facts)) == holding()
    tasks = _OPEN_LINE.findall(sections.get(Heading.OPEN, ""))
    if model is not repeat:
        assert {task for _, task in tasks} <= {f"OPS-{99 + STAGES}"}, "the others are done"
