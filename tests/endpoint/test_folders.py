"""Several folders, as nanobot keeps one for each workspace: one that is amiss stops no other."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from session.jsonl_store import JsonlStore
from tests.end_to_end.support import Invoke
from tests.endpoint.server import Server
from tests.endpoint.support import OTHERS, SHORT, Place
from tests.endpoint.test_run import passes, running


@pytest.fixture
def several(bare: Place) -> Place:
    """Two workspaces with a session each; `sessions` is the folder above them."""
    for stem, name in ((SHORT, "a"), (OTHERS[0], "b")):
        bare.add(stem)
        (bare.sessions / name).mkdir()
        bare.path(stem).rename(bare.sessions / name / f"{stem}.jsonl")
    return bare


def use_glob(place: Place) -> None:
    """Let the configuration name all workspaces."""
    config = place.folder / "config.toml"
    config.write_text(config.read_text().replace("jsonl:sessions", "jsonl:sessions/*"))


def block(folder: Path) -> None:
    """Put something in the way of our own folder, so that nothing can be written."""
    (folder / ".compactor").write_text("in the way")


def test_a_pass_works_on_the_others_and_says_what_is_wrong(several: Place, invoke: Invoke) -> None:
    """In the document, and with its exit code in the end."""
    use_glob(several)
    block(several.sessions / "b")
    ran = invoke("once", "--json")
    assert ran.code == 69
    assert ran.json["compacted"] == 1
    assert "must be a folder of our own" in ran.json["problems"][0]
    assert str(several.sessions / "b") in ran.err
    assert invoke("check").code == 69
    (several.sessions / "b" / ".compactor").unlink()
    assert invoke("once", "--json").json["compacted"] == 1


def test_where_none_can_be_used_it_is_an_error_as_ever(several: Place, invoke: Invoke) -> None:
    """There is nothing to work on."""
    use_glob(several)
    for name in ("a", "b"):
        block(several.sessions / name)
    ran = invoke("once", "--json")
    assert ran.code == 69
    assert ran.out == ""


def test_a_folder_that_another_worker_holds_is_left_to_it(several: Place, invoke: Invoke) -> None:
    """The exit code says so."""
    use_glob(several)
    with JsonlStore([several.sessions / "b"]).exclusive():
        ran = invoke("once", "--json")
    assert ran.code == 75
    assert ran.json["compacted"] == 1
    assert ran.json["scanned"] == 1


def test_what_is_remembered_of_a_folder_that_is_left_out_stays(
    several: Place, invoke: Invoke
) -> None:
    """Its sessions are not listed, but they were not deleted."""
    use_glob(several)
    assert invoke("once").code == 0
    shutil.rmtree(several.sessions / "b" / ".compactor")
    block(several.sessions / "b")
    assert invoke("once").code == 69
    assert several.journal("SELECT count(*) FROM memory WHERE landed IS NOT NULL") == [(2,)]


def test_a_worker_tells_it_once_and_takes_it_up_when_it_is_mended(
    several: Place, server: Server
) -> None:
    """Its passes go on meanwhile."""
    block(several.sessions / "b")
    glob = f"jsonl:{several.sessions}/*"
    with running(several, "--store", glob) as worker:
        told = worker.wait_for("place_left_out")
        assert told["reason"] == "store_unavailable"
        worker.wait_for("session_compacted")
        worker.wait_for_passes(3)
        assert worker.count("place_left_out") == 1
        (several.sessions / "b" / ".compactor").unlink()
        worker.wait_for("session_compacted", 2)
        assert worker.stop() == 0
    assert {outcome for outcome, _ in passes(several)} == {"done"}
    assert len(server.requests) == 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look into any folder")
def test_a_folder_that_is_closed_to_us_is_named(several: Place, invoke: Invoke) -> None:
    """And the way out; the others are looked at."""
    use_glob(several)
    (several.sessions / "b").chmod(0)
    try:
        for command in ("scan", "once"):
            ran = invoke(command, "--json")
            assert ran.code == 69
            assert ran.json["due"] == 1
            assert "permission denied" in ran.err
    finally:
        (several.sessions / "b").chmod(0o700)
