"""Will an agent see a compaction, and has it done so lately?"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from compactor.checks.finding import Said, ok, warn
from compactor.model import Outcome
from compactor.ways import say_ways

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from compactor.journal import Journal
    from compactor.ways import Way

LOOK_BACK = timedelta(days=30)


def check_ways(ways: Mapping[str, Way]) -> Said:
    """Say by which way a compaction will be seen; folders without one are the news."""
    vain = {place: way for place, way in ways.items() if not way.works}
    if vain and len(ways) > 1:
        told = "\n".join(say_ways(vain, always_name=True))
        return warn(told, "do what is said for each folder; see docs/nanobot.md")
    if vain:
        told = next(iter(vain.values())).sentence
        return warn(told, _find_way_out(told))
    return ok("; ".join(dict.fromkeys(way.sentence for way in ways.values())))


def _find_way_out(sentence: str) -> str:
    """Return the end of a sentence of `find_way`, which is what to do."""
    problem, _, several = sentence.partition(". (1) ")
    return f"(1) {several}" if several else problem.partition(": ")[2]


def check_written_over(journal: Journal, now: datetime) -> Said:
    """Say how often an agent wrote over a compaction that it had not seen."""
    count = journal.count_outcomes(Outcome.REAPPLIED, now - LOOK_BACK)
    told = f"in the last {LOOK_BACK.days} days"
    if not count:
        return ok(f"no compaction {told}")
    return warn(
        f"{told} agents wrote over {count} compaction{'s' if count > 1 else ''} that they had not "
        "seen, and each was applied again, unpaid (see docs/nanobot.md)",
        "see to the line 'adoption': an agent with our plugin or our session manager writes over "
        "none",
    )
