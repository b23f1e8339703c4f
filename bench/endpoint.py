"""An endpoint in a process of its own: the same answer to every request, after the same time.

Usage: python endpoint.py SECONDS; prints its port, and ends with its standard input. It reads no
more of a request than it must, so that what is measured is the client.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys

NOTES = (
    "## Goal\n- Change a flight\n\n## Done\n- Several bookings changed\n\n## Exact facts\n- H8Q05L"
)
_BODY = json.dumps(
    {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "bench",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": NOTES},
            }
        ],
        "usage": {"prompt_tokens": 5_000, "completion_tokens": 40, "total_tokens": 5_040},
    }
).encode()
_REPLY = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(_BODY)
) + _BODY
_HEAD_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")


class _Connection(asyncio.Protocol):
    """One connection, which stays open."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._data = bytearray()
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep what is written to."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - asyncio's own promise
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer each whole request in due time."""
        self._data += data
        while (end := self._data.find(_HEAD_END)) >= 0:
            length = _LENGTH.search(self._data, 0, end + 2)
            size = end + len(_HEAD_END) + (int(length[1]) if length else 0)
            if len(self._data) < size:
                return
            del self._data[:size]
            asyncio.get_running_loop().call_later(self._seconds, self._answer)

    def _answer(self) -> None:
        if not self._transport.is_closing():
            self._transport.write(_REPLY)


async def serve(seconds: float) -> None:
    """Listen on a free port of loopback, say which, and answer while somebody holds our input."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Connection(seconds), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1])))
