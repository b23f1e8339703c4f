"""Conversations in any language: what is asked, what is refused, and that nothing is cut apart."""

from __future__ import annotations

import json
import tomllib
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from compactor.identifiers.find import find_identifiers
from compactor.tokens import load_encoding
from tests.end_to_end.support import Invoke, Ran
from tests.endpoint.material import PARTS, parts_of, row, turns
from tests.endpoint.server import Server, answer
from tests.endpoint.support import SHORT, SHORT_KEY, Place

SPOKEN = tomllib.loads((Path(__file__).parent / "spoken.toml").read_text("utf-8"))
FOREIGN = [name for name in SPOKEN if name != "german"]  # whoever doesn't write in Latin script
ENGLISH = """\
## Goal
- The user wants the agent to carry on with what was begun, and to be told how it comes out

## Open
- Somebody has not answered yet, and the user will come back in the evening to ask about it
"""
JOINER = "\u200d"
FAMILY = "👩🏽‍👩🏻‍👧🏿‍👦🏾"
CLUSTERS = {
    "joined": FAMILY + "👨‍❤️‍💋‍👨",
    "accents": "e\u0301o\u0308u\u0302\u0323",
    "syllables": "क्षिश्री\u1112\u1161\u11ab",
    "vowels": "مُحَمَّدٌ",
    "flags": "🇩🇪🇯🇵🇨🇳国",
    "kanji": "葛\U000e0100飾か\u3099",
}


def put(place: Place, *rows: dict[str, Any]) -> None:
    """Have the session hold these rows and nothing else."""
    header = place.path().read_bytes().split(b"\n", 1)[0]
    written = [json.dumps(one, ensure_ascii=False).encode() for one in rows]
    place.path().write_bytes(b"\n".join([header, *written, b""]))


def talk(name: str) -> list[dict[str, Any]]:
    """A whole conversation."""
    said = [text for turn in SPOKEN[name]["turns"] for text in turn]
    return [row(("user", "assistant")[at % 2], text, at) for at, text in enumerate(said)]


def informed(notes: str, about: str) -> str:
    """Notes that name all that the conversation does, whatever they say of it."""
    of_all = dict.fromkeys(one.text for one in find_identifiers(about))
    named = "\n".join(f"- {name}" for name in of_all)
    return f"{notes}\n## Exact facts\n{named}"


def english(name: str) -> str:
    """Notes on a conversation that are good but for their language."""
    return informed(ENGLISH, "\n".join(one["content"] for one in talk(name)))


def compact(place: Place, invoke: Invoke, name: str) -> Ran:
    """Run a pass over a conversation."""
    place.configure(summary="max_tokens = 320")
    put(place, *talk(name))
    return invoke("once", "--agent-stopped", "--json")


def broken(text: str) -> list[str]:
    """Every place in `text` where what is drawn as one character was cut."""
    found, halves = [], 0
    for at, char in enumerate(f"{text}\n"):
        before = text[at - 1] if at else "\n"
        extends = (
            unicodedata.category(char)[0] == "M"
            or char == JOINER
            or "\U0001f3fb" <= char <= "\U0001f3ff"
            or "\u1160" <= char <= "\u11ff"
        )
        bare = before in "`>" or not (before == JOINER or unicodedata.category(before)[0] in "LMNS")
        half = "\U0001f1e6" <= char <= "\U0001f1ff"
        odd = not half and halves % 2 == 1
        halves = halves + 1 if half else 0
        joined = before != JOINER or unicodedata.category(char)[0] in "LS"
        damaged = char == "\ufffd" or "\ud800" <= char <= "\udfff"
        if (extends and bare) or odd or not joined or damaged:
            found.append(text[max(at - 12, 0) : at + 12])
    return found


def long(kind: str, ahead: int) -> str:
    """A text far over every limit, without a space to cut at."""
    return "x" * ahead + CLUSTERS[kind] * 2_600


@pytest.mark.parametrize("name", SPOKEN)
def test_a_conversation_has_the_turns_and_the_script_that_its_tests_need(name: str) -> None:
    """Twenty turns or more, whole characters, and the notes name what it names."""
    text = "\n".join(one["content"] for one in talk(name))
    assert len(SPOKEN[name]["turns"]) >= 20
    assert not broken(text)
    assert len(find_identifiers(text)) >= 5
    assert {char for char in text if char > "\x7f"}


@pytest.mark.parametrize("name", SPOKEN)
def test_notes_in_the_language_of_the_user_land_at_the_first_call(
    name: str, place: Place, server: Server, invoke: Invoke
) -> None:
    """One call, an entry in that language, and everything that was named is in it."""
    server.play(answer(SPOKEN[name]["notes"]))

    told = compact(place, invoke, name).session(SHORT_KEY)

    assert told["outcome"] == "compacted", told
    assert len(server.requests) == 1
    assert SPOKEN[name]["notes"].strip().split("\n")[1] in place.entry()
    assert told["audit"]["found"] >= 0.8 * told["audit"]["wanted"] > 0
    assert not broken(place.entry())
    assert not broken(server.requests[0].user)
    for one in talk(name)[: told["covers"]]:
        said = one["content"].replace("\n", "\n  ")
        assert f"]\n  {said}" in server.requests[0].user


