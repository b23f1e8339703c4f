"""The audit of a summary: which identifiers of a conversation matter, and which of them it lost.

No model is asked, and nothing is read without bound: of a session of any size the newest text is
read, and how it began, as far as the budgets below go.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from compactor.identifiers.find import find_identifiers
from compactor.identifiers.forms import NamedText, form_of, is_day_named, is_named, read_names
from compactor.identifiers.rules import IdentifierKind
from compactor.identifiers.secret_lines import speaks_of_secret, split_secret_lines
from compactor.model import AuditFigure
from compactor.readable import one_line, readable_text
from compactor.redact import redact
from compactor.thinking import drop_thoughts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from session.message import Message

LIMIT = 40
_LONGEST = 300  # characters of an identifier that is asked for or appended

# What an identifier is worth: its speaker's weight, at most 1 for how late and 1 for how often, and
# something for the last turns. So the speaker decides, and only what the conversation ended with
# passes what a weightier speaker wrote long before.
_LAST_TURNS = 2
_LAST = 1.5
_OFTEN = 4
_PLAIN = 1.0  # less for a time, and for a word in backticks that is like any other
_CANDIDATES = 3  # times the limit: so many are looked for in tool output, and compared
_BEGINNING = 12  # messages that are read before the newest
_TOOL_BUDGET, _TOOL_SHARE = 150_000, 2_000
_MOST_CALLS = 20
_MOST_VALUES = 200
_NAME = 60  # characters of a value that may be what another one is called
_VALUE = 200  # characters of one argument: what is longer is a text and no name
_MARK = "[redacted:"
_WORD = re.compile(r"[^\s\"'`,;:=<>(){}\[\]|]+")
# What is known to more than one, so another line may name it still.
_NO_SECRETS = frozenset(
    {
        IdentifierKind.URL,
        IdentifierKind.EMAIL,
        IdentifierKind.HOST,
        IdentifierKind.PATH,
        IdentifierKind.AMOUNT,
        IdentifierKind.DATE,
        IdentifierKind.TIME,
        IdentifierKind.VERSION,
    }
)


@dataclass(frozen=True, slots=True)
class _Speaker:
    """`budget` is how many characters are read in all, `share` how many of one message."""

    weight: float
    budget: int
    share: int


_USER = _Speaker(4.0, 80_000, 6_000)
_AGENT = _Speaker(2.0, 60_000, 4_000)
_CALL = _Speaker(0.0, 20_000, 1_000)


@dataclass(slots=True)
class _Mention:
    text: str
    kind: IdentifierKind
    weight: float
    last: int
    messages: int = 1
    tools: int = 0


def select_wanted(messages: Sequence[Message], *, limit: int = LIMIT) -> tuple[str, ...]:
    """Return the identifiers that a summary of `messages` should name, the weightiest first.

    Those of the user come before those that only the agent spoke of, and these before those that
    stand in its calls alone; then counts how late and how often. Tool output names nothing by
    itself, it only raises what somebody else named. Of several spellings the last one of the
    weightiest speaker is returned; what a longer one of them names (a file its path) is not.
    Nothing is taken from a line that speaks of a secret, and what may be the secret itself is
    not taken from elsewhere either.
    """
    mentions: dict[str, _Mention] = {}
    secrets: set[str] = set()
    tools: list[str] = []
    for at, speaker, text in _read(messages, tools):
        weight = speaker.weight
        harmless, told = split_secret_lines(text)
        secrets.update(_possible_secrets(told))
        found = {form_of(one.text): one for one in find_identifiers(harmless)}
        for form, one in found.items():
            if len(one.text) > _LONGEST:
                continue
            mention = mentions.get(form)
            if mention is None:
                mentions[form] = _Mention(one.text, one.kind, weight, at)
                continue
            mention.messages += 1
            if (weight, at) > (mention.weight, mention.last):
                mention.text = one.text
            mention.weight = max(mention.weight, weight)
            mention.last = max(mention.last, at)
    ending = _begin_of_last_turns(messages)
    safe = [mention for form, mention in mentions.items() if not _is_told(form, mention, secrets)]
    ranked = _rank(safe, len(messages), ending)[: _CANDIDATES * limit]
    lowered = [text.casefold() for text in tools]
    for mention in ranked:
        written = mention.text.casefold()
        mention.tools = sum(written in text for text in lowered)
    return _without_contained(_rank(ranked, len(messages), ending), limit)


def find_missing(wanted: Sequence[str], text: str) -> tuple[str, ...]:
    """Return those of `wanted` that `text` does not name, in any spelling, in their order."""
    names = read_names(text)
    return tuple(
        identifier
        for identifier in wanted
        if not (is_named(identifier, names) or is_day_named(identifier, names))
    )


def render_missing(missing: Iterable[str], fits: Callable[[str], bool]) -> tuple[str, int]:
    """Return a list of the missing, a line each, and how many are on it.

    One after the other is added; one with which the whole would not fit is left out.
    """
    lines: list[str] = []
    for identifier in missing:
        line = _line(identifier)
        if line and fits("\n".join([*lines, line])):
            lines.append(line)
    return "\n".join(lines), len(lines)


def audit_figure(wanted: Sequence[str], missing: Sequence[str], appended: int) -> AuditFigure:
    """Return the figure of an entry: `missing` are those of `wanted` that its text lacked."""
    return AuditFigure(len(wanted), len(wanted) - len(missing), appended)


def _possible_secrets(told: str) -> Iterator[str]:
    """Yield what stands beside the name of a secret: identifiers, and words with a figure."""
    if told:
        yield from (form_of(one.text) for one in find_identifiers(told))
        for match in _WORD.finditer(told):
            if any(char.isdigit() for char in match[0]):
                yield match[0].casefold()


def _is_told(form: str, mention: _Mention, secrets: set[str]) -> bool:
    """Whether a mention may be a secret: by its kind, and by a line that spoke of one."""
    return mention.kind not in _NO_SECRETS and (
        form in secrets or mention.text.casefold() in secrets
    )


def _line(identifier: str) -> str:
    text = one_line(redact(identifier))
    if not text or len(text) > _LONGEST:
        return ""
    return f"- `` {text} ``" if "`" in text else f"- `{text}`"


def _rank(mentions: Iterable[_Mention], length: int, ending: int) -> list[_Mention]:
    """Return the weightiest first; `ending` is where the last turns begin."""

    def score(mention: _Mention) -> float:
        often = min(mention.messages + mention.tools / 2, _OFTEN) / _OFTEN
        late = (mention.last + 1) / max(length, 1)
        last = _LAST if mention.last >= ending else 0.0
        plain = mention.kind is IdentifierKind.TIME or (
            mention.kind is IdentifierKind.CODE
            and mention.text.isalpha()
            and mention.text.islower()
        )
        return mention.weight + often + late + last - _PLAIN * plain

    return sorted(mentions, key=lambda mention: (-score(mention), -mention.last, mention.text))


def _without_contained(ranked: list[_Mention], limit: int) -> tuple[str, ...]:
    """Return the best, where one names the other the fuller one, in the better's place."""
    chosen: list[tuple[str, NamedText]] = []
    for mention in ranked:
        text, names = mention.text, read_names(mention.text)
        if any(is_named(text, other) for _, other in chosen):
            continue
        shorter = [at for at, (other, _) in enumerate(chosen) if is_named(other, names)]
        if shorter:
            chosen[shorter[0]] = (text, names)
            for at in reversed(shorter[1:]):
                del chosen[at]
        elif len(chosen) < limit:
            chosen.append((text, names))
    return tuple(text for text, _ in chosen)


