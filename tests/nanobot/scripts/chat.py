"""Run by nanobot's own Python: a WebSocket client that talks to a gateway.

Usage: python chat.py PORT CHAT_ID TEXT...; an empty CHAT_ID starts a new chat. Says each text,
waits until its turn is over, and prints `{"chat_id": …, "replies": […], "seconds": […]}`.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time

import websockets

PATIENCE = 60.0


async def talk(port: int, chat_id: str, texts: list[str]) -> dict[str, object]:
    """Say each text; returns the chat, what was answered, and how long each turn took."""
    replies, seconds = [], []
    url = f"ws://127.0.0.1:{port}/?client_id=alice"
    async with websockets.connect(url, max_size=None, proxy=None) as socket:
        ready = json.loads(await socket.recv())
        if chat_id:
            await socket.send(json.dumps({"type": "attach", "chat_id": chat_id}))
        else:
            chat_id = ready["chat_id"]
        for text in texts:
            said = {"type": "message", "chat_id": chat_id, "content": text}
            begin = time.perf_counter()
            await socket.send(json.dumps(said))
            reply = ""
            while True:
                event = json.loads(await asyncio.wait_for(socket.recv(), PATIENCE))
                if event.get("event") == "message" and event.get("text"):
                    reply = event["text"]
                elif event.get("event") == "delta":
                    reply += event.get("text", "")
                elif event.get("event") == "turn_end":
                    break
            replies.append(reply)
            seconds.append(time.perf_counter() - begin)
    return {"chat_id": chat_id, "replies": replies, "seconds": seconds}


if __name__ == "__main__":
    done = asyncio.run(talk(int(sys.argv[1]), sys.argv[2], sys.argv[3:]))
    print(json.dumps(done))
