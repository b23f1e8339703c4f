"""Whether a compaction will be seen: the signs of a folder, and what follows from them."""

from __future__ import annotations

import json
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any

import pytest

from compactor.model import IdlePolicy
from compactor.nanobot_signs import read_signs
from compactor.ways import LIBRARY, PLUGIN, Signs, Way, WayKind, find_way
from session.adopter import Adopter, live_adopters
from session.nanobot_adoption import MINUTES_FIELD

MINUTE = timedelta(minutes=1)
NANOBOT = Signs((), is_nanobots=True, config="config.json", nanobot_after=15 * MINUTE)


def idle(ttl: timedelta | None = 10 * MINUTE, **channels: timedelta | None) -> IdlePolicy:
    """Return a policy with these TTLs."""
    return IdlePolicy(ttl, channels, (), timedelta(days=1), UTC, zone_is_local=False)


def way(signs: Signs, keep: int = 8, policy: IdlePolicy | None = None, **more: Any) -> Way:
    """Find the way with the usual configuration, some things changed."""
    return find_way(signs, policy or idle(), keep_messages=keep, **more)


def test_an_agent_that_is_stopped_reads_its_files_when_it_starts() -> None:
    """Whatever else the folder tells."""
    assert way(NANOBOT, agent_stopped=True).kind is WayKind.STOPPED


def test_an_agent_that_left_a_sign_sees_compactions() -> None:
    """Our library's manager, or nanobot with our plugin and without its own compaction."""
    assert way(Signs((LIBRARY,))).kind is WayKind.LIBRARY
    never = Signs((PLUGIN,), is_nanobots=True, config="config.json", nanobot_after=None)
    assert way(never).kind is WayKind.PLUGIN
    assert way(Signs((PLUGIN,), is_nanobots=True)).kind is WayKind.PLUGIN


def test_an_agent_that_has_left_a_sign_is_not_stopped() -> None:
    """Whoever says so is mistaken, and a commit without its manners could hurt."""
    found = way(Signs((LIBRARY,)), agent_stopped=True)
    assert not found.works
    assert "leave out --agent-stopped" in found.sentence


def test_the_plugin_beside_nanobots_own_compaction_is_no_way() -> None:
    """Nanobot would pay for a summary of its own and swallow the kept messages."""
    found = way(Signs((PLUGIN,), is_nanobots=True, config="c.json", nanobot_after=MINUTE))
    assert not found.works
    assert "idleCompactAfterMinutes to 0 in c.json" in found.sentence


@pytest.mark.parametrize(
    ("keep", "after", "policy", "kind"),
    [
        (0, 15, idle(), WayKind.IDLE_SCAN),
        (0, 10, idle(), WayKind.NONE),
        (0, 15, idle(telegram=20 * MINUTE), WayKind.NONE),
        (0, 30, idle(telegram=20 * MINUTE, cli=None), WayKind.IDLE_SCAN),
        (8, 15, idle(), WayKind.NONE),
        (0, None, idle(), WayKind.NONE),
    ],
)
def test_nanobots_idle_scan_is_a_way_if_it_comes_after_ours_and_nothing_is_kept(
    keep: int, after: int | None, policy: IdlePolicy, kind: WayKind
) -> None:
    """Each TTL of ours must be shorter than nanobot's own."""
    minutes = None if after is None else after * MINUTE
    signs = Signs((), is_nanobots=True, config="config.json", nanobot_after=minutes)
    assert way(signs, keep, policy).kind is kind


def test_without_any_way_all_ways_out_are_told() -> None:
    """The plugin, the idle scan, the stop; with the file and the figure to set."""
    found = way(NANOBOT)
    assert not found.works
    first, second, third = found.sentence.split("; or ")
    assert "install this package" in first
    assert "to 0 in config.json" in first
    assert "[keep] messages to 0" in second
    assert "above" not in second, "15 minutes are more than our TTL"
    assert "--agent-stopped" in third


def test_of_a_way_only_what_is_left_to_do_is_told() -> None:
    """Who has done a step must not wonder why it is asked for once more."""
    signs = Signs((), is_nanobots=True, config="config.json", nanobot_after=None)
    first, second, _ = way(signs, keep=0).sentence.split("; or ")
    assert "to 0" not in first
    assert "start nanobot anew" in first
    assert "messages" not in second
    assert "above 10, our longest TTL, in config.json, start nanobot anew" in second


