"""The plugin by which nanobot finds us: an entry point in its group `nanobot.tools`.

nanobot (since 0.2.0) loads the classes of that group with its live session manager at hand. This
one is no tool and is never registered as one: being asked whether it is enabled is all it needs.
Only nanobot imports this module.
"""

from __future__ import annotations

from typing import Any

from nanobot.agent.tools.base import Tool
from nanobot.config.loader import load_config

from session.nanobot_adoption import follow_files


class IdleCompactor(Tool):  # type: ignore[misc] # Any where nanobot is not installed
    """Lets the session manager of the nanobot that loads it see compactions."""

    name = "idle_compactor"
    description = "Lets a running nanobot see compactions; never registered."
    parameters: dict[str, Any] = {"type": "object", "properties": {}}  # noqa: RUF012 - as in Tool

    @classmethod
    def enabled(cls, ctx: Any) -> bool:  # noqa: ANN401 - nanobot's ToolContext
        """Take the live manager out of nanobot's context; never a tool."""
        follow_files(getattr(ctx, "sessions", None), read_minutes=_read_minutes)
        return False

    async def execute(self, **_: object) -> str:
        """Do nothing; nobody calls it."""
        return ""


def _read_minutes() -> int:
    return int(load_config().agents.defaults.session_ttl_minutes)
