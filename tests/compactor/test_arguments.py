"""Arguments of calls made short: still JSON, with all short values and without secrets."""

from __future__ import annotations

import base64
import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactor.arguments import shorten_arguments
from compactor.readable import GAP, readable_text
from tests.compactor.planted import Planted, read_planted

LIMIT = 600
SECRET = "Zk4Rv9Xq" * 3
LONG = "\n".join(f"line {n}: what is said there" for n in range(900))
# All of them are looked for in plain texts (test_redact_corpus.py); here every fourth will do.
SOME_OR_ALL = [
    pytest.param(planted, marks=pytest.mark.soak if at % 4 else ())
    for at, planted in enumerate(read_planted())
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=40,
)


def shorten(arguments: object, limit: int = LIMIT) -> Any:
    """Return the shortened arguments as a value: they must be JSON."""
    text = shorten_arguments(arguments, limit)
    assert len(text) <= limit
    return json.loads(text)


def test_short_arguments_stay_as_they_are() -> None:
    """Values as well as JSON text, in any script."""
    value = {"path": "/srv/überblick.md", "lines": [1, 2.5, None, True], "text": "a\nb"}
    assert shorten(value) == value
    assert shorten(json.dumps(value)) == value
    assert [shorten_arguments(one, LIMIT) for one in ("{}", 1, None)] == ["{}", "1", "null"]


@pytest.mark.parametrize("as_text", [False, True])
def test_a_long_text_becomes_head_and_tail(as_text: bool) -> None:
    """All that is short beside it stays, ahead of it and behind it, and the room is used."""
    value = {"path": "/srv/a.py", "content": LONG, "mode": "0644", "options": {"backup": True}}
    text = shorten_arguments(json.dumps(value) if as_text else value, LIMIT)
    short = json.loads(text)
    assert {**short, "content": ""} == {**value, "content": ""}
    assert short["content"].startswith("line 0: what is said there\nline 1:")
    assert short["content"].endswith("line 899: what is said there")
    assert short["content"].count(f"\n{GAP}\n") == 1
    assert LIMIT - 40 <= len(text) <= LIMIT


def test_a_long_list_loses_its_middle() -> None:
    """With how many are left out; what is short beside it stays."""
    short = shorten({"ids": list(range(1000)), "note": "all of them", "rows": ["x" * 90] * 3})
    assert short["note"] == "all of them"
    assert len(short["rows"]) == 3
    ids = short["ids"]
    [mark] = [item for item in ids if isinstance(item, str)]
    assert mark == f"{GAP} {1000 - (len(ids) - 1)} more"
    assert ids[0] == 0
    assert ids[-1] == 999
    assert len(ids) > 20


def test_an_object_of_many_names_loses_its_middle() -> None:
    """It has no end of short values."""
    short = shorten({f"name{n}": n for n in range(1000)})
    assert short["name0"] == 0
    assert short["name999"] == 999
    assert short[GAP].endswith(" more")


@pytest.mark.parametrize("text", ['{"a": "b', "ls -la", "", '{"a": 1} x', "[" * 500 + "]" * 500])
def test_what_is_no_json_or_nested_deep_reads_as_any_text(text: str) -> None:
    """With head and tail, where it is long."""
    assert shorten_arguments(text, LIMIT) == readable_text(text, LIMIT)
    assert len(shorten_arguments(text + LONG, LIMIT)) <= LIMIT


NESTED = [
    {"password": SECRET, "content": LONG},
    {"content": LONG, "login": {"user": "ann", "password": SECRET}},
    {"accounts": [{"note": LONG, "api_key": SECRET}] * 3},
    {"content": f"{LONG}\npassword: {SECRET}\n{LONG}"},
    {"content": f"password: {SECRET}\n{LONG}\npassword: {SECRET}"},
    {"body": json.dumps({"login": {"password": SECRET}, "text": LONG})},
    {"body": json.dumps({"text": LONG, "body": json.dumps({"api_key": SECRET})})},
    {"env": [f"PASSWORD={SECRET}", LONG]},
    {"headers": {"Authorization": f"Bearer {SECRET}"}, "data": LONG},
]


@pytest.mark.parametrize("value", NESTED)
def test_a_secret_in_long_arguments_goes(value: object) -> None:
    """Under its name or in a text, whatever is cut around it; a mark stands in its place."""
    for written in (value, json.dumps(value), json.dumps(value, ensure_ascii=False, indent=2)):
        for limit in (300, LIMIT, 2000):
            text = shorten_arguments(written, limit)
            assert SECRET[:8] not in text
            json.loads(text)


