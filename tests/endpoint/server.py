"""A small OpenAI-compatible server on loopback that plays what it is told to, byte for byte.

It is no fake client: real sockets, real HTTP, and every request is kept as the bytes that arrived.
A reply is a tuple of steps, so that a fault is data.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, Self

PATIENCE = 30.0  # seconds that anything here waits at most
GOOD = (
    "## Goal\n- Change a flight\n\n## Done\n- Several bookings changed\n\n## Exact facts\n- H8Q05L"
)


@dataclass(frozen=True)
class Pause:
    """Wait so long, or until the client hangs up."""

    seconds: float


class Step(Enum):
    """What a reply may do beside sending bytes."""

    HANG = "hang"  # say nothing more, until the client hangs up
    CLOSE = "close"  # end the connection as HTTP does
    RESET = "reset"  # break it
    HOLD = "hold"  # wait until the test lets it go


Reply = tuple["bytes | Pause | Step", ...]


@dataclass(frozen=True)
class Request:
    """One request as it arrived."""

    head: bytes
    body: bytes

    @property
    def line(self) -> str:
        """The request line."""
        return self.head.split(b"\r\n", 1)[0].decode()

    @cached_property
    def headers(self) -> dict[str, str]:
        """The header fields, by names in lower case."""
        fields = (line.split(b":", 1) for line in self.head.split(b"\r\n")[1:])
        return {name.decode().lower(): value.decode().strip() for name, value in fields}

    @cached_property
    def json(self) -> Any:
        """The body, which must be UTF-8."""
        return json.loads(self.body.decode("utf-8"))

    @property
    def system(self) -> str:
        """The instructions."""
        return str(self.json["messages"][0]["content"])

    @property
    def user(self) -> str:
        """The material."""
        return str(self.json["messages"][1]["content"])


def http(status: int, body: object = b"", **headers: str) -> Reply:
    """A whole reply; a body that is no bytes is sent as JSON. `_` in a name stands for `-`."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    fields = {"content_type": "application/json", "content_length": str(len(data))} | headers
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
    head = "\r\n".join([f"HTTP/1.1 {status} Whatever", *lines, "", ""])
    return (head.encode() + data,)


def completion(content: object = GOOD, finish: object = "stop", **message: Any) -> dict[str, Any]:
    """The body of a chat completion; `usage` in `message` replaces the reported one."""
    usage = message.pop(
        "usage",
        {
            "prompt_tokens": 700,
            "completion_tokens": 90,
            "total_tokens": 790,
            "prompt_tokens_details": {"cached_tokens": 512},
            "completion_tokens_details": {"reasoning_tokens": 40},
        },
    )
    said = {"role": "assistant", "content": content} | message
    choice = {"index": 0, "finish_reason": finish, "message": said}
    about = {"id": "c1", "object": "chat.completion", "created": 1, "model": "test-model"}
    return about | {"choices": [choice], "usage": usage}


def answer(content: object = GOOD, finish: object = "stop", **message: Any) -> Reply:
    """A chat completion."""
    return http(200, completion(content, finish, **message))


def error(status: int, message: str = "no", **fields: Any) -> Reply:
    """An error as OpenAI words it; names in capitals are header fields."""
    headers = {name.lower(): fields.pop(name) for name in list(fields) if name.isupper()}
    body = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    return http(status, {"error": body | fields}, **headers)


class Server:
    """Plays `play`ed replies in order, the last of them for ever; keeps the requests."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.accepted = 0  # connections
        self._replies: list[Reply] = [answer()]
        self._by_model: dict[str, list[Reply]] = {}
        self._behaviour: Callable[[Request], Reply] | None = None
        self._changed = threading.Condition()
        self._held = threading.Event()
        self._closing = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._threads: list[threading.Thread] = []

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._socket.getsockname()[1])

    @property
    def url(self) -> str:
        """What to put into `base_url`."""
        return f"http://127.0.0.1:{self.port}/v1"

    def play(self, *replies: Reply, model: str | None = None) -> None:
        """Answer so from now on: one after the other, the last one for ever."""
        with self._changed:
            if model is None:
                self._replies = list(replies)
            else:
                self._by_model[model] = list(replies)

    def answer_by(self, behaviour: Callable[[Request], Reply]) -> None:
        """Answer each request from now on as `behaviour` would, whatever is played."""
        self._behaviour = behaviour

    @contextmanager
    def holding(self, *, then: Reply | None = None) -> Iterator[Self]:
        """Let every request wait while this lasts, and answer it `then`."""
        self._held.clear()
        self.play((Step.HOLD, *(then or answer())))
        try:
            yield self
        finally:
            self.release()

    def release(self) -> None:
        """Let go of what is held."""
        self._held.set()

    def wait_for(self, count: int) -> None:
        """Wait until so many requests have arrived; raises `TimeoutError`."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.requests) >= count, PATIENCE):
                raise TimeoutError

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._held.set()
        self._socket.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(PATIENCE)
        self._socket.close()

    def _start(self, target: Any, *arguments: object) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.accepted += 1
            self._start(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        buffer = b""
        with connection:
            connection.settimeout(0.05)
            try:
                while True:
                    while b"\r\n\r\n" not in buffer:
                        buffer += self._receive(connection)
                    head, buffer = buffer.split(b"\r\n\r\n", 1)
                    size = int(Request(head, b"").headers.get("content-length", "0"))
                    while len(buffer) < size:
                        buffer += self._receive(connection)
                    reply = self._note(Request(head, buffer[:size]))
                    buffer = buffer[size:]
                    for step in reply:
                        self._take(step, connection)
            except (OSError, EOFError):
                return

    def _receive(self, connection: socket.socket) -> bytes:
        while not self._closing.is_set():
            try:
                data = connection.recv(1 << 16)
            except TimeoutError:
                continue
            if not data:
                break
            return data
        raise EOFError

    def _note(self, request: Request) -> Reply:
        with self._changed:
            self.requests.append(request)
            try:
                model = str(request.json.get("model"))
            except ValueError:
                model = ""
            replies = self._by_model.get(model, self._replies)
            self._changed.notify_all()
            if self._behaviour is not None:
                return self._behaviour(request)
            return replies.pop(0) if len(replies) > 1 else replies[0]

    def _take(self, step: bytes | Pause | Step, connection: socket.socket) -> None:
        if isinstance(step, bytes):
            connection.settimeout(PATIENCE)
            connection.sendall(step)
            connection.settimeout(0.05)
        elif isinstance(step, Pause):
            self._closing.wait(step.seconds)
        elif step is Step.HOLD:
            self._held.wait(PATIENCE)
        elif step is Step.HANG:
            self._receive(connection)  # a client that waits says nothing more
            raise EOFError
        else:
            if step is Step.RESET:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            raise EOFError
