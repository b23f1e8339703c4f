"""Planted secrets leave, innocent look-alikes stay, wherever a text is cut."""

from __future__ import annotations

import json
import re

import pytest

from compactor.readable import readable_text
from compactor.redact import redact
from tests.compactor.planted import Planted, read_innocent, read_planted

PLANTED = read_planted()
INNOCENT = read_innocent()
# As long as the cut of a message is wide, and no power of two.
LIMIT = 3000
_KIND = re.compile(r"\[redacted:[a-z_0-9]+\]")
_CUT_OFF = ("cut_off", "without_its_beginning")  # of these, what stands next to them matters


def leaked(planted: Planted, text: str) -> list[str]:
    """Return what of the secrets is still there, or half of it."""
    halves = [part for piece in planted.pieces for part in (piece[:12], piece[-12:])]
    return [part for part in halves if part in text]


def test_the_corpora_are_as_large_as_they_should_be() -> None:
    """At least 60 secrets and 200 innocent strings, none of them twice."""
    secrets = [secret for planted in PLANTED for secret in planted.secrets]
    assert len(secrets) >= 250
    assert len(set(secrets)) == len(secrets)
    assert all(planted.pieces for planted in PLANTED)
    assert len(INNOCENT) == len(set(INNOCENT)) >= 350


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)
def test_a_planted_secret_goes_and_what_stands_around_it_stays(planted: Planted) -> None:
    """The name of the setting, the user, the host, the next line: all of it but the secret."""
    text = redact(planted.text)
    assert not leaked(planted, text)
    assert _KIND.sub("[redacted]", text) == planted.left
    assert redact(text) == text


@pytest.mark.parametrize("text", INNOCENT)
def test_an_innocent_string_comes_through_as_it_is(text: str) -> None:
    """Alone, in a sentence, as a line among others and as a value in JSON."""
    assert redact(text) == text
    assert redact(f"See: {text}\nand tell me.") == f"See: {text}\nand tell me."
    quoted = json.dumps({"content": text})
    assert redact(quoted) == quoted


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)
def test_a_secret_goes_in_whatever_it_is_wrapped(planted: Planted) -> None:
    """A message, a value in JSON, JSON in JSON with and without escapes, a quoted mail."""
    once = json.dumps({"text": planted.text}, ensure_ascii=False)
    escaped = json.dumps({"text": planted.text})
    twice = json.dumps({"arguments": escaped})
    quoted = "\n".join(f"> {line}" for line in planted.text.split("\n"))
    for text in (f"Hello,\n{planted.text}\nbye", once, escaped, twice, quoted):
        assert not leaked(planted, redact(text)), text


def test_all_of_them_in_one_text_go_too() -> None:
    """What stands before and behind a secret doesn't hide it."""
    text = "\n\n".join(planted.text for planted in PLANTED)
    left = redact(text)
    assert {planted.name: found for planted in PLANTED if (found := leaked(planted, left))} == {}


@pytest.mark.parametrize(
    "planted",
    [planted for planted in PLANTED if not any(cut in planted.name for cut in _CUT_OFF)],
    ids=lambda planted: planted.name,
)
def test_a_secret_goes_wherever_a_long_message_is_cut(planted: Planted) -> None:
    """Across the end of the head, and across the beginning of the tail."""
    size = len(planted.text)
    tail = LIMIT // 3
    for before in (size // 3, 2 * size // 3):
        head = "word " * 600
        head = head[: LIMIT - tail - before - 1] + "\n"
        behind = "\n" + ("word " * 600)[: max(tail - before - 1, 0)]
        text = head + planted.text + "\n" + "filler " * 7_000 + "\n" + planted.text + behind
        assert not leaked(planted, readable_text(text, LIMIT))


@pytest.mark.parametrize("picture", [0, 30_000, 200_000])
def test_a_secret_goes_where_pictures_shrink_what_is_read(picture: int) -> None:
    """What was read may shrink to less than is kept, and then ends inside of a secret."""
    key = "sk-proj-" + "Q7w2E9r4" * 12
    data = "QUJD" * (picture // 4)
    for shift in range(0, 120, 7):
        words = "word " * 5000
        ahead = f"{data}\n{words[: 22_000 - shift]}\n"
        behind = f"\n{words[: 21_000 - shift]}\n{data}"
        for text in (ahead + key + behind, ahead + key + behind + ahead + key + behind):
            assert "Q7w2E9r4" not in readable_text(text, 12_000)
            assert "Q7w2E9r4" not in readable_text(text, 24_000)


def test_a_long_private_key_goes_wherever_a_message_is_cut() -> None:
    """A key of 16384 bits has 12,000 characters; none of its lines may be left."""
    line = "MIIJKQIBAAKCAgEAt" + "Zk4Rv9Xq2Lm7Bn5P" * 2 + "Wc3Jh8YtGf6DsA1"
    lines = [line] * 190
    key = "\n".join(["-----BEGIN RSA PRIVATE KEY-----", *lines, "-----END RSA PRIVATE KEY-----"])
    words = "word " * 12_000
    for shift in range(0, len(key), 997):
        ahead, behind = words[: max(8000 - shift, 0)], words[: max(4000 - shift, 0)]
        text = f"{ahead}\n{key}\n{words}\n{key}\n{behind}"
        assert "Zk4Rv9Xq2Lm7" not in readable_text(text, 12_000)
