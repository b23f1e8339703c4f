"""The configuration: one TOML file, checked as a whole before anything starts."""

from __future__ import annotations

import contextlib
import os
import re
import tomllib
from datetime import timedelta, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import tzlocal
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from compactor.durations import parse_duration, parse_duration_or_off
from compactor.errors import ConfigError
from compactor.model import CallLimits, IdlePolicy, PassPolicy, PlanPolicy
from compactor.schedule import Cron, parse_every

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic_core import ErrorDetails

CONFIG_VARIABLE = "COMPACTOR_CONFIG"
CONFIG_NAME = "config.toml"
CURRENT_FOLDER = "the current folder"
LOCAL = "local"
ZONE = "the time zone"
# What may hold a secret, if only by mistake: of these a wrong value is not repeated.
_SECRET = tuple(
    f"llm.{key}"
    for key in ("api_key_env", "api_key_file", "base_url", "extra_headers", "extra_body")
)
_GIVEN_LENGTH = 60  # characters of a wrong value that are shown

Duration = Annotated[timedelta, BeforeValidator(parse_duration)]
DurationOrOff = Annotated[timedelta | None, BeforeValidator(parse_duration_or_off)]


def _check_zone(value: object) -> object:
    if value == LOCAL:
        return value
    try:
        ZoneInfo(value if isinstance(value, str) else "")
    except (ZoneInfoNotFoundError, ValueError, OSError):
        message = 'expected "local" or the name of a zone such as "Europe/Berlin" or "UTC"'
        raise ValueError(message) from None
    return value


def _check_variable(value: object) -> object:
    if isinstance(value, str) and re.fullmatch(r"([A-Za-z_][A-Za-z0-9_]*)?", value):
        return value
    message = 'expected the name of a variable such as "OPENAI_API_KEY", and not the key itself'
    raise ValueError(message)


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class StoreSection(_Section):
    """Where the sessions are."""

    url: str = "jsonl:sessions"
    timezone: Annotated[str, BeforeValidator(_check_zone)] = LOCAL


class IdleSection(_Section):
    """When a session is due."""

    ttl: DurationOrOff = timedelta(minutes=10)
    min_tokens: int = Field(4000, ge=1)
    min_new_tokens: int = Field(2000, ge=1)
    scan_every: Annotated[timedelta | Cron, BeforeValidator(parse_every)] = timedelta(seconds=60)
    scan_jitter: DurationOrOff = None
    stuck_after: Duration = timedelta(hours=24)
    exclude: list[str] = ["dream:*", "heartbeat*", "cron:*"]
    channels: dict[str, DurationOrOff] = {}


class KeepSection(_Section):
    """What stays as it is."""

    messages: int = Field(8, ge=0)
    tokens: int = Field(4000, ge=100)


class SummarySection(_Section):
    """The compact entry."""

    engine: Literal["digest", "openai"] = "openai"
    max_tokens: int = Field(1200, ge=200)
    min_gain: float = Field(0.3, ge=0, lt=1)
    on_failure: Literal["keep", "digest"] = "keep"
    counter: Literal["o200k_base", "cl100k_base"] = "o200k_base"


class LlmSection(_Section):
    """The model that writes entries, and how to reach it."""

    base_url: str = Field("https://api.openai.com/v1", pattern="^https?://[^ ]+$")
    model: str = Field("gpt-5-mini", min_length=1)
    api_key_env: Annotated[str, BeforeValidator(_check_variable)] = "OPENAI_API_KEY"
    api_key_file: str = ""
    timeout: Duration = timedelta(seconds=60)
    context_window: int = Field(128_000, ge=2000)
    concurrency: int = Field(4, ge=1, le=64)
    retries: int = Field(2, ge=0, le=5)
    retry_pause: Duration = timedelta(seconds=1)
    max_tokens_parameter: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    reasoning_tokens: int = Field(4000, ge=0)
    reasoning_effort: str | None = None
    temperature: float | None = Field(None, ge=0, le=2)
    environment_proxy: bool = False
    extra_headers: dict[str, str] = {}
    extra_body: dict[str, Any] = {}


class LimitsSection(_Section):
    """How much may be spent."""

    per_session_per_day: int = Field(4, ge=1)
    calls_per_hour: int = Field(200, ge=1)
    sessions_per_pass: int = Field(1000, ge=1)
    pass_deadline: Duration = timedelta(minutes=30)
    grace: Duration = timedelta(seconds=10)


class StateSection(_Section):
    """What the worker remembers."""

    dir: str = Field("state", min_length=1)


class LogSection(_Section):
    """What the worker tells."""

    level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    format: Literal["text", "json"] = "text"
    keys: Literal["plain", "hash"] = "plain"


