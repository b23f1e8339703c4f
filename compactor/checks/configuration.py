"""The values that hold, and where each of them comes from."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from compactor.checks.finding import Said, fail, ok
from compactor.config import CURRENT_FOLDER
from compactor.durations import spell_span

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from compactor.config import Config
    from compactor.errors import ConfigError

DEFAULT = "default"
STORE_OPTION = "--store"
_NOT_SHOWN = "(not shown)"
_MAY_HOLD_TOKENS = {"llm.extra_headers", "llm.extra_body"}
_LOGIN = re.compile(r"(?<=://)[^/\s@]+@")


@dataclass(frozen=True, slots=True)
class Value:
    """The value of a key as the file would spell it, and where it is from."""

    key: str
    value: Any
    origin: str
    is_default: bool

    @property
    def line(self) -> str:
        """The value for a person."""
        value = "left out" if self.value is None else json.dumps(self.value, ensure_ascii=False)
        return f"{self.key} = {value}  ({self.origin})"


def read_values(
    config: Config, file: str, *, store_is_option: bool, faulty: Collection[str] = ()
) -> list[Value]:
    """Return every key with its value, except for those of the `faulty` sections."""
    return [
        value
        for name in type(config).model_fields
        if name not in faulty
        for value in _read_section(config, name, file, store_is_option=store_is_option)
    ]


def _read_section(
    config: Config, name: str, file: str, *, store_is_option: bool
) -> Iterator[Value]:
    section = getattr(config, name)
    usual = type(section)()
    for field in type(section).model_fields:
        key, value = f"{name}.{field}", getattr(section, field)
        origin = file if field in section.model_fields_set else DEFAULT
        if key == "store.url" and store_is_option:
            origin = STORE_OPTION
        yield Value(key, _spell(key, value), origin, value == getattr(usual, field))


def _spell(key: str, value: Any) -> Any:  # noqa: ANN401 - the values are of all kinds
    if key in _MAY_HOLD_TOKENS:
        return dict.fromkeys(value, _NOT_SHOWN)
    if isinstance(value, dict):
        return {name: _spell(key, inner) for name, inner in value.items()}
    if isinstance(value, timedelta):
        return spell_span(value)
    if value is None and key.startswith("idle."):
        return "off"
    return _LOGIN.sub("...@", value) if isinstance(value, str) else value


def check_configuration(values: Collection[Value], file: str, fault: ConfigError | None) -> Said:
    """Say which keys are not at their default and who says so, or all that is wrong."""
    if fault is not None:
        told = "\n".join((f"{fault.file} can't be used", *fault.faults))
        return fail(told, _tell_remedy(fault), exit_code=fault.exit_code)
    changed = [value for value in values if not value.is_default]
    if not changed:
        return ok(f"{file}: every key is at its default")
    told_by = [
        f"{origin} sets {', '.join(value.key for value in changed if value.origin == origin)}"
        for origin in dict.fromkeys(value.origin for value in changed)
    ]
    return ok("; ".join(told_by))


def _tell_remedy(fault: ConfigError) -> str:
    if fault.file == CURRENT_FOLDER:
        return "change to another one"
    if not os.path.lexists(fault.file):
        return f"create {fault.file}, or name another file with --config or $COMPACTOR_CONFIG"
    return f"correct each of these in {fault.file}"


def describe_values(values: Collection[Value]) -> dict[str, Any]:
    """Return the values as `check --json` prints them."""
    return {value.key: {"value": value.value, "origin": value.origin} for value in values}
