"""Settings for all tests."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# No deadline: a busy machine is no failure. No database: a run leaves nothing behind. The examples
# are the same each time, so that a red run can be repeated; HYPOTHESIS_PROFILE=random draws others.
_quiet = settings(
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
settings.register_profile("random", _quiet)
settings.register_profile("same", _quiet, derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))  # noqa: TID251 - a tester's