def _begin_of_last_turns(messages: Sequence[Message]) -> int:
    turns = 0
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        if message.role == "user" and not message.is_command and not message.is_hidden:
            turns += 1
            if turns == _LAST_TURNS:
                return at
    return 0


def _read(messages: Sequence[Message], tools: list[str]) -> Iterator[tuple[int, _Speaker, str]]:
    """Yield what was said and asked of tools: position, speaker, text.

    The first messages come first, then the newest, back to where the budget ends. What tools
    answered is put into `tools`.
    """
    left = {speaker: speaker.budget for speaker in (_USER, _AGENT, _CALL)}
    tool_left = _TOOL_BUDGET
    length = len(messages)
    for at in [*range(min(_BEGINNING, length)), *range(length - 1, _BEGINNING - 1, -1)]:
        message = messages[at]
        if max(*left.values(), tool_left) <= 0:
            return
        if message.is_command or message.is_hidden:
            continue
        role = message.role
        if role == "tool" and tool_left > 0:
            text = readable_text(message.data.get("content"), _TOOL_SHARE)
            tool_left -= len(text)
            tools.append(text)
        elif role in {"user", "assistant"}:
            for speaker, text in _texts(message, left):
                left[speaker] -= len(text)
                yield at, speaker, text


def _texts(message: Message, left: dict[_Speaker, int]) -> Iterator[tuple[_Speaker, str]]:
    content = message.data.get("content")
    # What a timer said is the agent's own business.
    speaker = _USER if message.role == "user" and not message.is_automation else _AGENT
    if message.role == "assistant" and isinstance(content, str):
        content = drop_thoughts(content)
    if left[speaker] > 0:
        yield speaker, readable_text(content, speaker.share)
    if left[_CALL] > 0 and message.makes_calls:
        yield _CALL, "\n".join(_arguments(message))


def _arguments(message: Message) -> Iterator[str]:
    """Yield the values that tools were called with, redacted while their names still tell."""
    calls = message.data.get("tool_calls")
    for call in calls[:_MOST_CALLS] if isinstance(calls, list) else []:
        function = call.get("function") if isinstance(call, dict) else None
        arguments = function.get("arguments") if isinstance(function, dict) else None
        written = arguments if isinstance(arguments, str) else json.dumps(arguments)
        clean = readable_text(written, _CALL.share)
        try:
            values = _values(json.loads(clean))
        except (ValueError, RecursionError):
            values = [clean.replace('\\"', '"').replace("\\n", "\n")]
        yield from values


def _values(value: object) -> list[str]:
    """Return the strings and numbers within a JSON value, at most some, none too long."""
    found: list[str] = []
    waiting = [value]
    while waiting and len(found) < _MOST_VALUES:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting.extend(reversed(_harmless_values(one)))
        elif isinstance(one, list):
            waiting.extend(reversed(one))
        elif isinstance(one, str) and len(one) <= _VALUE:
            found.append(one)
        elif isinstance(one, int) and not isinstance(one, bool):
            found.append(str(one))
    return found


def _harmless_values(pairs: dict[str, object]) -> list[object]:
    """Return the values without those of a secret, by their own name or by that in another one."""
    names = [one for one in pairs.values() if isinstance(one, str) and len(one) <= _NAME]
    if any(speaks_of_secret(name) for name in names if not name.startswith(_MARK)):
        return [one for one in pairs.values() if isinstance(one, dict | list)]
    return [one for name, one in pairs.items() if not speaks_of_secret(f"{name}:")]
