"""The tables of the journal's file, and what brings the file of an older release up to them."""

from __future__ import annotations

SCHEMA_VERSION = 3
AUDIT_SINCE = 2  # the version from which on the ledger holds figures of audits
PASSES_SINCE = 3  # and from which on passes are noted
KEPT_PASSES = 1000

_PASSES = """CREATE TABLE pass (
        id INTEGER PRIMARY KEY, began_at TEXT NOT NULL, seconds REAL NOT NULL,
        command TEXT NOT NULL, outcome TEXT NOT NULL, problem TEXT NOT NULL, counts TEXT NOT NULL
    ) STRICT"""
_TABLES = (
    """CREATE TABLE answer (
        fingerprint TEXT PRIMARY KEY, place BLOB NOT NULL, key BLOB NOT NULL, text BLOB NOT NULL,
        engine TEXT NOT NULL, model TEXT, prompt TEXT NOT NULL, written_at TEXT NOT NULL
    ) STRICT""",
    "CREATE INDEX answer_session ON answer (place, key)",
    """CREATE TABLE memory (
        place BLOB NOT NULL, key BLOB NOT NULL, folder BLOB NOT NULL,
        landed TEXT, undone TEXT, parked_until TEXT, parked_for TEXT NOT NULL DEFAULT '',
        failures INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (place, key)
    ) STRICT""",
    """CREATE TABLE ledger (
        id INTEGER PRIMARY KEY, at TEXT NOT NULL, place BLOB NOT NULL, key BLOB NOT NULL,
        outcome TEXT NOT NULL, reason TEXT, engine TEXT, model TEXT, calls INTEGER NOT NULL,
        tokens_before INTEGER, tokens_after INTEGER, seconds REAL, usage TEXT NOT NULL, audit TEXT
    ) STRICT""",
    "CREATE INDEX ledger_session ON ledger (place, key, at)",
    "CREATE INDEX ledger_at ON ledger (at, calls)",
    _PASSES,
)
# What was added in which version; a new file has it already.
_ADDED = {
    AUDIT_SINCE: ("ALTER TABLE ledger ADD COLUMN audit TEXT",),
    PASSES_SINCE: (_PASSES,),
}


def upgrade_from(version: int) -> tuple[str, ...]:
    """Return the statements that make a file of that version one of this release.

    0 is the version of a file that nobody has written to. They are to be run in one transaction, in
    which the version was read. None are needed where the file is of this release, none help where
    it is of a later one.
    """
    if version >= SCHEMA_VERSION:
        return ()
    later = range(version + 1, SCHEMA_VERSION + 1)
    changes = [statement for added in later for statement in _ADDED.get(added, ())]
    return (*(changes if version else _TABLES), f"PRAGMA user_version = {SCHEMA_VERSION}")
