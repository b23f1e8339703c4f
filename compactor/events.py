"""The events of the log: their names are a promise to whoever filters it (docs/commands.md)."""

from __future__ import annotations

from enum import StrEnum


class Event(StrEnum):
    """What happened."""

    WORKER_STARTED = "worker_started"
    WORKER_STOPPING = "worker_stopping"
    WORKER_STOPPED = "worker_stopped"
    RELOAD_PENDING = "reload_pending"
    CONFIG_RELOADED = "config_reloaded"
    CONFIG_REFUSED = "config_refused"
    JOURNAL_BEGUN = "journal_begun"
    CLOCK_SET = "clock_set"
    WAY_FOUND = "way_found"
    PLACE_LEFT_OUT = "place_left_out"
    PASS_FINISHED = "pass_finished"
    PASS_STOPPED = "pass_stopped"
    PASS_HALTED = "pass_halted"
    PASS_FAILED = "pass_failed"
    PASS_SKIPPED = "pass_skipped"
    PASS_MISSED = "pass_missed"
    PASS_STUCK = "pass_stuck"
    SESSION_COMPACTED = "session_compacted"
    SESSION_REAPPLIED = "session_reapplied"
    SESSION_CONFLICT = "session_conflict"
    SESSION_FAILED = "session_failed"
    RHYTHM_FOUND = "rhythm_found"
