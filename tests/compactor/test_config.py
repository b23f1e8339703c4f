"""The configuration file: its defaults, and everything that can be wrong with it."""

from __future__ import annotations

import re
import tomllib
from datetime import timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from compactor.config import (
    CONFIG_VARIABLE,
    Config,
    check_config,
    find_config,
    load_config,
)
from compactor.durations import parse_duration
from compactor.errors import ConfigError
from compactor.model import PlanPolicy

SHIPPED = Path(__file__).parent.parent.parent / "config.toml"


def faults_of(**data: Any) -> tuple[str, ...]:
    """Return what is wrong with a configuration."""
    with pytest.raises(ConfigError) as caught:
        check_config(data, "config.toml")
    return caught.value.faults


def fault_of(section: str, key: str, value: object) -> str:
    """Return the one thing that is wrong with a configuration in which one value is."""
    (fault,) = faults_of(**{section: {key: value}})
    return fault


# The shipped file.


def test_the_shipped_file_says_the_defaults() -> None:
    """A program without a file behaves as the file says."""
    assert load_config(SHIPPED) == Config()


def test_every_key_stands_in_the_shipped_file_and_no_other() -> None:
    """An operator finds all there is to set; what has no default stands there as a comment."""
    text = re.sub(r"(?m)^# (reasoning_effort|temperature) =", r"\1 =", SHIPPED.read_text())
    shipped = tomllib.loads(text)
    keys = {(section, key) for section, values in shipped.items() for key in values}
    known = {
        (name, key)
        for name, field in Config.model_fields.items()
        for key in getattr(field.annotation, "model_fields", ())
    }
    assert keys == known


def test_every_key_of_the_shipped_file_has_a_comment_above_it() -> None:
    """What it means and in which unit; a comment may stand for a pair."""
    lines = SHIPPED.read_text().splitlines()
    for number, line in enumerate(lines):
        if re.match(r"(# )?\w+ = ", line):
            above = number - 1
            while re.match(r"(# )?\w+ = ", lines[above]):
                above -= 1
            assert lines[above].startswith("# "), line


def test_the_channels_that_the_shipped_file_shows_are_allowed() -> None:
    """What is commented out works when it is not."""
    text = SHIPPED.read_text().replace('# telegram = "', 'telegram = "').replace("# cli", "cli")
    config = check_config(tomllib.loads(text), "config.toml")
    assert config.idle.channels == {"telegram": timedelta(hours=2), "cli": None}


# What the values mean.


def test_the_policies_say_what_the_file_says() -> None:
    """Nothing is lost on the way to the stages."""
    config = check_config(
        {
            "store": {"timezone": "Asia/Tokyo"},
            "idle": {
                "ttl": "off",
                "min_tokens": 1,
                "min_new_tokens": 2,
                "stuck_after": "1.5h",
                "exclude": ["a*"],
                "channels": {"cli": "5s"},
            },
            "keep": {"messages": 0, "tokens": 100},
            "summary": {"max_tokens": 200, "min_gain": 0},
        },
        "config.toml",
    )
    idle = config.idle_policy()
    assert (idle.ttl, idle.channels) == (None, {"cli": timedelta(seconds=5)})
    assert (idle.exclude, idle.stuck_after) == (("a*",), timedelta(minutes=90))
    assert (idle.zone, idle.zone_is_local) == (ZoneInfo("Asia/Tokyo"), False)
    assert config.plan_policy() == PlanPolicy(0, 100, 1, 2, 200, 0.0)


def test_the_local_zone_is_that_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """And it is known that nobody named it."""
    monkeypatch.setenv("TZ", "America/New_York")
    policy = Config().idle_policy()
    assert str(policy.zone) == "America/New_York"
    assert policy.zone_is_local