@pytest.mark.parametrize("name", FOREIGN)
def test_notes_in_another_script_are_refused_once_with_the_reason(
    name: str, place: Place, server: Server, invoke: Invoke
) -> None:
    """The second request says why; who answers so again can't do otherwise, and it lands."""
    server.play(answer(english(name)))

    told = compact(place, invoke, name).session(SHORT_KEY)

    why = f"it is written in Latin script, the user writes in {SPOKEN[name]['script']}"
    assert len(server.requests) == 2
    assert "Your last answer was not usable" not in server.requests[0].user
    assert f"Your last answer was not usable: {why}." in server.requests[1].user
    assert told["outcome"] == "compacted", told
    assert "carry on with what was begun" in place.entry()


@pytest.mark.parametrize("name", FOREIGN)
def test_who_is_told_of_the_language_may_write_in_it(
    name: str, place: Place, server: Server, invoke: Invoke
) -> None:
    """The second answer lands, and nothing of the first is in it."""
    server.play(answer(english(name)), answer(SPOKEN[name]["notes"]))

    assert compact(place, invoke, name).session(SHORT_KEY)["outcome"] == "compacted"

    assert len(server.requests) == 2
    assert SPOKEN[name]["notes"].strip().split("\n")[1] in place.entry()
    assert "carry on with what was begun" not in place.entry()


def test_english_notes_for_a_german_are_not_refused(
    place: Place, server: Server, invoke: Invoke
) -> None:
    """Scripts are told apart, languages are not."""
    server.play(answer(english("german")))

    told = compact(place, invoke, "german").session(SHORT_KEY)

    assert (told["outcome"], len(server.requests)) == ("compacted", 1)


@pytest.mark.parametrize("name", SPOKEN)
@pytest.mark.parametrize("engine", ["openai", "digest"])
def test_the_tokens_of_a_report_are_those_of_what_is_sent(
    name: str, engine: str, place: Place, server: Server, invoke: Invoke
) -> None:
    """Before: all messages. After: the entry and the kept ones; as the tokenizer counts them."""
    server.play(answer(SPOKEN[name]["notes"]))
    place.configure(summary="max_tokens = 320")
    rows = talk(name)
    put(place, *rows)

    ran = invoke("once", "--agent-stopped", "--engine", engine, "--json")

    def count(text: str) -> int:
        return len(load_encoding("o200k_base").encode_ordinary(text))

    told = ran.session(SHORT_KEY)
    assert told["outcome"] == "compacted", told
    assert told["engine"] == engine
    kept = rows[told["covers"] :]
    assert told["tokens_before"] == sum(count(one["content"]) for one in rows)
    assert told["tokens_after"] == count(place.entry()) + sum(count(one["content"]) for one in kept)
    assert told["tokens_before"] > told["tokens_after"] > 0
    sent = json.loads(invoke("show", SHORT_KEY, "--prompt", "--json").out)["kept"]
    assert abs(sum(count(one["content"]) for one in sent) - told["tokens_after"]) <= 4  # joints
    assert not broken(place.entry())


@pytest.mark.parametrize("kind", CLUSTERS)
def test_no_long_message_is_cut_inside_what_is_drawn_as_one(
    kind: str, place: Place, server: Server, invoke: Invoke
) -> None:
    """Head and tail of messages, of arguments and of tool output; names and paths, at any place."""
    call = {"id": "c", "type": "function"}
    rows: list[dict[str, Any]] = []
    for ahead in range(8):
        written = json.dumps({"text": long(kind, ahead)}, ensure_ascii=False)
        rows += [
            row("user", long(kind, ahead), ahead, sender_name=long(kind, ahead)[:400]),
            row(
                "assistant",
                long(kind, ahead + 1),
                ahead,
                tool_calls=[call | {"function": {"name": "write", "arguments": written}}],
            ),
            row("tool", long(kind, ahead + 2), ahead, tool_call_id="c", name="write"),
            row("assistant", "ok", ahead, media=[f"/{long(kind, ahead)}"]),
        ]
    place.configure(llm="context_window = 4000000")
    put(place, *rows, *turns(4, "later"))

    invoke("once", "--agent-stopped")

    material = "\n".join(parts_of(server.requests[0]).values())
    assert material.count("[…]") == 8 * 4
    assert broken(material) == []
    assert PARTS.search(server.requests[0].user)


@pytest.mark.parametrize("kind", CLUSTERS)
@pytest.mark.parametrize("engine", ["openai", "digest"])
def test_no_quote_and_no_extract_is_cut_inside_what_is_drawn_as_one(
    engine: str, kind: str, place: Place, server: Server, invoke: Invoke
) -> None:
    """Where no message is kept the entry closes with the last exchange, as much as fits of it."""
    for ahead in range(3):
        place.add(SHORT)
        place.configure(keep=0, llm="context_window = 400000", limits="per_session_per_day = 99")
        said = [row("user", long(kind, ahead), 2), row("assistant", long(kind, ahead + 3), 3)]
        put(place, *turns(4, "things"), *said)

        told = invoke("once", "--agent-stopped", "--engine", engine, "--force", "--json")

        assert told.session(SHORT_KEY)["outcome"] == "compacted", told.out
        assert "characters left out" in place.entry()
        assert broken(place.entry()) == []
    assert bool(server.requests) == (engine == "openai")
