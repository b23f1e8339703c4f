"""What a pass notes of a session that it is done with."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from compactor.journal import MemoryJournal, SessionMemory
from compactor.model import AuditFigure, Outcome, SessionReport
from compactor.session_pass import SessionPass
from tests.compactor.builders import NOW, REF


def test_the_figure_of_an_audit_is_in_the_ledger() -> None:
    """As the report has it, beside what the attempt took."""
    journal = MemoryJournal()
    parts: Any = SimpleNamespace(journal=journal, clock=lambda: NOW)
    unused: Any = None
    done = SessionPass(parts, unused, unused, unused, SessionMemory(), preparation=unused)
    figure = AuditFigure(17, 14, 3)

    done._conclude(SessionReport(REF, Outcome.COMPACTED, audit=figure, tokens_after=9), None)

    [(ref, line)] = journal.ledger
    assert (ref, line.audit, line.tokens_after) == (REF, figure, 9)
