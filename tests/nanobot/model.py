"""What nanobot's model answers, streamed as nanobot wants it."""

from __future__ import annotations

import json
from typing import Any

from tests.endpoint.server import Reply, Request, Step, answer, http

MODEL = "agents-model"


def agree(request: Request) -> Reply:
    """Answer nanobot, streamed where it asks for that, and summarize for the worker."""
    if not request.body:
        return http(200, {"object": "list", "data": []})
    if request.json["model"] != MODEL:
        return answer()
    if not request.json.get("stream"):
        return answer("yes")
    return stream("yes")


def stream(text: str, **message: Any) -> Reply:
    """A streamed chat completion, with more in its message if need be."""
    about = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": MODEL}
    delta = {"role": "assistant", "content": text} | message
    said = {"index": 0, "delta": delta, "finish_reason": None}
    end = {"index": 0, "delta": {}, "finish_reason": "tool_calls" if message else "stop"}
    chunks = [json.dumps(about | {"choices": [choice]}) for choice in (said, end)]
    body = "".join(f"data: {chunk}\n\n" for chunk in [*chunks, "[DONE]"])
    return http(200, body.encode(), content_type="text/event-stream")


def look_and_wait(request: Request) -> Reply:
    """Let nanobot call a tool, and then wait for the answer until the test lets it go."""
    rows = request.json["messages"]
    if rows[-1]["role"] != "tool":
        function = {"name": "list_dir", "arguments": '{"path": "."}'}
        call = {"index": 0, "id": "call_1", "type": "function", "function": function}
        return stream("Looking.", tool_calls=[call])
    return (Step.HOLD, *stream("done"))
