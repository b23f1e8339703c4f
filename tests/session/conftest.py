"""Settings for all tests of the library."""

from __future__ import annotations

from hypothesis import settings

# No deadline: a busy machine is no failure. No database: a run leaves nothing behind.
settings.register_profile("session", deadline=None, database=None)
settings.load_profile("session")