@pytest.mark.parametrize(
    ("keep", "after", "idle_minutes", "reached"),
    [(8, 15, 14, True), (8, 15, 15, False), (0, 15, 99, True), (8, None, 99, True)],
)
def test_what_nanobot_compacts_itself_at_its_start_is_not_reached(
    keep: int, after: int | None, idle_minutes: int, reached: bool
) -> None:
    """It swallows kept messages, unless its own compaction is off or nothing is kept."""
    minutes = None if after is None else after * MINUTE
    signs = Signs((), is_nanobots=True, config="config.json", nanobot_after=minutes)
    found = way(signs, keep, agent_stopped=True)
    assert found.works
    assert found.reaches(idle_minutes * MINUTE) == reached


def test_where_there_is_no_sign_of_nanobot_a_pass_goes_on() -> None:
    """Other agents read their files afresh."""
    assert way(Signs()).works
    assert way(Signs()).kind is WayKind.UNKNOWN


def nanobots(root: Path, **defaults: object) -> Path:
    """Return a folder of sessions as nanobot 0.3.5 lays it out."""
    folder = root / "sessions" / ("a" * 32)
    folder.mkdir(parents=True)
    (folder / ".workspace").write_text("/somewhere")
    config = {"agents": {"defaults": defaults}}
    (root / "config.json").write_text(json.dumps(config))
    return folder


@pytest.mark.parametrize(
    ("defaults", "after"),
    [
        ({}, 15 * MINUTE),
        ({"idleCompactAfterMinutes": 0}, None),
        ({"idleCompactAfterMinutes": 45}, 45 * MINUTE),
        ({"sessionTtlMinutes": 30}, 30 * MINUTE),
        ({"idleCompactAfterMinutes": "soon"}, None),
        ({"idleCompactAfterMinutes": 2**63 - 1}, None),
        ({"idleCompactAfterMinutes": float("nan")}, None),
        ({"idleCompactAfterMinutes": float("inf")}, None),
    ],
)
def test_nanobots_own_setting_is_read(
    tmp_path: Path, defaults: dict[str, object], after: timedelta | None
) -> None:
    """From its `config.json` above the sessions; 15 minutes where it says nothing."""
    signs = read_signs(nanobots(tmp_path, **defaults))
    assert signs == Signs((), is_nanobots=True, config=signs.config, nanobot_after=after)
    assert signs.config == str(tmp_path / "config.json")


def test_a_folder_without_a_configuration_is_nanobots_by_its_marker(tmp_path: Path) -> None:
    """What its settings are nobody knows then."""
    folder = nanobots(tmp_path)
    (tmp_path / "config.json").write_text("// no JSON")
    assert read_signs(folder) == Signs((), is_nanobots=True)
    (folder / ".workspace").unlink()
    assert read_signs(folder) == Signs()
    (tmp_path / "config.json").write_text('{"agents": []}')
    assert read_signs(folder) == Signs()


def test_signs_count_while_their_agents_live(tmp_path: Path) -> None:
    """A file that nobody holds is stale, and looking at it removes nothing."""
    assert live_adopters(tmp_path) == []
    sign = Adopter(tmp_path, PLUGIN)
    (tmp_path / ".compactor" / "adopter-stale.json").write_text('{"kind": "library"}')
    assert [one["kind"] for one in live_adopters(tmp_path)] == [PLUGIN]
    assert read_signs(tmp_path).adopters == (PLUGIN,)
    sign.close()
    assert live_adopters(tmp_path) == []


@pytest.mark.parametrize(("running", "after"), [(0, None), (15, 15 * MINUTE)])
def test_a_running_nanobot_says_itself_when_it_compacts(
    tmp_path: Path, running: int, after: timedelta | None
) -> None:
    """Its configuration may have been changed since it began, or stand in its environment."""
    folder = nanobots(tmp_path, idleCompactAfterMinutes=15 - running)
    sign = Adopter(folder, PLUGIN, **{MINUTES_FIELD: running})
    assert read_signs(folder).nanobot_after == after
    assert way(read_signs(folder)).works == (running == 0)
    sign.close()
    unmarked = tmp_path / "far" / "from" / "there"
    unmarked.mkdir(parents=True)
    sign = Adopter(unmarked, PLUGIN, **{MINUTES_FIELD: running})
    assert read_signs(unmarked) == Signs((PLUGIN,), is_nanobots=True, nanobot_after=after)
    sign.close()
