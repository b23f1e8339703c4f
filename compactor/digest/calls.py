"""Tool calls as they stand in a message: names, arguments and what they were done to.

Providers and agents spell them in more than one way, and a damaged one must not stop anything.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from compactor.readable import clip, one_line, readable_text
from compactor.redact import redact

if TYPE_CHECKING:
    from collections.abc import Iterator

    from session.message import Message

_NAME = 60  # characters of a tool's name, and of the value that is shown with it
_PATH = 300
_READ = 3_000  # characters of the arguments in which paths and short values are looked for

_PATH_ARGUMENT = re.compile(
    r'"(?:path|file_path|filepath|file|filename|notebook_path|target_file)"\s*:\s*"([^"]{1,300})"'
)
_SHORT_ARGUMENT = re.compile(r':\s*"([^"\\]{1,60})"')
_WRITES = re.compile(r"write|edit|create|patch|save|replace|append|delete|remove|move|rename")
_ACTS = re.compile(
    r"book|cancel|update|send|transfer|modify|add|set|post|schedule|order|pay|buy|commit|publish"
    r"|submit|upload|deploy|message"
)


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call: `arguments` is JSON text, as damaged as it stands; `call_id` may be empty."""

    name: str
    call_id: str
    arguments: str

    @property
    def writes(self) -> bool:
        """Whether the tool changes files, judged by its name."""
        return bool(_WRITES.search(self.name.lower()))

    @property
    def acts(self) -> bool:
        """Whether the tool changes anything, judged by its name."""
        return self.writes or bool(_ACTS.search(self.name.lower()))

    @property
    def label(self) -> str:
        """The call with the first short value that it was given: mostly what it was done to."""
        # The name of an argument may be all that tells its value for a secret.
        match = _SHORT_ARGUMENT.search(redact(self.arguments[:_READ]))
        value = one_line(readable_text(match[1], _NAME)) if match else ""
        return f"{self.name}({value})" if value else self.name

    @property
    def paths(self) -> list[str]:
        """The files that it names."""
        found = _PATH_ARGUMENT.findall(redact(self.arguments[:_READ]))
        paths = (one_line(readable_text(path.replace("\\\\", "\\"), _PATH)) for path in found)
        return [path for path in paths if path and ", " not in path]

    def parsed(self) -> dict[str, Any]:
        """Return the arguments, or nothing where they are no JSON object."""
        try:
            values = json.loads(self.arguments)
        except (ValueError, RecursionError):
            return {}
        return values if isinstance(values, dict) else {}


def calls_of(message: Message) -> Iterator[Call]:
    """Yield the tool calls of a message."""
    calls = message.data.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        if not isinstance(call, dict):
            continue
        function = call.get("function")
        function = function if isinstance(function, dict) else call
        call_id = call.get("id")
        yield Call(
            tool_name(function.get("name")),
            call_id if isinstance(call_id, str) else "",
            _as_json(function.get("arguments")),
        )


def tool_name(name: object) -> str:
    """Return the name of a tool as it can stand in a list; `tool` where there is none."""
    return clip(one_line(readable_text(name, _NAME)).replace(",", " "), _NAME) or "tool"


def paths_in(value: object) -> list[str]:
    """Return the paths in a list that may hold anything."""
    paths = value if isinstance(value, list) else []
    return [one_line(readable_text(path, _PATH)) for path in paths if isinstance(path, str)]


def _as_json(arguments: object) -> str:
    if isinstance(arguments, str):
        return arguments
    try:
        return json.dumps(arguments, ensure_ascii=False) if arguments else ""
    except RecursionError:
        return ""
