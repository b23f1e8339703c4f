"""The library where the system lacks what the worker needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from session.keys import file_name
from tests.session.builders import session_bytes

# What Windows has not, taken away before anything of ours is imported.
PROGRAM = """
import os, signal, sys
import filelock  # it has its own ways there, and would warn here
for name in ("fcntl", "pwd", "grp"):
    sys.modules[name] = None
for name in ("geteuid", "fchown", "listxattr"):
    delattr(os, name) if hasattr(os, name) else None
del signal.SIGHUP
from session import kernel, open_store
kernel.exchange.__globals__["_renameat2"] = lambda: None
from tests.session.builders import change_for
store = open_store("jsonl:" + sys.argv[1], agent_stopped=True)
(entry,) = store.list_sessions()
session = store.load(entry)
with store.exclusive():
    print(store.commit(session, change_for(session.messages, 4), lambda tail: None).status)
print(len(store.load(entry).get_history()), os.listdir(os.path.join(sys.argv[1], ".compactor")))
from session import SessionManager
with SessionManager(sys.argv[1]) as manager:
    agents = manager.get_or_create("telegram:42")
    for number in range(3):
        agents.add_message("user", f"number {number}")
        manager.save(agents, fsync=number == 1)
    new = manager.get_or_create("telegram:43")
    new.add_message("user", "new")
    print(manager.flush_all(), [about["key"] for about in manager.list_sessions()])
    manager.delete_session("telegram:43")
print(len(store.load(entry).get_history()), len(store.list_sessions()))
"""


def test_sessions_are_read_committed_and_saved_without_posix_modules(tmp_path: Path) -> None:
    """No `fcntl`, `pwd`, `grp`, SIGHUP, owners or exchange: sessions can be used all the same."""
    (tmp_path / file_name("telegram:42")).write_bytes(session_bytes())
    root = Path(__file__).parent.parent.parent
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines()[0] == "committed"
    assert done.stdout.splitlines()[1].startswith("4 [")
    assert done.stdout.splitlines()[2] == "2 ['telegram:43', 'telegram:42']"
    assert done.stdout.splitlines()[3] == "7 1"
