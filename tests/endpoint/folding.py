"""Long conversations whose messages can be told apart, and an endpoint with a window of its own."""

from __future__ import annotations

import json
import os
import re
from hashlib import sha256
from itertools import cycle, pairwise
from typing import Any

from compactor.tokens import TokenCounter
from tests.end_to_end.support import Invoke, Ran, read_header
from tests.endpoint.material import informed_notes, parts_of, row
from tests.endpoint.models import WINDOW_WORDS
from tests.endpoint.server import Reply, Request, Server, answer
from tests.endpoint.support import Place

Rows = list[dict[str, Any]]

OLDER, BEFORE, STAYING = "OLDER MESSAGES", "PREVIOUS NOTES", "MESSAGES THAT STAY"
LIMITS = "calls_per_hour = 100000"
_LONG_AGO = 1_772_000_000
_MARK = re.compile(r"\bqz([a-j]{6})qz\b")
_HEARD = re.compile(r"\bheard ([a-p]{12})\b")
_COUNTER = TokenCounter()
_LETTERS = str.maketrans("0123456789abcdef", "abcdefghijklmnop")
_PROSE = (
    "Could you look at the booking again, the seat by the window was never confirmed to us. ",
    "Könntest du bitte nachsehen, ob die Rechnung schon beim Händler angekommen ist? ",
    "Пожалуйста, проверь ещё раз, пришло ли подтверждение от перевозчика. ",
    "もう一度予約を確認してください。窓側の席はまだ確定していません。",
    "请再检查一次预订。靠窗的座位还没有确认。",
    "يرجى التحقق من الحجز مرة أخرى لأن المقعد لم يؤكد بعد. ",
)
_CODE = "```python\ndef confirm(booking):\n    return booking.seat.is_by_window\n```\n"


def mark(number: int) -> str:
    """A word that no identifier looks like, for one message."""
    return f"qz{f'{number:06}'.translate(_LETTERS)}qz"


def marks_in(text: str) -> list[int]:
    """The numbers of the messages that a text holds, in order."""
    back = str.maketrans("abcdefghij", "0123456789")
    return [int(found.translate(back)) for found in _MARK.findall(text)]


def said(role: str, content: object, **more: Any) -> dict[str, Any]:
    """A message that `numbered` gives a mark."""
    return row(role, content, **more)


def numbered(rows: Rows) -> Rows:
    """The messages, each with the mark of its number ahead of its text."""
    for number, one in enumerate(rows):
        content = one["content"]
        if isinstance(content, str):
            one["content"] = f"{mark(number)} {content}"
        else:
            one["content"] = [{"type": "text", "text": mark(number)}, *content]
    return rows


def batch(ids: list[str], output: str) -> Rows:
    """An agent's tool calls and their results."""
    calls = [
        {
            "id": one,
            "type": "function",
            "function": {"name": "look_up", "arguments": json.dumps({"about": "the seat"})},
        }
        for one in ids
    ]
    results = [said("tool", output, tool_call_id=one, name="look_up") for one in ids]
    return [said("assistant", "I look it up.", tool_calls=calls), *results]


def mixed(size: int) -> Rows:
    """Prose in several languages, code, and tool calls with small and big outputs; bytes."""
    rows: Rows = []
    total = 0
    for number, prose in enumerate(cycle(_PROSE)):
        if total > size:
            break
        output = "checked the row and found nothing of note\n" * (500 if number % 4 == 0 else 20)
        turn = [
            said("user", prose * (3 + number % 9)),
            *batch([f"call_{at}" for at in range(number % 4)], output),
            said("assistant", _CODE * (1 + number % 5) + prose * 2),
        ]
        total += sum(len(json.dumps(one, ensure_ascii=False).encode()) for one in turn)
        rows += turn
    return numbered(rows)


def chat(turns: int, words: int = 250) -> Rows:
    """Plain turns of so many words."""
    return numbered(talk(turns, words))


