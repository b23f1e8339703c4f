"""What stands beside a secret is no fact that a summary should name."""

from __future__ import annotations

import pytest

from compactor.identifiers.secret_lines import split_secret_lines
from tests.compactor.audits import call, wanted_of
from tests.compactor.builders import agent, user


@pytest.mark.parametrize(
    "told",
    [
        '{"name":"DB_PASSWORD","value":"S3cr3t-9x7"}',
        "Password:\n\n  hunter2secret987",
        "**Passwort:**\n`hunter2secret987`",
        "das WLAN-Passwort ist `Sommerwiese`",
        "Zugangsdaten →\nanna_k4711\n`Sommerwiese`",
        "- name: DB_PASSWORD\n  value: S3cr3t-987x",
        "  value: S3cr3t-987x\n  name: DB_PASSWORD",
        "Your recovery codes:\n- 4411-9283-1\n- 4411-9283-2\n- 4411-9283-3\n- 4411-9283-4",
        "| user | pwd: |\n|---|---|\n| a | ABC-1234 |\n| b | ABC-1235 |\n| c | ABC-1236 |",
        "## API key\n\nABC-12345",
        "PIN 482199, TAN 7731992",
        "my pin is 4821993",
        "API_TOKEN = `abc-def`",
        "the access tokens `abc` and `def`",
        "login data: `anna` / `Sommerwiese`",
        "private key `abcdef`, seed phrase “Lake Lemon Lion”",
        "contraseña 48219931",
        "mot de passe : ABC-12345",
        "senha ABC-12345",
        "пароль ABC-12345",
        "密码\uff1aABC-12345",
        "密碼 ABC-12345",
        "口令是ABC-12345",
        "パスワードはABC-12345",
        "비밀번호 ABC-12345",
        "كلمة المرور ABC-12345",
    ],
)
def test_what_stands_in_a_line_about_a_secret_is_never_wanted(told: str) -> None:
    """Nor what such a line announces; what stands apart from it is."""
    assert wanted_of(user(f"see ORD-111\n{told}")) == ("ORD-111",)
    assert wanted_of(user("see ORD-111"), agent(told)) == ("ORD-111",)


def test_a_secret_is_not_wanted_from_another_line_either() -> None:
    """A file that was spoken of beside it is still a file."""
    rows = [
        user("the password in docs/a.md:\nSommer-2029"),
        agent("`Sommer-2029` of docs/a.md worked, and so did SOMMER-2029"),
    ]
    assert wanted_of(*rows) == ("docs/a.md",)


@pytest.mark.parametrize(
    "text",
    [
        "ORD-111 took 4,000 tokens of max_tokens",
        "the token count of ORD-111",
        "$ per token for ORD-111",
        "the secretary has my passport and ORD-111",
        "pin the version of ORD-111",
    ],
)
def test_talk_of_something_else_hides_nothing(text: str) -> None:
    """Tokens that a model counts, and words that only begin alike."""
    assert wanted_of(user(text))[0] == "ORD-111"


@pytest.mark.parametrize(
    "arguments",
    [
        {"name": "DB_PASSWORD", "value": "ABC-12345"},
        {"env": [{"name": "ABC", "pin": "48219931"}, {"key": "API token", "value": "ABC-12345"}]},
        {"credentials": {"user": "ABC-12345"}},
    ],
)
def test_the_secret_of_a_call_is_not_wanted(arguments: dict[str, object]) -> None:
    """By its own name, or by the one that stands beside it."""
    assert wanted_of(user("go"), call(arguments), call({"path": "docs/a.md"})) == ("docs/a.md",)


def test_many_lines_about_secrets_take_linear_time() -> None:
    """The suite's time limit is the judge."""
    for hostile in ("password:\n", "password:\n\n\n", "name: pwd\n", "| pin: |\n| a |\n", "pass "):
        text = hostile * (200_000 // len(hostile))
        _, told = split_secret_lines(text)
        assert len(told) <= len(text)
