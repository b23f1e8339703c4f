"""Session keys that a log must not tell: each becomes the same short hash wherever it stands.

A key is a channel and the number of a person or a room: easily guessed, and so easily found for a
plain hash. So the hash is keyed with a secret of the worker's own, which lies beside its journal.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING

from session.keys import SUFFIX, guess_key, key_of_stem

if TYPE_CHECKING:
    from pathlib import Path

SECRET_NAME = "log.key"  # noqa: S105 - the name of its file
_SECRET_BYTES = 32
_LENGTH = 12  # hexadecimal digits: some thousand keys don't meet
_FILE = re.compile(rf"([^\s/'\"\\]+){re.escape(SUFFIX)}")


class KeyHider:
    """Hides keys in the fields of log events. The secret is read, or made, when it is first needed.

    Where there is no `state` folder yet, or it can't be written to, the hashes are good for this
    process alone.
    """

    def __init__(self, state: Path) -> None:
        self._path = state / SECRET_NAME
        self._secret: bytes | None = None

    def hide(self, fields: dict[str, object]) -> dict[str, object]:
        """Return the fields without the key of `key`, and without the names of session files."""
        key = fields.get("key")
        return {name: self._hide_in(value, key) for name, value in fields.items()}

    def _hide_in(self, value: object, key: object) -> object:
        if not isinstance(value, str):
            return value
        text = _FILE.sub(lambda match: self._name(_key_of(match[1])) + SUFFIX, value)
        return text.replace(key, self._name(key)) if isinstance(key, str) and key else text

    def _name(self, key: str) -> str:
        if self._secret is None:
            self._secret = _read_secret(self._path)
        data = key.encode("utf-8", "surrogatepass")
        return f"#{hmac.digest(self._secret, data, 'sha256').hex()[:_LENGTH]}"


def _key_of(stem: str) -> str:
    return key_of_stem(stem) or guess_key(stem)


def _read_secret(path: Path) -> bytes:
    fresh = secrets.token_bytes(_SECRET_BYTES)
    with suppress(OSError):
        with suppress(FileExistsError):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(descriptor, "wb") as file:  # noqa: PTH123 - it is open already
                file.write(fresh)
        return path.read_bytes() or fresh
    return fresh
