"""The corpora of planted secrets and of innocent strings, read from their files."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

_HERE = Path(__file__).parent
_MARKED = re.compile("«([^»]*)»")
_LINE_END = re.compile(r"\n|\\+n")
_BREAK = "¦"  # keeps scanners of repositories from taking a line for a leak
_SHORTEST = 4  # characters of a line that tell anything


@dataclass(frozen=True)
class Planted:
    """A text with secrets in it. `left` is what must be left, with `[redacted]` in their places."""

    name: str
    text: str
    secrets: tuple[str, ...]
    left: str

    @property
    def pieces(self) -> tuple[str, ...]:
        """What must not be found anywhere: every secret, line by line where it has lines."""
        lines = (line.strip(" >") for secret in self.secrets for line in _LINE_END.split(secret))
        return tuple(line for line in lines if len(line) >= _SHORTEST and "-----" not in line)


def read_planted() -> list[Planted]:
    """Return the planted secrets."""
    data = tomllib.loads((_HERE / "planted_secrets.toml").read_text(encoding="utf-8"))
    found = []
    for group, texts in data.items():
        for name, marked in texts.items():
            joined = marked.replace(_BREAK, "")
            text = joined.replace("«", "").replace("»", "")
            left = _MARKED.sub("[redacted]", joined)
            found.append(Planted(f"{group}-{name}", text, tuple(_MARKED.findall(joined)), left))
    return found


def read_innocent() -> list[str]:
    """Return the strings that only look like secrets."""
    data = tomllib.loads((_HERE / "innocent_strings.toml").read_text(encoding="utf-8"))
    return [text for texts in data.values() for text in texts]
