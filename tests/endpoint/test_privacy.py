"""What must never be told: messages and keys, however badly something goes wrong."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.end_to_end.support import Invoke, add_messages
from tests.endpoint.server import Reply, Server, answer, error, http
from tests.endpoint.support import KEY, Place

SECRET = "sk-proj-" + "Q7w2E9r4" * 5
WORD = "xylophone-of-a-message"
ECHO = f"can't handle {WORD} and {SECRET}, said with {KEY}"
# The worker with an engine of another's making, whose error holds what it was given: in its text,
# in its locals, in its causes. It is put where the pass finds it, and everything else is the
# product's own.
BROKEN_ENGINE = f"""
import sys
from compactor import assembly
from compactor.cli import main
from compactor.errors import FailureKind, SummaryError

class Broken:
    name, model, prompt = "openai", "test-model", "v1"

    def prepare(self, request):
        return lambda: self.summarize(request)

    def summarize(self, request):
        secret, messages = {SECRET!r}, [message.data for message in request.covered]
        try:
            raise KeyError(messages)
        except KeyError as error:
            raise KIND(f"{{secret}} {{messages}} {{request}}") from error

    def close(self):
        pass

assembly.OpenAISummarizer = lambda *_, **__: Broken()
main(sys.argv[1:])
"""
KINDS = ("RuntimeError", "ValueError", "AssertionError", "UnicodeError", "OSError", "MemoryError")


def spoken(place: Place) -> None:
    """Say what must not be told."""
    rows = [
        {"role": role, "content": f"{WORD} {SECRET}", "timestamp": f"2026-03-02T10:00:0{n}"}
        for n in range(8)
        for role in ("user", "assistant")
    ]
    add_messages(place.path(), *rows)


def tell_nothing(*told: str | bytes) -> None:
    """Check that nothing of it is there."""
    for text in told:
        data = text.encode() if isinstance(text, str) else text
        for hidden in (WORD, SECRET, KEY):
            assert hidden.encode() not in data


@pytest.mark.parametrize(
    "kind", [*KINDS[:3], *(pytest.param(kind, marks=pytest.mark.soak) for kind in KINDS[3:])]
)
@pytest.mark.parametrize("form", ["text", pytest.param("json", marks=pytest.mark.soak)])
def test_an_error_inside_an_engine_tells_no_message(kind: str, form: str, place: Place) -> None:
    """Neither the log at its finest, nor the report, nor the journal; its type is told."""
    spoken(place)
    place.configure(log=f'level = "DEBUG"\nformat = "{form}"')
    before = place.files()

    options = ("once", "--agent-stopped", "--verbose", "--json")
    ran = subprocess.run(
        [sys.executable, "-c", BROKEN_ENGINE.replace("KIND", kind), *options],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )

    assert ran.returncode == 3, ran.stderr
    assert f'"detail": "{kind}"' in ran.stdout
    assert kind in ran.stderr
    tell_nothing(ran.stdout, ran.stderr, place.journal_bytes())
    assert place.files() == before


ECHOES = {
    "an error's text": error(400, ECHO),
    "an error's code and type": error(400, "no", code=ECHO, type=SECRET, param=WORD),
    "an error in 200": http(200, {"error": {"message": ECHO, "code": ECHO}}),
    "a body that is text": http(500, ECHO.encode(), content_type="text/plain"),
    "a page": http(200, ECHO.encode(), content_type="text/html"),
    "a wait": error(429, ECHO, RETRY_AFTER=WORD),
    "a place": http(307, location=f"http://127.0.0.1:1/{WORD}?{SECRET}"),
    "a reason": (f"HTTP/1.1 400 {ECHO}\r\nContent-Length: 0\r\n\r\n".encode(),),
    "a refusal": answer(None, refusal=ECHO),
    "a finish": answer(finish=ECHO),
    "an answer": answer(ECHO),
    "a parameter": error(400, f"unsupported max_tokens {ECHO}"),
    "broken": http(200, b'{"choices": "' + ECHO.encode()),
}


@pytest.mark.parametrize("reply", ECHOES.values(), ids=ECHOES.keys())
def test_what_an_endpoint_says_of_the_transcript_is_not_told(
    reply: Reply, place: Place, server: Server, invoke: Invoke
) -> None:
    """Error bodies may quote what was sent: they are reduced to their type and code."""
    spoken(place)
    place.configure(log='level = "DEBUG"')
    server.play(reply)

    ran = invoke("once", "--agent-stopped", "--json", "--verbose")
    table = invoke("once", "--agent-stopped", "--force", "--verbose")

    assert ran.json["failed"] == 1
    tell_nothing(ran.out, ran.err, table.out, table.err, place.journal_bytes())


def test_the_log_of_the_sdk_tells_nothing(place: Place, server: Server, spawn: Invoke) -> None:
    """Though the environment turns it on."""
    spoken(place)
    server.play(error(500, ECHO))

    ran = spawn("once", "--agent-stopped", "--verbose", "--json", OPENAI_LOG="debug")

    assert ran.json["failed"] == 1
    tell_nothing(ran.out, ran.err)


def test_the_journal_is_its_owners_alone(place: Place, server: Server, invoke: Invoke) -> None:
    """Its file and its folder, whatever the umask."""
    saved = os.umask(0)
    try:
        invoke("once", "--agent-stopped")
    finally:
        os.umask(saved)

    folder = place.folder / "state"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
