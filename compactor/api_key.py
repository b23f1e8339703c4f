"""The key of the endpoint: from the environment, from the service manager, or from a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from compactor.errors import ConfigError

if TYPE_CHECKING:
    from compactor.config import LlmSection

CREDENTIALS_VARIABLE = "CREDENTIALS_DIRECTORY"


def read_api_key(section: LlmSection, file: str, folder: Path) -> str:
    """Return the key: from the environment, from `$CREDENTIALS_DIRECTORY`, or from its file.

    A server that needs none gets a word in its place. Raises `ConfigError` where there is none.
    """
    name = section.api_key_env
    if not name and not section.api_key_file:
        return "none"
    key_file = find_key_file(section, file, folder)
    places = [] if key_file is None else [key_file]
    credentials = os.environ.get(CREDENTIALS_VARIABLE)  # noqa: TID251 - where keys are
    if credentials and name:
        places.append(Path(credentials) / name)
    key = os.environ.get(name, "").strip() if name else ""  # noqa: TID251 - where keys are
    for place in places:
        if not key and place.is_file():
            try:
                key = place.read_text(encoding="utf-8").strip()
            except (OSError, UnicodeDecodeError) as error:
                fault = f"llm.api_key_file: {str(place)!r} can't be read ({type(error).__name__})"
                raise ConfigError(file, (fault,)) from error
    if not key or not key.isascii() or not key.isprintable():
        looked = ", ".join([f"${name}" if name else "", *map(str, places)]).strip(", ")
        fault = (
            f"llm.api_key_env: there is no key in {looked}; set it there, or set api_key_env to "
            '"" for a server that needs none; or do without a model: --engine digest, or '
            '[summary] engine = "digest"'
        )
        raise ConfigError(file, (fault,))
    return key


def find_key_file(section: LlmSection, file: str, folder: Path) -> Path | None:
    """Return where the key may lie, None where no file is named; raises `ConfigError`.

    A relative path is taken from `folder`, that of the configuration.
    """
    try:
        return folder / Path(section.api_key_file).expanduser() if section.api_key_file else None
    except RuntimeError:
        told = f"llm.api_key_file: {section.api_key_file!r} names the home of an unknown user"
        raise ConfigError(file, (f"{told}; write the whole path",)) from None