def talk(turns: int, words: int = 250) -> Rows:
    """The same, not numbered yet."""
    roles = ("user", "assistant")
    return [said(role, "and so on " * (words // 3)) for _ in range(turns) for role in roles]


def fill(place: Place, rows: Rows, *, entry: str | None = None) -> None:
    """Let the session say this and nothing else, long ago, under an entry of somebody else's."""
    header = read_header(place.path())
    if entry is not None:
        last = {"text": entry, "last_active": "2026-03-01T10:00:00"}
        header = header | {"metadata": {"_last_summary": last}}
    lines = [json.dumps(one, ensure_ascii=False).encode() for one in (header, *rows)]
    place.path().write_bytes(b"\n".join([*lines, b""]))
    os.utime(place.path(), (_LONG_AGO, _LONG_AGO))


def add(place: Place, *rows: dict[str, Any]) -> None:
    """Go on speaking, long ago too."""
    with place.path().open("ab") as file:
        file.writelines(json.dumps(one).encode() + b"\n" for one in rows)
    os.utime(place.path(), (_LONG_AGO, _LONG_AGO))


def once(invoke: Invoke, *more: str) -> Ran:
    """Make a pass."""
    return invoke("once", "--agent-stopped", "--json", *more)


class Reader:
    """An endpoint that counts for itself, by `factor` more than we do, prompt and answer together.

    Its notes say what it has read just now. Material that holds one of the marks in `spoiled` makes
    it break a rule, so many times.
    """

    def __init__(self, window: int, *, factor: float = 1.05) -> None:
        self.window = window
        self.factor = factor
        self.refused = 0
        self.prompt_tokens = 0
        self.spoiled: dict[int, int] = {}

    def __call__(self, request: Request) -> Reply:
        """Answer within the window, or refuse."""
        texts = [message["content"] for message in request.json["messages"]]
        prompt = int(sum(map(_COUNTER.count, texts)) * self.factor)
        total = prompt + request.json["max_completion_tokens"]
        if total > self.window:
            self.refused += 1
            return WINDOW_WORDS["OpenAI"](total, self.window)
        self.prompt_tokens += prompt
        usage = {"prompt_tokens": prompt, "completion_tokens": 90, "total_tokens": prompt + 90}
        return answer(self._notes(request), usage=usage)

    def _notes(self, request: Request) -> str:
        for number in set(read_in(request)) & self.spoiled.keys():
            if self.spoiled[number]:
                self.spoiled[number] -= 1
                return "The user wants a seat."
        return f"{informed_notes(request)}\n- heard {what_it_reads(request)}"


def what_it_reads(request: Request) -> str:
    """A word for the older messages of a request."""
    text = parts_of(request).get(OLDER, "")
    return sha256(text.encode()).hexdigest()[:12].translate(_LETTERS)


def read_in(request: Request) -> list[int]:
    """The numbers of the older messages of a request."""
    return marks_in(parts_of(request).get(OLDER, ""))


def first_questions(server: Server) -> list[Request]:
    """The requests but for those that ask once more."""
    again = ("===== LEFT OUT OF YOUR LAST NOTES", "Your last answer was not usable")
    return [one for one in server.requests if not any(words in one.user for words in again)]


def check_chain(requests: list[Request], covers: int) -> None:
    """Every covered message is in one request, in order, and each has the notes of the one before.

    The first has none, or those that stood before.
    """
    assert [number for one in requests for number in read_in(one)] == list(range(covers))
    for before, after in pairwise(requests):
        assert _HEARD.findall(parts_of(after)[BEFORE]) == [what_it_reads(before)]
    assert [STAYING in parts_of(one) for one in requests[:-1]] == [False] * (len(requests) - 1)


def check_ledger(place: Place, server: Server) -> None:
    """Every request is in the ledger, once; those of parts are in their own lines."""
    lines = place.journal("SELECT outcome, calls FROM ledger ORDER BY id")
    assert sum(calls for _, calls in lines) == len(server.requests)
    assert all(calls for outcome, calls in lines if outcome == "folded")
