"""The documentation is held against the program: nothing undocumented, nothing made up."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from compactor import errors as compactor_errors
from compactor.checks.finding import Line
from compactor.cli import INTERRUPTED_EXIT, cli
from compactor.config import Config
from compactor.entry import Heading
from compactor.errors import FailureKind
from compactor.events import Event
from compactor.model import Outcome, Reason
from compactor.pass_log import PassOutcome
from session import errors as session_errors
from session.record import StampDict
from tests.end_to_end.support import ROOT, copy_sessions

DOCS = ROOT / "docs"
COMMANDS = (DOCS / "commands.md").read_text()


def test_every_command_and_option_is_documented() -> None:
    """Each stands in docs/commands.md as it is typed."""
    for name, command in cli.commands.items():
        assert f"`compactor {name}" in COMMANDS, name
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                spelled = parameter.opts[-1]
                row = re.search(
                    rf"^\| `{spelled}[^|]*\| [^|]*(?:`{name}`|all)", COMMANDS, re.MULTILINE
                )
                assert row, f"{name} {spelled}"


def test_no_option_is_made_up() -> None:
    """Every option in the docs belongs to a command."""
    known = {
        opt for command in [cli, *cli.commands.values()] for p in command.params for opt in p.opts
    } | {"-h", "--help"}
    assert set(re.findall(r"^\| `(--[a-z-]+)", COMMANDS, re.MULTILINE)) <= known


def test_every_key_of_the_configuration_is_documented_with_its_default() -> None:
    """docs/configuration.md has a row for each, and no other."""
    text = (DOCS / "configuration.md").read_text()
    rows = dict(re.findall(r"^\| `([a-z.]+_?[a-z_]*)` \| `(.*?)` \|", text, re.MULTILINE))
    keys = {
        f"{section}.{key}"
        for section, field in Config.model_fields.items()
        for key in field.default.__class__.model_fields
    }
    assert set(rows) == keys


@pytest.mark.parametrize("word", [*Outcome, *Reason, *FailureKind, "changed"])
def test_every_outcome_and_reason_is_documented(word: str) -> None:
    """An operator who reads a code in a report finds it in docs/commands.md."""
    assert f"`{word}`" in COMMANDS


def test_every_event_of_the_log_is_documented_and_none_is_made_up() -> None:
    """Their names are a promise to whoever filters the log."""
    documented = COMMANDS[COMMANDS.index("## The log") :]
    rows = re.findall(r"^\| (`[a-z_]+`(?:, `[a-z_]+`)*) \|", documented, re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`([a-z_]+)`", row)} == set(Event)


def test_every_outcome_of_a_pass_is_documented() -> None:
    """An operator who reads `status` finds it in docs/commands.md."""
    table = COMMANDS[COMMANDS.index("## How a pass ended") : COMMANDS.index("## The log")]
    assert set(re.findall(r"^\| `([a-z]+)` \|", table, re.MULTILINE)) == set(PassOutcome)


def test_every_test_that_the_docs_name_is_there() -> None:
    """Figures come from commands, and the commands name tests."""
    text = "".join(path.read_text() for path in DOCS.glob("*.md"))
    named = set(re.findall(r"(?:tests/[a-z_]+/)?test_[a-z_]+\.py", text))
    known = {str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py")}
    assert named
    assert {name for name in named if not any(one.endswith(name) for one in known)} == set()


def test_the_exit_codes_are_those_of_the_errors() -> None:
    """The table in the docs and the error classes agree."""
    table = {int(code) for code in re.findall(r"^\| (\d+) \|", COMMANDS, re.MULTILINE)}
    classes = [
        value
        for module in (compactor_errors, session_errors)
        for value in vars(module).values()
        if isinstance(value, type) and hasattr(value, "exit_code")
    ]
    assert table == {0, 2, INTERRUPTED_EXIT} | {value.exit_code for value in classes}


def test_every_line_of_a_check_is_documented() -> None:
    """The table of docs/commands.md names them all, in their order, and no other."""
    table = COMMANDS.partition("## The lines of `check`")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `([a-z ]+)` \|", table, re.MULTILINE) == list(Line)


def test_the_stamp_and_the_headings_are_documented() -> None:
    """docs/format.md names every field of a stamp and every heading of an entry."""
    text = (DOCS / "format.md").read_text()
    for word in [*StampDict.__annotations__, *Heading]:
        assert f"`{word}`" in text, word


def test_the_library_example_of_the_readme_runs(place: Path) -> None:
    """The code that an agent's developer would copy works as it stands."""
    copy_sessions(ROOT / "compactor" / "samples", place / "sessions")
    code = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[0]
    names: dict[str, object] = {}
    exec(code.replace("/path/to/sessions", str(place / "sessions")), names)  # noqa: S102 - it is ours
    assert names["messages"]


def test_the_make_targets_of_the_readme_exist() -> None:
    """Every `make` line of the README names a target of the Makefile."""
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"make ([a-z]+)", (ROOT / "README.md").read_text()))
    assert named - {"demo"} <= targets
    assert "demo" in targets
