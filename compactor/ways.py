"""The way by which an agent will come to see a compaction, or the lack of one.

A running nanobot never looks at a cached session's file again. So where a folder is nanobot's, one
of three ways must be in force: an adopter in its process, its own idle scan, or that it is stopped.
Where none is, nothing may be paid for. The rules were measured on nanobot 0.3.5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from compactor.durations import say_span

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compactor.model import IdlePolicy

LIBRARY, PLUGIN = "library", "nanobot-plugin"
MINUTES_KEY = "agents.defaults.idleCompactAfterMinutes"


class WayKind(StrEnum):
    """How a compaction comes to have an effect."""

    STOPPED = "stopped"  # the agent reads its files when it starts
    LIBRARY = "library"  # an agent on our session manager is running
    PLUGIN = "plugin"  # a nanobot with our plugin is running
    IDLE_SCAN = "idle_scan"  # nanobot's own idle scan will read the files again
    UNKNOWN = "unknown"  # no sign of nanobot: other agents read their files afresh
    NONE = "none"  # nanobot will write over it


@dataclass(frozen=True, slots=True)
class Signs:
    """What a folder of sessions tells of its agents.

    `adopters` are the kinds of those that said they look at the files. `config` is nanobot's own
    configuration, where it was found, and `nanobot_after` when nanobot compacts an idle session
    itself, None for never: as a running one with our plugin says, else as its configuration does.
    Both count only if the folder `is_nanobots`.
    """

    adopters: tuple[str, ...] = ()
    is_nanobots: bool = False
    config: str | None = None
    nanobot_after: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Way:
    """The way in force in a folder, in a sentence that ends with what to do where there is none.

    It works for sessions that have been left alone for less than `within`, None for all.
    """

    kind: WayKind
    sentence: str
    within: timedelta | None = None

    @property
    def works(self) -> bool:
        """Whether a compaction will have an effect, as far as anybody can tell."""
        return self.kind is not WayKind.NONE

    def reaches(self, idle: timedelta | None) -> bool:
        """Whether a session that has been left alone for so long will be seen compacted."""
        return self.works and (self.within is None or (idle is not None and idle < self.within))


def find_way(
    signs: Signs, idle: IdlePolicy, *, keep_messages: int, agent_stopped: bool = False
) -> Way:
    """Return the way in force for these signs and this configuration of ours."""
    if agent_stopped:
        return _while_stopped(signs, keep_messages)
    if PLUGIN in signs.adopters:
        return _beside_plugin(signs)
    if LIBRARY in signs.adopters:
        return Way(WayKind.LIBRARY, "a running agent looks at its files before each turn")
    if not signs.is_nanobots:
        told = "no agent has left a sign; one that reads its files afresh sees compactions"
        return Way(WayKind.UNKNOWN, told)
    return _without_plugin(signs, idle, keep_messages)


def _while_stopped(signs: Signs, keep_messages: int) -> Way:
    if signs.adopters:
        told = "an agent that looks at its files is running here: leave out --agent-stopped"
        return Way(WayKind.NONE, told)
    told = "the agent is stopped, and reads its files when it starts"
    after = signs.nanobot_after
    if after is None or not keep_messages:
        return Way(WayKind.STOPPED, told)
    told += (
        f"; nanobot then compacts what was left alone for {say_span(after)} by itself and swallows "
        f"the kept messages: set {MINUTES_KEY} to 0 in {_where(signs)}, or [keep] messages to 0 "
        "in our config.toml"
    )
    return Way(WayKind.STOPPED, told, within=after)


def _beside_plugin(signs: Signs) -> Way:
    if signs.nanobot_after is not None:
        told = (
            "nanobot runs with our plugin and compacts idle sessions itself, which swallows the "
            f"kept messages: set {MINUTES_KEY} to 0 in {_where(signs)}, and start it anew"
        )
        return Way(WayKind.NONE, told)
    return Way(WayKind.PLUGIN, "nanobot runs with our plugin")


def _without_plugin(signs: Signs, idle: IdlePolicy, keep_messages: int) -> Way:
    ttls = [ttl for ttl in (idle.ttl, *idle.channels.values()) if ttl is not None]
    longest = max(ttls, default=timedelta(0))
    after = signs.nanobot_after
    is_later = after is not None and after > longest
    if after is not None and is_later and keep_messages == 0:
        told = f"nanobot's own idle scan adopts it after {say_span(after)}"
        return Way(WayKind.IDLE_SCAN, told)
    minutes = math.ceil(longest / timedelta(minutes=1))
    where = _where(signs)
    plugin = ["install this package beside nanobot, if it is not there"]
    scan = []
    if after is not None:
        plugin.append(f"set {MINUTES_KEY} to 0 in {where}")
    if keep_messages:
        scan.append("set [keep] messages to 0 in our config.toml")
    if not is_later:
        scan.append(f"set {MINUTES_KEY} above {minutes}, our longest TTL, in {where}")
        scan.append("start nanobot anew")
    told = (
        "nanobot, if it runs, would write over it. "
        f"(1) {', '.join(plugin)}, and start nanobot anew; or "
        f"(2) {', '.join(scan)}; or "
        "(3) stop nanobot, run `compactor once --agent-stopped`, and start it. See docs/nanobot.md"
    )
    return Way(WayKind.NONE, told)


def _where(signs: Signs) -> str:
    return signs.config or "nanobot's config.json"


def say_ways(ways: Mapping[str, Way], *, always_name: bool = False) -> list[str]:
    """Return a line for each way that is in force; it names its folders where there are several."""
    places: dict[Way, list[str]] = {}
    for place, way in ways.items():
        places.setdefault(way, []).append(place)
    if len(places) == 1 and not always_name:
        return [f"{way.kind}: {way.sentence}" for way in places]
    return [f"{way.kind}: {', '.join(named)}: {way.sentence}" for way, named in places.items()]
