"""A chat agent in about a page, on the `session` library and any OpenAI-compatible endpoint.

    export OPENAI_API_KEY=...  # or any word, for a server that needs none
    python examples/agent.py sessions --base-url http://127.0.0.1:8000/v1 --model my-model

Each line that you type is a message in the session `cli:me`. A line like `telegram:42 Hello` stands
for one that arrives on another channel. The model may send messages there, too, with its one tool:
they are recorded in the session in which the answer will arrive. Run `compactor once --store
jsonl:sessions` beside it whenever you like: the next turn sends the summary in place of the old
messages. End it with Ctrl-D, Ctrl-C or SIGTERM.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from openai import OpenAI

from session import NANOBOT_CHANNELS, Inbound, SessionManager, record_cross_channel

if TYPE_CHECKING:
    from collections.abc import Callable

INSTRUCTIONS = {"role": "system", "content": "You are a helpful assistant. Answer briefly."}
TEXTS = {name: {"type": "string"} for name in ("channel", "chat_id", "content")}
MESSAGE_TOOL = {
    "type": "function",
    "function": {
        "name": "message",
        "description": "Send a message to a conversation on another channel.",
        "parameters": {"type": "object", "properties": TEXTS, "required": list(TEXTS)},
    },
}


def read_inbound(line: str) -> tuple[Inbound, str]:
    """Return where a line arrived, and its text."""
    place, _, text = line.partition(" ")
    channel, colon, chat = place.partition(":")
    if colon and channel in {"telegram", "slack", "whatsapp"}:
        return Inbound(channel, chat, shared=False), text
    return Inbound("cli", "me", shared=False), line


def send(channel: str, chat_id: str, content: str) -> str:
    """Deliver a message, and say so: where this raises, nothing is recorded."""
    print(f"-> {channel}:{chat_id}: {content}", flush=True)
    return f"Message sent to {channel}:{chat_id}"


def take_turn(
    manager: SessionManager, ask: Callable[[list[Any]], Any], senders: ThreadPoolExecutor, line: str
) -> str:
    """Answer one message: ask the model until it calls no tool any more."""
    inbound, text = read_inbound(line)
    session = manager.get_or_create(NANOBOT_CHANNELS.session_key(inbound))  # with any compaction
    begin = len(session.messages)
    session.add_message("user", text)
    manager.save(session)  # a crash from here on does not lose it
    while True:
        reply = ask([INSTRUCTIONS, *session.get_history()])
        fields = reply.model_dump(exclude={"role", "content"}, exclude_none=True)
        session.add_message("assistant", reply.content or "", **fields)
        for call in reply.tool_calls or ():
            try:
                wanted = json.loads(call.function.arguments)
                result = senders.submit(send, **wanted).result()
            except Exception as error:  # noqa: BLE001 - the model reads what went wrong
                result = f"Error: {error}"
            session.add_message("tool", result, tool_call_id=call.id, name=call.function.name)
        if not reply.tool_calls:
            break
    manager.save(session)
    record_cross_channel(manager, session, session.messages[begin:])
    return reply.content or ""


def main() -> None:
    """Read lines until they end, then let the senders finish, then make everything durable."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", help="where the sessions are kept")
    parser.add_argument("--base-url", help="the endpoint, up to and including /v1")
    parser.add_argument("--model", default="gpt-5-mini", help="the model [%(default)s]")
    options = parser.parse_args()
    client = OpenAI(base_url=options.base_url)  # the key is in OPENAI_API_KEY

    def ask(messages: list[Any]) -> Any:  # noqa: ANN401 - a message of the SDK's
        create: Any = client.chat.completions.create
        answer = create(model=options.model, messages=messages, tools=[MESSAGE_TOOL])
        return answer.choices[0].message

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with SessionManager(options.folder) as manager:
        try:
            with ThreadPoolExecutor() as senders:  # leaving the block waits for them
                for line in sys.stdin:
                    print(take_turn(manager, ask, senders, line.strip()), flush=True)
        except KeyboardInterrupt:
            pass
        finally:
            manager.flush_all()  # the loop and all senders have stopped


if __name__ == "__main__":
    main()
