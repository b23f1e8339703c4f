"""What the tests of `compactor check` ask of a line, and how they follow a remedy to the letter."""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.end_to_end.support import Invoke

_COMMAND = re.compile(r"`([^`]+)`")
_SETTING = re.compile(r'\[([a-z.]+)\] ([\w-]+) = ("[^"]*"|\d+)')


@dataclass(frozen=True)
class Line:
    """One line of a check, as its document has it."""

    name: str
    state: str
    detail: str
    remedy: str

    def run_command(self) -> None:
        """Type the first command of the remedy, as it stands."""
        command = _COMMAND.findall(self.remedy)[0]
        subprocess.run(["/bin/sh", "-c", command], check=True)

    def settings(self) -> list[tuple[str, str, str]]:
        """Every setting that the remedy spells out: section, key, and value as TOML."""
        return _SETTING.findall(self.remedy)

    def set_in(self, file: Path, number: int = 0) -> None:
        """Write the first setting of the remedy, or another one, into a configuration."""
        section, key, value = self.settings()[number]
        write_setting(file, section, key, value)


def write_setting(file: Path, section: str, key: str, value: str) -> None:
    """Set one key in a file, in place of what it said."""
    lines = [
        line
        for line in file.read_text().splitlines()
        if not re.match(rf"{key} *=", line) or section == "idle.channels"
    ]
    if f"[{section}]" not in lines:
        lines.append(f"[{section}]")
    lines.insert(lines.index(f"[{section}]") + 1, f"{key} = {value}")
    file.write_text("\n".join([*lines, ""]))
    tomllib.loads(file.read_text())


def read_lines(document: Any) -> dict[str, Line]:
    """The lines of a document by name; whatever is amiss has a way out."""
    lines = {
        found["name"]: Line(found["name"], found["state"], found["detail"], found["remedy"] or "")
        for found in document["findings"]
    }
    for line in lines.values():
        assert bool(line.remedy) == (line.state != "ok"), line
    return lines


def look(invoke: Invoke, *arguments: str) -> tuple[int, dict[str, Line]]:
    """Run `check`, and return its exit code and its lines."""
    ran = invoke("check", "--json", *arguments)
    return ran.code, read_lines(ran.json)


def assert_healthy(invoke: Invoke) -> None:
    """Everything is well, and a person sees the same."""
    code, lines = look(invoke)
    assert {name: line for name, line in lines.items() if line.state != "ok"} == {}
    assert code == 0
    told = invoke("check")
    assert (told.code, "->" in told.out) == (0, False)


@dataclass(frozen=True)
class Case:
    """A way to break a set-up, the line that tells of it, and how its remedy is followed."""

    name: str
    break_it: Callable[[Path], None]
    line: str
    state: str
    code: int
    words: str
    follow: Callable[[Line, Path], None]


def run_case(case: Case, place: Path, invoke: Invoke) -> None:
    """Break it, see it told in a document and to a person, follow the remedy, and all is well."""
    assert_healthy(invoke)
    case.break_it(place)

    code, lines = look(invoke)
    line = lines[case.line]
    told = invoke("check")

    assert (line.state, code, told.code) == (case.state, case.code, case.code), line
    assert case.words in line.detail, line.detail
    assert re.search(rf"^{case.state} +{case.line} ", told.out, re.MULTILINE), told.out
    for remedy in line.remedy.splitlines():
        assert f"-> {remedy}\n" in told.out
    case.follow(line, place)
    assert_healthy(invoke)


def change(old: str, new: str) -> Callable[[Path], None]:
    """Put something else into the configuration."""

    def break_it(place: Path) -> None:
        file = place / "config.toml"
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new))

    return break_it


def obey(line: Line, place: Path) -> None:
    """Set what the remedy says."""
    line.set_in(place / "config.toml")


def type_in(line: Line, place: Path) -> None:
    """Type the command of the remedy."""
    line.run_command()