@pytest.mark.parametrize("name", ["password", "apiKey", "DB_PASSWORD", "access_token", "secret"])
@pytest.mark.parametrize("size", [100, 256, 257, 512, 3000, 40_000, 100_000])
def test_nothing_of_a_long_secret_is_left(name: str, size: int) -> None:
    """Neither its head nor its tail, nor what is behind the longest that is known by its form."""
    secret = ("Zk4 Rv9Xq" * size)[:size]
    for value in ({name: secret}, {"to": "x", "login": {name: secret, "note": LONG}}):
        text = shorten_arguments(value, LIMIT)
        assert "Rv9" not in text
        assert "[redacted:" in text
        json.loads(text)


def test_a_number_that_is_a_secret_goes_and_json_stays() -> None:
    """The mark in its place gets quotes."""
    short = shorten({"password": 1234567890, "text": f"password: {SECRET}, yes", "n": [1, 2]})
    assert short["password"] == "[redacted:password]"  # noqa: S105 - a mark
    assert short["text"] == "password: [redacted:password], yes"
    assert short["n"] == [1, 2]


@pytest.mark.parametrize("planted", SOME_OR_ALL, ids=lambda planted: planted.name)
def test_a_planted_secret_goes_from_every_place(planted: Planted) -> None:
    """In the head, in the middle and in the tail of a long text among arguments."""
    for text in (
        f"{planted.text}\n{LONG}",
        f"{LONG[:300]}\n{planted.text}\n{LONG}",
        f"{LONG}\n{planted.text}",
    ):
        short = shorten_arguments({"path": "/srv/a", "content": text}, 1000)
        assert not [piece for piece in planted.pieces if piece in short]


def test_pictures_become_placeholders() -> None:
    """Base64 and data URLs, whatever JSON escapes in them."""
    picture = base64.b64encode(bytes(range(256)) * 200).decode()
    written = json.dumps({"data": picture, "url": f"data:image/png;base64,{picture}", "n": 1})
    for text in (written, written.replace("/", "\\/")):
        assert shorten(text) == {"data": "[data]", "url": "[data]", "n": 1}


def test_what_is_unseen_goes_and_json_stays() -> None:
    """Controls, marks of direction, separators, halves of pairs."""
    value = {"a\u202e": "b\x00\u2028c\ud800\u200b", "d": "\r\n" + LONG}
    for written in (value, json.dumps(value), json.dumps(value, ensure_ascii=False)):
        short = shorten(written)
        assert short["a"] == "b\nc"
        assert short["d"].startswith("line 0")


@given(JSON, st.integers(0, 300))
def test_it_is_never_longer_than_asked_for_and_never_fails(value: object, limit: int) -> None:
    """Whatever a model has called a tool with; JSON if there is room for it."""
    for arguments in ([value], json.dumps([value])):
        text = shorten_arguments(arguments, limit)
        assert len(text) <= limit
        if len(json.dumps([value])) <= limit:
            json.loads(text)


@given(st.text() | st.from_regex(r'(["\[\]{}:, \\a1]|\\u00)*'))
def test_no_text_is_too_odd(text: str) -> None:
    """What merely looks like JSON too."""
    assert len(shorten_arguments(text, 50)) <= 50


def test_what_json_can_not_say_is_nothing() -> None:
    """A value of our own making; none comes from a file."""
    loop: list[object] = []
    loop.append(loop)
    for value in (object(), {"a": b"x"}, {(1, 2): 3}, loop):
        assert shorten_arguments(value, LIMIT) == ""


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "make",
    [
        lambda n: {"content": "x y " * n},
        lambda n: {"content": ["password: x y"] * n},
        lambda n: {f"name{i}": i for i in range(n)},
        lambda n: {"rows": [{"id": i, "name": "n" * 60} for i in range(n // 8)]},
        lambda n: '{"a": "' * n,
        lambda n: "[" * n,
    ],
)
def test_it_takes_linear_time(make: Any) -> None:
    """Eight times as much takes nothing like 64 times as long."""

    def measure(size: int) -> float:
        arguments = make(size)
        begin = time.perf_counter()
        shorten_arguments(arguments, 2000)
        return time.perf_counter() - begin

    assert measure(80_000) < 30 * max(measure(10_000), 0.01)