def test_a_local_zone_that_makes_no_sense_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says which variable it comes from, and the way out."""
    monkeypatch.setenv("TZ", "Mars/Olympus")
    with pytest.raises(ConfigError, match=r"(?s)TZ: .*\[store\] timezone"):
        Config().idle_policy()


# Faults.


def test_all_faults_are_told_at_once() -> None:
    """Each with its path and what would be right."""
    faults = faults_of(
        store={"timezone": "Mars"},
        idle={"ttl": "soon", "channels": {"cli": "never"}, "tll": "10m"},
        keep={"messages": -1},
        log={"level": "debug"},
        lgo={"level": "INFO"},
    )
    span = 'expected a number and s, m, h or d, for example "10m", or "off"'
    zone = 'expected "local" or the name of a zone such as "Europe/Berlin" or "UTC"'
    idle = (
        "ttl, min_tokens, min_new_tokens, scan_every, scan_jitter, stuck_after, exclude, channels"
    )
    assert faults == (
        f"store.timezone: {zone}, not 'Mars'",
        f"idle.ttl: {span}, not 'soon'",
        f"idle.channels.cli: {span}, not 'never'",
        f"idle.tll: unknown key; expected one of {idle}",
        "keep.messages: input should be greater than or equal to 0, not -1",
        "log.level: input should be 'DEBUG', 'INFO', 'WARNING' or 'ERROR', not 'debug'",
        "lgo: unknown section; expected one of store, idle, keep, summary, llm, limits, state, log",
    )


@pytest.mark.parametrize(
    ("section", "key", "value"),
    [
        ("store", "url", 5),
        ("store", "timezone", 5),
        ("store", "timezone", ""),
        ("store", "timezone", "../../etc/passwd"),
        ("store", "timezone", "Europe"),
        ("idle", "ttl", 600),
        ("idle", "ttl", "0s"),
        ("idle", "ttl", True),
        ("idle", "stuck_after", "off"),
        ("idle", "min_tokens", True),
        ("idle", "min_tokens", "4000"),
        ("idle", "min_tokens", 4000.5),
        ("idle", "min_tokens", 0),
        ("idle", "min_new_tokens", 0),
        ("idle", "exclude", "dream:*"),
        ("idle", "channels", ["cli"]),
        ("keep", "messages", "8"),
        ("keep", "tokens", 99),
        ("summary", "engine", "gpt"),
        ("summary", "max_tokens", 199),
        ("summary", "min_gain", "0.3"),
        ("summary", "min_gain", False),
        ("summary", "min_gain", 1),
        ("summary", "min_gain", -0.1),
        ("summary", "min_gain", float("nan")),
        ("summary", "counter", "gpt2"),
        ("state", "dir", ""),
        ("state", "dir", 1),
        ("log", "format", "xml"),
    ],
)
def test_a_wrong_value_is_told_with_its_path(section: str, key: str, value: object) -> None:
    """Types are strict: a truth value is no number, and a number no text."""
    fault = fault_of(section, key, value)
    assert fault.startswith(f"{section}.{key}: ")
    assert fault.endswith(f", not {value!r}")


def test_a_wrong_value_in_a_list_is_told_with_its_place() -> None:
    """Counted from nought, as TOML's tools do."""
    assert fault_of("idle", "exclude", ["a", 5]).startswith("idle.exclude.1: ")


@pytest.mark.parametrize("value", [5, "x", [{"ttl": "10m"}], True])
def test_a_section_is_a_table(value: object) -> None:
    """The message speaks of sections and not of our classes."""
    (fault,) = faults_of(idle=value)
    assert fault.startswith("idle: expected a section of its own, not ")


def test_a_long_value_is_not_told_whole() -> None:
    """A file that was pasted into a key does not fill the screen."""
    assert len(fault_of("log", "level", "x" * 10_000)) < 200


# Files.


def test_a_file_that_is_no_toml_is_told_with_the_place(tmp_path: Path) -> None:
    """So that it can be mended."""
    path = tmp_path / "config.toml"
    path.write_text('[idle]\nttl = 10m"')
    with pytest.raises(
        ConfigError, match=r"config\.toml: nothing was started\nis no TOML: .*line 2"
    ):
        load_config(path)


def test_a_file_that_is_not_utf_8_is_told(tmp_path: Path) -> None:
    """And is no crash."""
    path = tmp_path / "config.toml"
    path.write_bytes(b'[store]\nurl = "jsonl:\xff"')
    with pytest.raises(ConfigError, match=r"is no TOML: .*utf-8"):
        load_config(path)


def test_a_mark_at_the_begin_of_a_file_is_no_fault(tmp_path: Path) -> None:
    """Some editors put one there."""
    path = tmp_path / "config.toml"
    path.write_bytes(b'\xef\xbb\xbf[idle]\r\nttl = "20m"\r\n')
    assert load_config(path).idle.ttl == parse_duration("20m")


def test_an_empty_file_says_the_defaults(tmp_path: Path) -> None:
    """As no file does."""
    path = tmp_path / "config.toml"
    path.touch()
    assert load_config(path) == load_config(None) == Config()


@pytest.mark.parametrize("name", ["missing.toml", "."])
def test_a_named_file_that_can_not_be_read_is_told(name: str, tmp_path: Path) -> None:
    """Its path and why; the defaults do not stand in for it."""
    path = tmp_path / name
    with pytest.raises(ConfigError, match=r"no such file|is a directory") as caught:
        load_config(path)
    assert caught.value.file == str(path)
    assert caught.value.exit_code == 78


def test_a_named_file_wins_over_the_environment_and_that_over_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And without any of them there is none."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(CONFIG_VARIABLE, raising=False)
    assert find_config(None) is None
    Path("config.toml").touch()
    assert find_config(None) == Path("config.toml")
    monkeypatch.setenv(CONFIG_VARIABLE, "")
    assert find_config(None) == Path("config.toml")
    monkeypatch.setenv(CONFIG_VARIABLE, "/etc/compactor.toml")
    assert find_config(None) == Path("/etc/compactor.toml")
    assert find_config(Path("mine.toml")) == Path("mine.toml")
