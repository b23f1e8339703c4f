"""Session keys and the file names they stand in.

`base64url(key)` without padding has been nanobot's name since July 2026; before, the key's colon
became an underscore, and the key must be read from the header, or guessed where there is none.
"""

from __future__ import annotations

import base64
import binascii
import re

SUFFIX = ".jsonl"
NAME_LIMIT = 255
_UNSAFE = re.compile(r'[<>:"/\\|?*\x00]')


def file_name(key: str) -> str:
    """Return the name of the file that holds the session `key`; raises `ValueError`.

    The name has only letters, digits, `-` and `_`, so whatever the key says it stays in its folder.
    """
    stem = base64.urlsafe_b64encode(key.encode("utf-8", "surrogatepass")).rstrip(b"=").decode()
    name = stem + SUFFIX
    if not key:
        message = "a session key can't be empty"
        raise ValueError(message)
    if len(name) > NAME_LIMIT:
        message = (
            f"the session key has {len(key)} characters, and its file name would have "
            f"{len(name)} bytes (at most {NAME_LIMIT}): use a shorter key"
        )
        raise ValueError(message)
    return name


def key_of_stem(stem: str) -> str | None:
    """Return the key that a base64url stem spells, or None if it is no stem of that form."""
    try:
        decoded = base64.b64decode(stem + "=" * (-len(stem) % 4), altchars=b"-_", validate=True)
        key = decoded.decode("utf-8")
        canonical = file_name(key)
    except (ValueError, binascii.Error):
        return None
    return key if canonical == stem + SUFFIX else None


def old_file_names(key: str) -> tuple[str, ...]:
    """Return the names under which `key` stood before July 2026, where it could.

    nanobot replaced the colons and then whatever a file system may refuse.
    """
    stem = _UNSAFE.sub("_", key.replace(":", "_")).strip()
    name = stem + SUFFIX
    usable = stem and len(name.encode("utf-8", "surrogatepass")) <= NAME_LIMIT
    return (name,) if usable else ()


def guess_key(stem: str) -> str:
    """Return the key of an old file that doesn't say it: `channel_rest` was `channel:rest`."""
    return stem.replace("_", ":", 1)
