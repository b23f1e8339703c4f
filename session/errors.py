"""Every error that the library raises.

    SessionError
    ├── AddressError                    it lacks what the session's key is made of
    ├── StoreError                      the store as a whole can't be used
    │   ├── StoreLocationError          the URL names no kind of store that we know
    │   ├── StoreUnavailableError       the folder is missing or can't be read
    │   ├── StoreOwnershipError         the folder or a file belongs to another user
    │   └── StoreBusyError              another worker holds it
    └── SessionFault                    one session; the others go on
        ├── UnknownSessionError         no session has that key
        ├── AmbiguousKeyError           the key stands in several folders
        ├── UnknownFolderError          the store has no such folder
        ├── UnreadableSessionError      its record can't be understood
        ├── SessionPermissionError      its record may not be read
        ├── SessionWriteError           its record can't be replaced
        └── SessionConflict             two writers have changed it in ways that don't go together

`exit_code` is what a command ends with when the error reaches its edge (the numbers are those of
sysexits.h where it has one).
"""

from __future__ import annotations

from typing import ClassVar

_SHOWN = 200  # characters of what somebody typed


class SessionError(Exception):
    """Base of all errors of this package."""

    exit_code: ClassVar[int] = 1


class AddressError(SessionError):
    """An address or a message lacks an identifier that its session's key is made of."""

    exit_code = 2

    def __init__(self, channel: str, *, missing: str) -> None:
        self.channel = channel
        self.missing = missing
        super().__init__(f"an address of the channel {channel!r} has no {missing}: give it one")


class StoreError(SessionError):
    """The store as a whole can't be used."""

    exit_code = 69


class StoreLocationError(StoreError):
    """The URL of a store can't be understood."""

    exit_code = 78

    def __init__(self, url: str, problem: str) -> None:
        self.url = url
        self.problem = problem
        super().__init__(f"store {url!r}: {problem}")


class StoreUnavailableError(StoreError):
    """The store is missing or can't be read."""

    def __init__(self, place: str, problem: str) -> None:
        self.place = place
        self.problem = problem
        super().__init__(f"store {place!r}: {problem}")


class StoreOwnershipError(StoreError):
    """A folder or file belongs to a user who is not the one that runs us."""

    exit_code = 78

    def __init__(self, place: str, *, owner: str, user: str) -> None:
        self.place = place
        self.owner = owner
        self.user = user
        super().__init__(
            f"{place!r} belongs to {owner}, and this process runs as {user}: "
            f"run it as {owner}, or give the folder and all its files to one user (chown -R)",
        )


class StoreBusyError(StoreError):
    """Another worker holds the store."""

    exit_code = 75

    def __init__(self, place: str) -> None:
        self.place = place
        super().__init__(f"another worker holds {place!r}: wait for it, or stop it")


class SessionFault(SessionError):  # noqa: N818 - a family of errors, each of which ends in Error
    """Something is wrong with one session; the others are not concerned."""

    exit_code = 3


class UnknownSessionError(SessionFault):
    """No session has that key."""

    exit_code = 2

    def __init__(self, key: str, *, near: tuple[str, ...] = ()) -> None:
        self.key = key
        self.near = near
        hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
        shown = key if len(key) <= _SHOWN else f"{key[:_SHOWN]}..."
        super().__init__(f"no session has the key {shown!r}{hint}")


class AmbiguousKeyError(SessionFault):
    """The key stands in several folders of the store."""

    exit_code = 2

    def __init__(self, key: str, *, folders: tuple[str, ...]) -> None:
        self.key = key
        self.folders = folders
        super().__init__(
            f"the key {key!r} stands in several folders: {', '.join(map(repr, folders))}; "
            "name one with --folder",
        )


class UnknownFolderError(SessionFault):
    """The store has no folder of that name."""

    exit_code = 2

    def __init__(self, folder: str, *, folders: tuple[str, ...]) -> None:
        self.folder = folder
        self.folders = folders
        known = ", ".join(map(repr, folders))
        super().__init__(f"no folder is named {folder!r}; expected one of {known}")


class UnreadableSessionError(SessionFault):
    """The record of a session can't be understood, so it is left alone."""

    def __init__(self, name: str, problem: str) -> None:
        self.name = name
        self.problem = problem
        super().__init__(f"session file {name!r}: {problem}")


class SessionWriteError(SessionFault):
    """The record of a session can't be replaced; it is as it was."""

    def __init__(self, name: str, problem: str) -> None:
        self.name = name
        self.problem = problem
        super().__init__(f"session file {name!r} was not changed: {problem}")


class SessionPermissionError(SessionFault, PermissionError):
    """The record of a session may not be read: that says nothing about what is in it."""

    def __init__(self, name: str, problem: str) -> None:
        self.name = name
        self.problem = problem
        super().__init__(f"session file {name!r} can't be read: {problem}")


class SessionConflict(SessionFault):
    """Two writers have changed a session in ways that don't go together; nothing was written.

    `mine` and `theirs` are how many messages each has, in memory and in the store.
    """

    def __init__(self, key: str, name: str, *, mine: int, theirs: int) -> None:
        self.key = key
        self.name = name
        self.mine = mine
        self.theirs = theirs
        super().__init__(
            f"the session {key!r} has {mine} messages in memory and {theirs} in {name!r}, and "
            "neither goes on from the other: keep what you need of it, invalidate the session and "
            "load it again",
        )
