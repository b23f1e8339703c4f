"""The README's own commands, with its own configuration, against a server on loopback."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.end_to_end.support import ROOT, SAMPLES, Invoke, copy_sessions
from tests.endpoint.material import well_informed
from tests.endpoint.server import Server
from tests.endpoint.support import Place

if TYPE_CHECKING:
    import pytest

README = (ROOT / "README.md").read_text()


def test_the_commands_of_the_readme_run(bare: Place, server: Server, invoke: Invoke) -> None:
    """Each `compactor` line does what it says, on real sessions, and the model is asked."""
    copy_sessions(SAMPLES, bare.sessions)
    server.answer_by(well_informed)
    [config] = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)
    (bare.folder / "config.toml").write_text(re.sub(r"http://[^\"]+", server.url, config))
    lines = re.findall(r"`?compactor ((?:scan|once|show|undo|check)[^`\n]*)", README)
    assert len(lines) >= 6
    for line in lines:
        arguments = line.replace("/path/to/sessions", "sessions").replace("KEY", "cli:pi-coding")
        ran = invoke(*arguments.split())
        assert ran.code == 0, ran.out
    assert {request.json["model"] for request in server.requests} == {"my-model"}
    assert len(server.requests) >= 4


def test_without_a_key_the_way_out_is_told(
    bare: Place, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shipped configuration asks a provider: without a key nothing is paid."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    copy_sessions(SAMPLES, bare.sessions)
    (bare.folder / "config.toml").write_bytes((ROOT / "config.toml").read_bytes())
    before = bare.files()

    ran = invoke("once", "--agent-stopped")

    assert ran.code == 78
    assert "OPENAI_API_KEY" in ran.err
    assert "--engine digest" in ran.err
    assert bare.files() == before
    assert invoke("scan").code == 0
    assert invoke("once", "--engine", "digest", "--agent-stopped").code == 0
    assert bare.files() != before
