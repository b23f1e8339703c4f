"""A tool call's arguments made harmless and short, and still JSON.

They are made shorter inside of what they hold, so that all their short values stay: long texts lose
their middle first, then long lists and objects theirs. Secrets are redacted before anything is cut,
while their names still stand in front of them.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from compactor.readable import GAP, cut_middle, readable_text
from compactor.redact import redact

if TYPE_CHECKING:
    from collections.abc import Callable

_DEEPEST = 50  # levels; deeper is no list of arguments
_SHORTEST = 40  # characters that a text is cut to at least
_FEWEST = 4  # items of a list or an object that are left at least
_NAME = 120  # characters of a name within an object
_VERY_LONG = 30_000  # characters of a text that is read at its ends only
# A secret of more characters is not known by its form any more, only by its name.
_LONG_SECRET = 200
_PROBE = "Zk4Rv9Xq2Lm7Bn5PWc3Jh8YtGf6DsA1"
_MARK = re.compile(r"\[redacted:\w+\]")
_TEXT_OR_MARK = re.compile(r"\"(?:[^\"\\]|\\.)*+\"|(?P<bare>\[redacted:\w+\])")


class _TooDeepError(ValueError):
    """The value is nested too deep."""


def shorten_arguments(arguments: object, limit: int) -> str:
    """Return arguments as JSON text of at most `limit` characters, without a secret in it.

    `arguments` is a value or JSON text. What is no JSON, is nested deep or can't be made that short
    is returned as `readable_text` has it. Takes linear time, never raises.
    """
    try:
        text = arguments if isinstance(arguments, str) else _write(arguments)
    except (ValueError, TypeError, RecursionError):
        return ""
    try:
        value = _clean(json.loads(text, strict=False), limit)
        short = _fit(value, limit)
    except (ValueError, RecursionError):
        short = None
    return readable_text(text, limit) if short is None else short


def _write(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _clean(value: object, limit: int) -> object:
    """Return a JSON value without secrets, base64 and what is unseen."""
    written = _write(_map_texts(value, lambda text, name: _shrink(text, name, limit)))
    # As a whole first, where each text still has its name ahead of it.
    redacted = redact(written)
    if redacted != written:
        redacted = _TEXT_OR_MARK.sub(_quote, redacted)
    return _map_texts(json.loads(redacted), lambda text, _: _harmless(text))


def _quote(match: re.Match[str]) -> str:
    """Return a mark in quotes, if it stands in the place of a number; a text as it is."""
    return f'"{match[0]}"' if match["bare"] else match[0]


def _shrink(text: str, name: str, limit: int) -> str:
    """Return a text so short that all of it can be read, and no half of a secret with it."""
    if len(text) > _LONG_SECRET and (mark := _mark_of(name[:_NAME])):
        return mark
    return text if len(text) <= _VERY_LONG else readable_text(text, limit)


@lru_cache(maxsize=1024)
def _mark_of(name: str) -> str:
    """Return the mark in place of a secret that stands behind such a name; empty for none."""
    found = _MARK.search(redact(_write({name: _PROBE})))
    return found[0] if found else ""


def _harmless(text: str) -> str:
    return readable_text(text, 64 * len(text) + 64)  # a mark is longer than what it stands for


def _map_texts(
    value: object, change: Callable[[str, str], str], name: str = "", depth: int = 0
) -> object:
    """Return a value with every text in it changed, names too; texts in a list have its name."""
    if depth > _DEEPEST:
        raise _TooDeepError
    if isinstance(value, str):
        return change(value, name)
    if isinstance(value, list):
        return [_map_texts(item, change, name, depth + 1) for item in value]
    if isinstance(value, dict):
        return {
            change(key, ""): _map_texts(item, change, key, depth + 1) for key, item in value.items()
        }
    return value


def _fit(value: object, limit: int) -> str | None:
    """Return a value as text of at most `limit` characters, None if there is no way."""

    def write(longest: int, most: int) -> str:
        return _write(_trim(value, longest, most))

    whole = _write(value)
    if len(whole) <= limit:
        return whole
    # Lists and objects stay whole if that can be, else half of the room is theirs.
    most = len(whole)
    if len(write(_SHORTEST, most)) > limit:
        most = _largest(_FEWEST, limit, lambda size: len(write(_SHORTEST, size)) <= limit // 2)
    longest = _largest(_SHORTEST, limit, lambda size: len(write(size, most)) <= limit)
    short = write(longest, most)
    return short if len(short) <= limit else None


def _largest(low: int, high: int, fits: Callable[[int], bool]) -> int:
    """Return the largest size that fits, `low` if none does."""
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _trim(value: Any, longest: int, most: int) -> object:  # noqa: ANN401 - any JSON value
    """Return a value whose texts have at most `longest` characters, its lists `most` items."""
    if isinstance(value, str):
        return cut_middle(value, longest)
    if isinstance(value, list):
        items = [_trim(item, longest, most) for item in _ends(value, most)]
        if len(value) > most:
            items.insert(most - most // 3, f"{GAP} {len(value) - most} more")
        return items
    if isinstance(value, dict):
        pairs = [
            (cut_middle(name, _NAME), _trim(item, longest, most))
            for name, item in _ends(list(value.items()), most)
        ]
        if len(value) > most:
            pairs.insert(most - most // 3, (GAP, f"{len(value) - most} more"))
        return dict(pairs)
    return value


def _ends(items: list[Any], most: int) -> list[Any]:
    if len(items) <= most:
        return items
    tail = most // 3
    return items[: most - tail] + items[len(items) - tail :]
