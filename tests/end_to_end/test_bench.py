"""The benchmark works: what it measures exists, and it says so in one document."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from tests.end_to_end.support import ROOT

SMALL = ("--sessions", "6", "--rounds", "1", "--megabytes", "0.1", "--answers", "3")
COMMAND = [sys.executable, "bench/run.py", *SMALL]


def test_the_benchmark_prints_ratios_as_one_document() -> None:
    """Every comparison has what, ours, baseline and ratio; nanobot's are there where it is."""
    done = subprocess.run(
        [*COMMAND, "--json"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=100
    )

    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    measures = document["measures"]
    asked = bool(os.environ.get("NANOBOT_PYTHON"))  # noqa: TID251 - how a tester names it
    assert (document["sessions"], document["rounds"], document["nanobot"]) == (6, 1, asked)
    assert document["answers"] == 3
    counts = dict.fromkeys(("scan", "commit", "start", "ask", "beside"), 0)
    for measure in measures:
        assert set(measure) == {"part", "what", "baseline", "ours", "bare", "ratio"}
        assert measure["ours"] > 0
        assert measure["ratio"] == measure["ours"] / measure["bare"]
        counts[measure["part"]] += 1
    expected = {"scan": 12 if asked else 9, "commit": 2, "start": 4, "ask": 1}
    assert counts == expected | {"beside": 2 if asked else 0}
    [asking] = [measure for measure in measures if measure["part"] == "ask"]
    assert min(asking["ours"], asking["bare"]) >= 0.25, "the endpoint takes its time"
