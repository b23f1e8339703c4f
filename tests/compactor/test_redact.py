"""Secrets leave, look-alikes stay."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactor.redact import redact

# Made up, and put together here, so that no scanner of repositories takes them for real ones.
_TAIL = "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z"
KEYS = {
    "anthropic_key": "sk-ant-" + "api03-" + _TAIL,
    "openai_key": "sk-" + "proj-" + _TAIL,
    "github_token": "ghp_" + _TAIL,
    "slack_token": "xoxb-" + "123456789012-" + _TAIL,
    "google_key": "AIza" + "Sy_" + _TAIL,
    "aws_key": "AKIA" + "QWERTYUIOP234567",
    "huggingface_token": "hf_" + _TAIL,
    "gitlab_token": "glpat-" + _TAIL,
    "stripe_key": "sk_live_" + _TAIL,
    "telegram_token": "123456789:" + "AA" + _TAIL + "q",
    "jwt": "eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxMjM0In0." + _TAIL,
}
OTHER_SHAPES = [
    "sk-" + _TAIL,
    "sk-or-" + "v1-" + _TAIL,
    "github_pat_" + "11ABC_" + _TAIL,
    "ASIA" + "QWERTYUIOP234567",
    "npm_" + _TAIL,
]


@pytest.mark.parametrize(("kind", "key"), KEYS.items())
def test_a_key_is_replaced_by_its_kind_and_the_text_around_it_stays(kind: str, key: str) -> None:
    """What is left says which kind of secret stood there, and nothing of the secret."""
    assert redact(f"use {key}, please") == f"use [redacted:{kind}], please"


@pytest.mark.parametrize("key", OTHER_SHAPES)
def test_other_shapes_of_the_same_keys_go_too(key: str) -> None:
    """A provider has had more than one form of key."""
    assert _TAIL not in redact(f"({key})")
    assert redact(key).startswith("[redacted:")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("password: hunter2", "password: [redacted:password]"),
        ("Passwort = geheim12!", "Passwort = [redacted:password]"),
        ("my password is hunter2.", "my password is [redacted:password]"),
        ('{"password": "two words"}', '{"password": "[redacted:password]"}'),
        (r'"{\"token\": \"abc12345x\"}"', r'"{\"token\": \"[redacted:secret]\"}"'),
        ("OPENAI_API_KEY=abcd1234efgh", "OPENAI_API_KEY=[redacted:secret]"),
        ("https://x.org/?token=abcd1234&a=1", "https://x.org/?token=[redacted:secret]&a=1"),
        ("mysql --password hunter2 -u me", "mysql --password [redacted:password] -u me"),
        ("密码\uff1aabc123", "密码\uff1a[redacted:password]"),
        ("密码是abc123", "密码是[redacted:password]"),
    ],
)
def test_of_a_pair_only_the_value_goes(text: str, left: str) -> None:
    """The name of a setting is no secret, and what stands behind the value stays."""
    assert redact(text) == left


@pytest.mark.parametrize(
    ("url", "left"),
    [
        ("postgres://bob:s3cr3t@db:5432/x", "postgres://bob:[redacted:password]@db:5432/x"),
        ("redis://:s3cr3t@cache", "redis://:[redacted:password]@cache"),
        ("https://me:p%40ss:w@host/a", "https://me:[redacted:password]@host/a"),
    ],
)
def test_a_url_keeps_all_but_its_password(url: str, left: str) -> None:
    """Scheme, user and host are facts that somebody may need."""
    assert redact(url) == left


def test_a_bearer_token_goes_with_and_without_its_header() -> None:
    """Both the header's value and a token that is quoted alone."""
    assert (
        redact(f"Authorization: Bearer {_TAIL}") == "Authorization: Bearer [redacted:bearer_token]"
    )
    assert redact(f"bearer {_TAIL}") == "bearer [redacted:bearer_token]"
    assert redact(f'"authorization": "{_TAIL}"') == '"authorization": "[redacted:bearer_token]"'