class Config(_Section):
    """All of the configuration. `file` is where it came from, None for the defaults alone."""

    store: StoreSection = StoreSection()
    idle: IdleSection = IdleSection()
    keep: KeepSection = KeepSection()
    summary: SummarySection = SummarySection()
    llm: LlmSection = LlmSection()
    limits: LimitsSection = LimitsSection()
    state: StateSection = StateSection()
    log: LogSection = LogSection()

    def idle_policy(self) -> IdlePolicy:
        """Return when a session is idle."""
        return IdlePolicy(
            ttl=self.idle.ttl,
            channels=self.idle.channels,
            exclude=tuple(self.idle.exclude),
            stuck_after=self.idle.stuck_after,
            zone=self._zone(),
            zone_is_local=self.store.timezone == LOCAL,
        )

    def plan_policy(self) -> PlanPolicy:
        """Return what is kept, and what is too little."""
        return PlanPolicy(
            keep_messages=self.keep.messages,
            keep_tokens=self.keep.tokens,
            min_tokens=self.idle.min_tokens,
            min_new_tokens=self.idle.min_new_tokens,
            entry_tokens=self.summary.max_tokens,
            min_gain=self.summary.min_gain,
        )

    def call_limits(self) -> CallLimits:
        """Return how many calls may be made."""
        return CallLimits(self.limits.per_session_per_day, self.limits.calls_per_hour)

    def pass_policy(self) -> PassPolicy:
        """Return how much one pass may do."""
        return PassPolicy(
            concurrency=self.llm.concurrency,
            sessions=self.limits.sessions_per_pass,
            deadline=self.limits.pass_deadline,
            grace=self.limits.grace,
        )

    def _zone(self) -> tzinfo:
        if self.store.timezone != LOCAL:
            return ZoneInfo(self.store.timezone)
        try:
            return tzlocal.reload_localzone()  # TZ may be another one than at the last look
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            told = " ".join(str(next(iter(error.args), error)).split())
            fault = f"TZ: {told}; correct it, or set [store] timezone"
            raise ConfigError(ZONE, (fault,)) from error


def find_config(named: Path | None) -> Path | None:
    """Return the file to read: the named one, else `$COMPACTOR_CONFIG`, else `./config.toml`.

    None where nobody named one and there is no `./config.toml`: every key has a default.
    """
    variable = os.environ.get(CONFIG_VARIABLE)  # noqa: TID251 - this is config.py
    path = named or (Path(variable) if variable else None)
    if path is not None:
        return path
    default = Path(CONFIG_NAME)
    return default if default.exists() else None


def load_config(path: Path | None) -> Config:
    """Read and check a file; raises `ConfigError` with every fault in it."""
    if path is None:
        return Config()
    return check_config(_read_toml(path), str(path))


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigError(str(path), ((error.strerror or str(error)).lower(),)) from error
    except (ValueError, RecursionError) as error:  # TOML's own errors are ValueErrors
        raise ConfigError(str(path), (f"is no TOML: {error}",)) from error


def load_sound_sections(path: Path | None) -> tuple[Config, frozenset[str]]:
    """Return what can be used of a file that has faults, and the sections that can't be.

    Those are at their defaults, which nobody has asked for.
    """
    sections = frozenset(Config.model_fields)
    try:
        data = {} if path is None else _read_toml(path)
    except ConfigError:
        return Config(), sections
    sound: dict[str, Any] = {}
    for name in sections & data.keys():
        with contextlib.suppress(ConfigError):
            check_config({name: data[name]}, str(path))
            sound[name] = data[name]
    return check_config(sound, str(path)), (sections & data.keys()) - sound.keys()


def check_config(data: Mapping[str, Any], file: str) -> Config:
    """Check what a file says; raises `ConfigError` with every fault in it."""
    try:
        return Config.model_validate(data)
    except ValidationError as error:
        raise ConfigError(file, tuple(_describe(fault) for fault in error.errors())) from None


def _describe(fault: ErrorDetails) -> str:
    """Say which key is wrong, how, and what would be right."""
    path = [str(part) for part in fault["loc"]]
    name = ".".join(path)
    if fault["type"] == "extra_forbidden":
        allowed = _keys_at(path[:-1])
        kind = "section" if len(path) == 1 else "key"
        return f"{name}: unknown {kind}; expected one of {', '.join(allowed)}"
    problem = fault["msg"].removeprefix("Value error, ")
    if fault["type"] == "model_type":
        problem = "expected a section of its own"
    said = f"{name}: {problem[:1].lower()}{problem[1:]}"
    if any(name == secret or name.startswith(f"{secret}.") for secret in _SECRET):
        return said
    given = repr(fault["input"])
    given = given if len(given) <= _GIVEN_LENGTH else f"{given[:_GIVEN_LENGTH]}..."
    return f"{said}, not {given}"


def _keys_at(path: list[str]) -> list[str]:
    model: Any = Config
    for part in path:
        model = model.model_fields[part].annotation
    return list(model.model_fields)
