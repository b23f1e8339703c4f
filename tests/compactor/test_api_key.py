"""Where the key of the endpoint is looked for, and how little is told of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from compactor.api_key import CREDENTIALS_VARIABLE, read_api_key
from compactor.config import LlmSection, check_config
from compactor.errors import ConfigError

NAME = "COMPACTOR_TEST_KEY_OF_NOBODY"
SECRET = "sk-proj-" + "0123456789abcdef"


def test_the_environment_comes_first_then_what_systemd_hands_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then the file; its path is relative to the configuration, wherever the worker is started."""
    (tmp_path / "key").write_text("of-the-file\n")
    (tmp_path / "credentials").mkdir()
    section = LlmSection(api_key_env=NAME, api_key_file="key")
    assert read_api_key(section, "config.toml", tmp_path) == "of-the-file"
    (tmp_path / "credentials" / NAME).write_text("of-systemd\n")
    monkeypatch.setenv(CREDENTIALS_VARIABLE, str(tmp_path / "credentials"))
    alone = LlmSection(api_key_env=NAME)
    assert read_api_key(alone, "config.toml", tmp_path) == "of-systemd"
    monkeypatch.setenv(NAME, "of-the-environment")
    assert read_api_key(section, "config.toml", tmp_path) == "of-the-environment"
    assert read_api_key(LlmSection(api_key_env=""), "config.toml", tmp_path) == "none"


@pytest.mark.parametrize(
    "llm",
    [
        {"api_key_env": SECRET},
        {"api_key_env": f"${SECRET}"},
        {"api_key_file": [SECRET]},
        {"base_url": f"ftp://user:{SECRET}@host/v1"},
        {"extra_headers": f"Authorization: Bearer {SECRET}"},
        {"extra_headers": {"Authorization": [SECRET]}},
        {"extra_body": SECRET},
    ],
)
def test_a_secret_in_the_wrong_place_is_not_repeated(llm: dict[str, Any]) -> None:
    """The error names the key and what would be right, and ends up in logs."""
    with pytest.raises(ConfigError) as caught:
        check_config({"llm": llm}, "config.toml")
    assert f"llm.{next(iter(llm))}" in str(caught.value)
    assert SECRET not in str(caught.value)


def test_a_key_that_was_pasted_for_its_name_is_told_apart() -> None:
    """It is the classic mistake."""
    with pytest.raises(ConfigError, match="name of a variable such as"):
        check_config({"llm": {"api_key_env": SECRET}}, "config.toml")