@pytest.mark.parametrize("kind", ["RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", ""])
def test_a_private_key_goes_as_a_whole(kind: str) -> None:
    """From its first line to its last one, whatever they are broken with."""
    for newline in ("\n", "\r\n", "\\n", " "):
        lines = [
            f"-----BEGIN {kind}PRIVATE KEY-----",
            _TAIL,
            _TAIL,
            f"-----END {kind}PRIVATE KEY-----",
        ]
        assert redact(f"a {newline.join(lines)} b") == "a [redacted:private_key] b"


def test_a_private_key_without_an_end_takes_no_prose_with_it() -> None:
    """A key that was cut off ends where its base64 ends."""
    text = f"-----BEGIN RSA PRIVATE KEY-----\n{_TAIL}\n{_TAIL}\nCall me at noon, please."
    assert redact(text) == "[redacted:private_key]\nCall me at noon, please."


@pytest.mark.parametrize(
    "innocent",
    [
        "550e8400-e29b-41d4-a716-446655440000",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "commit 7d3c3e1, tag v0.8.0",
        "/home/me/.secrets/token.txt",
        "secret: /run/secrets/db",
        "reservation 3RK2T9, order 4400123456, flight HAT214",
        "call_MY94XabcdefGHIJK12345678 and toolu_017qEkVzzPb7b7o4FkgJLF23",
        "a password reset; the password is wrong; password: required",
        "token count: 1200, max_tokens=4096, tokens: 120000, token: 1200",
        "| Token | Purpose | Examples |",
        "pip install sk-learn scikit-learn task-abcdefghijklmnopqrstuvwxyz",
        "password = get_password()",
        'secret = os.environ["SECRET"]',
        "def login(password: str, token: string) -> None",
        "basic economy, bearer of bad news",
        "https://example.com:443/a@b and git@github.com:foo/bar.git",
        "keyboard: 12345678, monkey=abcd12345678",
    ],
)
def test_an_innocent_look_alike_stays(innocent: str) -> None:
    """A hand-off without its identifiers is worth nothing."""
    assert redact(innocent) == innocent


_PIECES = st.one_of(
    st.sampled_from([*KEYS.values(), *OTHER_SHAPES]),
    st.sampled_from(
        ["password", "token", "secret: ", "api_key=", '"', "'", "\\", ": ", "=", " is ", "://", "@"]
    ),
    st.sampled_from(["-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "Bearer ", "eyJ"]),
    st.sampled_from(
        ["[redacted:secret]", "[redacted:", "]", "hunter2", "abcd1234efgh", "\n", "--"]
    ),
    st.text(max_size=6),
)


@settings(max_examples=400)
@given(st.lists(_PIECES, max_size=14).map("".join))
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    """An entry is redacted again whenever it is revised."""
    once = redact(text)
    assert redact(once) == once


@settings(max_examples=100)
@given(st.text(st.characters(codec=None), max_size=200))
def test_no_text_makes_it_raise(text: str) -> None:
    """Lone surrogates and NUL included."""
    assert isinstance(redact(text), str)


@pytest.mark.parametrize(
    "hostile",
    [
        "-----BEGIN PRIVATE KEY-----",
        "password: ",
        "--password ",
        '"token":"',
        "a://b:",
        "eyJaaaaaaaaaa.",
        "secret_access_",
        "user pass: ",
        "| password ",
        "PASSWORD=\n",
        "echo sudo ",
        "seed phrase: word ",
        "private key " + "A" * 64 + "\n ",
        "\\u5bc6\\u7801",
        "\\",
        "-",
        " ",
        "sk-",
    ],
)
def test_a_long_run_of_what_almost_matches_comes_to_an_end(hostile: str) -> None:
    """The suite's time limit is the judge: a pattern that backtracks would need hours."""
    text = hostile * (200_000 // len(hostile))
    once = redact(text)
    assert redact(once) == once
