"""Settings for all tests of the worker."""

from __future__ import annotations

from hypothesis import settings

# No deadline: a busy machine is no failure. No database: a run leaves nothing behind.
settings.register_profile("compactor", deadline=None, database=None)
settings.load_profile("compactor")
