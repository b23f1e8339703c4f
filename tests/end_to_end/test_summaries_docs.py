"""docs/summaries.md is held against the code: its tables, its lists, and its example."""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from compactor.audit import LIMIT
from compactor.entry import FRAME, Heading
from compactor.errors import FailureKind
from compactor.identifiers.forms import is_named, read_names
from compactor.identifiers.rules import IdentifierKind
from compactor.language import Script, find_foreign_script
from compactor.redact import redact
from compactor.refusals import Refusal
from compactor.secret_rules import RULES
from compactor.summary_prompt import VERSION
from tests.end_to_end.support import ROOT, SAMPLES, Invoke
from tests.endpoint.attacks import LANDS
from tests.endpoint.hostile import ROWS
from tests.endpoint.server import Server, answer

if TYPE_CHECKING:
    import pytest

TEXT = (ROOT / "docs" / "summaries.md").read_text("utf-8")
FLAT = " ".join(TEXT.split())
SESSION, KEY = "dGVsZWdyYW06YWlybGluZS0z", "telegram:airline-3"
# Where a sentence is made elsewhere: `Refusal`, and `find_foreign_script`.
ELSEWHERE = {"fault", "problem"}
CONFIG = """\
[llm]
base_url = "{url}"
model = "my-model"
api_key_env = ""
"""


def table(heading: str) -> list[list[str]]:
    """The rows of the first table under a heading, without their ends."""
    part = TEXT.split(f"\n{heading}\n", 1)[1].split("\n#", 1)[0]
    rows = [line.strip("|").split("|") for line in part.split("\n") if line.startswith("| `")]
    return [[cell.strip() for cell in row] for row in rows]


def written(node: ast.expr) -> str | None:
    """A text as the docs write it: every figure in it is a letter."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else "N" for part in node.values
        )
    return None


def sentences_of(function: ast.FunctionDef) -> Iterator[str]:
    """Every problem of a bad summary that a function tells, or the name that stands for it."""
    named: dict[str, list[str]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            text = written(node.value)
            named.setdefault(node.targets[0].id, []).extend([text] if text else [])
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "SummaryError":
            kind, problem = node.args
            if ast.unparse(kind) == "FailureKind.BAD_SUMMARY":
                name = ast.unparse(problem)
                text = written(problem)
                yield from [text] if text else named.get(name) or [name]


def told_by_code() -> set[str]:
    """Every sentence with which the code refuses what an engine wrote."""
    trees = [ast.parse(path.read_text()) for path in (ROOT / "compactor").rglob("*.py")]
    functions = [node for tree in trees for node in ast.walk(tree)]
    found = {
        sentence
        for function in functions
        if isinstance(function, ast.FunctionDef)
        for sentence in sentences_of(function)
    }
    assert found >= ELSEWHERE
    foreign = find_foreign_script("- " + "and so on it goes " * 20, ["请帮我看看这个问题" * 9])
    assert foreign is not None
    scripts = "|".join(Script)
    return found - ELSEWHERE | set(Refusal) | {re.sub(scripts, "N", foreign)}


def test_the_table_of_refusals_is_that_of_the_code() -> None:
    """Each sentence by which an answer is refused, and no other; a letter stands for a figure."""
    rows = table("## What is checked, and what happens then")
    shown = [re.sub(r"\b[NMPS]\b", "N", row[0].strip("`")) for row in rows]
    assert set(shown) == told_by_code()
    assert len(shown) == len(set(shown))


def test_a_refusal_of_the_model_itself_is_told_as_it_is() -> None:
    """It is no bad summary, and its sentence stands beside the table."""
    assert f"the reason `{FailureKind.REFUSED}`" in TEXT
    said = (ROOT / "compactor" / "llm_faults.py").read_text()
    assert '"the model refuses to summarize"' in said
    assert "`the model refuses to summarize`" in TEXT


def test_every_kind_of_secret_and_of_identifier_is_listed() -> None:
    """Under its own heading, each once."""
    secrets = TEXT.split("\n## Secrets\n")[1].split("\nA secret needs")[0]
    kinds = re.findall(r"`([a-z_]+)`", secrets)
    assert sorted(kinds) == sorted({rule.kind for rule in RULES})
    audit = TEXT.split("\n## The audit\n")[1].split("\nThe best")[0]
    assert re.findall(r"`([a-z]+)`", audit) == list(IdentifierKind)
    assert f"The best {LIMIT} count" in TEXT


def test_what_is_said_to_stay_stays_and_what_is_said_to_go_goes() -> None:
    """The examples of what is no secret by its form."""
    rows = table("## Secrets")
    assert len(rows) >= 5
    for row in rows:
        example = row[0].strip("`")
        assert redact(example) == example
    assert "`password: sunshine` is redacted" in TEXT
    assert redact("password: sunshine") == "password: [redacted:password]"


def test_the_headings_are_those_of_an_entry_in_their_order() -> None:
    """Those of the engine, then those that are quoted."""
    assert [row[0].strip("`") for row in table("## What an entry holds")] == list(Heading)


def test_the_spellings_that_are_called_the_same_are_the_same() -> None:
    """The example of the audit."""
    one, other = re.findall(r"\(`([^`]+)` is `([^`]+)`\)", TEXT)[0]
    assert is_named(one, read_names(f"- {other}"))


def test_the_figures_of_the_hostile_transcripts_are_those_of_the_table() -> None:
    """How many there are, how many are refused, told once, and land."""
    landed = sum(row.outcome is LANDS for row in ROWS)
    once = sum(row.once for row in ROWS)
    assert f"with {len(ROWS)} hostile transcripts" in FLAT
    assert f"{len(ROWS) - landed - once} of the {len(ROWS)} answers are refused" in FLAT
    assert f"and {once} are told of it once" in FLAT
    assert f" {landed} land at once" in FLAT


def test_the_file_of_the_instructions_is_named() -> None:
    """With its version, and with the placeholders and parts that the code fills."""
    name = f"compactor/prompts/{VERSION}.txt"
    assert f"`{name}`" in TEXT
    prompt = (ROOT / name).read_text()
    for word in ("{mark}", "{words}"):
        assert word in prompt
        assert f"`{word}`" in TEXT
    for part in re.findall(r"(?m)^- ([A-Z ]{8,}):", prompt):
        assert f"`{part}`" in FLAT


def test_the_example_is_what_show_prints(
    tmp_path: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for the times: a model that answers so leads to that entry, that audit and that cost."""
    [shown] = re.findall(r"```text\n(48 of 60.*?)\n```", TEXT, re.DOTALL)
    notes = shown.split(f"{FRAME}\n\n")[1].split("\n- `")[0]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sessions").mkdir()
    shutil.copy2(SAMPLES / f"{SESSION}.jsonl", tmp_path / "sessions")
    with Server() as server:
        server.play(answer(notes, usage=None))
        (tmp_path / "config.toml").write_text(CONFIG.format(url=server.url))
        assert invoke("once", "--agent-stopped").code == 0
        printed = invoke("show", KEY).out
        assert len(server.requests) == 1

    times = re.compile(r" at 2[\d:TZ-]+|[\d.]+ s$|7,\d\d\d tokens in", re.MULTILINE)
    assert times.sub("", shown) in times.sub("", printed)
