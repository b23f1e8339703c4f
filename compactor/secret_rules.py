"""The kinds of secrets that `redact` knows: one row each.

Every quantifier is bounded or possessive, and every pattern begins with a literal or looks at a
bounded number of characters, so that no text takes more than linear time. The group `secret` is
what gets replaced.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of secret. `triggers` are lower case; without one of them there is no match."""

    kind: str
    triggers: tuple[str, ...]
    pattern: re.Pattern[str]


_START = r"(?<![A-Za-z0-9_-])"  # a prefix counts at the start of a word only: `task-abc` has none


def _key(kind: str, *prefixes: str, body: str) -> Rule:
    """Return the rule of a key that begins with one of the literal `prefixes`."""
    alternatives = "|".join(re.escape(prefix) for prefix in prefixes)
    pattern = re.compile(f"{_START}(?P<secret>(?:{alternatives}){body})")
    return Rule(kind, tuple(prefix.lower() for prefix in prefixes), pattern)


def _rule(kind: str, *triggers: str, pattern: str) -> Rule:
    return Rule(kind, triggers, re.compile(pattern, re.IGNORECASE))


# A private key may be cut off: then what looks like its base64 lines is taken.
_PRIVATE_KEY = re.compile(
    r"""
    (?P<secret>
        -----BEGIN[ ](?:[A-Z0-9]{1,20}[ ]){0,3}PRIVATE[ ]KEY(?:[ ]BLOCK)?-----
        (?:
            (?: (?!-----BEGIN) [\s\S] ){0,20000}?
            -----END[ ](?:[A-Z0-9]{1,20}[ ]){0,3}PRIVATE[ ]KEY(?:[ ]BLOCK)?-----
        |
            (?: (?: \s | \\[nr] )*+ [A-Za-z0-9+/=]{16,}+ )*+
        )
    )
    """,
    re.VERBOSE,
)

# Names that say "what follows is secret". A number, a type or a word may follow `token`, hardly
# ever `password`, so the values of the first kind must look like a secret themselves.
_KEY_NAMES = (
    r"(?:secret[_-]?access[_-]?key|(?:api|app|access|private|secret|signing|encryption|account)"
    r"[_-]?key|(?:auth|access|refresh|bearer|bot|session|id|api|csrf)[_-]?token"
    r"|client[_-]?secret|webhook[_-]?secret|token|secret|api[ ]key|access[ ]token|密钥|密鑰|令牌)"
)
_LOGIN_NAMES = (
    r"(?:password|passwd|passphrase|passcode|passwort|kennwort|pwd|contraseña|mot[ ]de[ ]passe"
    r"|密码|密碼|口令|パスワード)"
)
_ASSIGN = r"""(?:\\?["'])?\s{0,3}(?::=|=>|[:=\uff1a])\s{0,3}"""
_NO_WORD = (
    r"(?:required|optional|none|null|nil|true|false|undefined|unknown|missing|empty"
    r"|invalid|incorrect|wrong|changed|expired|reset|string|str|bytes|int|number|bool|boolean|any"
    r"|please|your|the|this|that|not|and|for|with|same|see|must|should|hidden|masked|xxx+)"
    r"(?![A-Za-z0-9_-])"
)
_NO_SECRET = rf"(?!\[redacted:|{_NO_WORD}|[$<{{%*/~(\[])"
_QUOTED = rf"""(?P<quote>\\?["'])(?P<secret>(?!\[redacted:|{_NO_WORD})SHAPE)(?P=quote)"""
_TO_QUOTE = r"(?:(?!(?P=quote))[^\n])"
_BARE = r"""(?P<secret>SHAPE)(?![(\[{])"""
_WORD = r"""[^\s"'`,;&<>()\[\]{}|\\\uff0c。\uff1b]"""
_DIGIT_NEAR = rf"(?={_WORD}{{0,80}}?[0-9])"


def _pair(kind: str, *triggers: str, names: str, shape: str, bare: str) -> tuple[Rule, Rule]:
    """Return the rules of `name: "value"` and of `name=value`; only the value is replaced."""
    # After a flag (`--password x`) there is no sign, only a space.
    flag = rf"(?:(?<=[\s(\"'])--?[a-z-]{{0,20}}{names}\s{{1,3}}|{names}{_ASSIGN})"
    return (
        _rule(kind, *triggers, pattern=names + _ASSIGN + _QUOTED.replace("SHAPE", shape)),
        _rule(kind, *triggers, pattern=flag + _NO_SECRET + _BARE.replace("SHAPE", bare)),
    )


RULES: tuple[Rule, ...] = (
    Rule("private_key", ("private key",), _PRIVATE_KEY),
    _rule(
        "password",
        "://",
        pattern=r"""(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{0,30}://[^\s/?#:@"'<>\[]{0,256}:"""
        r"""(?P<secret>(?!\[redacted:)[^\s/?#"'<>]{1,512})(?=@)""",
    ),
    _key("anthropic_key", "sk-ant-", body=r"[A-Za-z0-9_-]{12,}+"),
    _key(
        "openai_key",
        *("sk-proj-", "sk-svcacct-", "sk-admin-", "sk-or-"),
        body=r"(?=[A-Za-z0-9_-]{0,80}[0-9])[A-Za-z0-9_-]{16,}+",
    ),
    _key("openai_key", "sk-", body=r"[A-Za-z0-9]{20,}+[A-Za-z0-9_-]*+"),
    _key("stripe_key", "sk_live_", "sk_test_", "rk_live_", "rk_test_", body=r"[A-Za-z0-9]{16,}+"),
    _key("stripe_key", "whsec_", body=r"[A-Za-z0-9+/=]{20,}+"),
    _key("github_token", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", body=r"[A-Za-z0-9]{20,}+[\w.-]*+"),
    _key("github_token", "github_pat_", body=r"[A-Za-z0-9_]{20,}+"),
    _key("gitlab_token", "glpat-", "gldt-", "glrt-", body=r"[A-Za-z0-9_.-]{16,}+"),
    _key(
        "slack_token",
        *("xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xoxc-", "xoxd-", "xapp-"),
        body=r"[A-Za-z0-9%-]{10,}+",
    ),
    _rule(
        "slack_webhook",
        "hooks.slack.com/",
        pattern=r"hooks\.slack\.com/(?:services|workflows)/(?P<secret>[A-Z0-9_/-]{20,200})",
    ),
    _key("google_key", "AIza", body=r"[A-Za-z0-9_-]{30,}+"),
    _key("google_token", "ya29.", body=r"[A-Za-z0-9_-]{20,}+"),
    _key("aws_key", "AKIA", "ASIA", "ABIA", "ACCA", body=r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _key("huggingface_token", "hf_", body=r"[A-Za-z0-9]{20,}+"),
    _key("groq_key", "gsk_", body=r"[A-Za-z0-9]{20,}+"),
    _key("xai_key", "xai-", body=r"[A-Za-z0-9]{20,}+"),
    _key("npm_token", "npm_", body=r"[A-Za-z0-9]{30,}+"),
    _key("pypi_token", "pypi-AgE", body=r"[A-Za-z0-9_-]{30,}+"),
    _key("sendgrid_key", "SG.", body=r"[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,64}"),
    _key("jwt", "eyJ", body=r"[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+)?"),
    _rule(
        "telegram_token",
        ":aa",
        pattern=r"(?<![0-9A-Za-z])(?P<secret>[0-9]{8,10}:AA[A-Za-z0-9_-]{30,}+)",
    ),
    _rule(
        "bearer_token",
        "bearer",
        "basic",
        pattern=r"\b(?:bearer|basic)\s{1,3}(?P<secret>(?=[A-Za-z0-9._~+/=-]{0,80}[0-9])"
        r"[A-Za-z0-9._~+/=-]{16,}+)",
    ),
    _rule(
        "bearer_token",
        "authorization",
        pattern=r"""authorization(?:\\?["'])?\s{0,3}[:=]\s{0,3}(?:\\?["'])?"""
        r"""(?:(?:bearer|basic|token)\s{1,3})?(?P<secret>[A-Za-z0-9._~+/=-]{12,}+)(?!\])""",
    ),
    *_pair(
        "password",
        *("passw", "passphrase", "passcode", "kennwort", "pwd", "contraseña", "mot de passe"),
        *("密码", "密碼", "口令", "パスワード"),
        names=_LOGIN_NAMES,
        shape=rf"{_TO_QUOTE}{{1,256}}",
        bare=rf"{_WORD}{{4,256}}+",
    ),
    _rule(
        "password",
        *("passw", "kennwort", "pwd", "密码", "密碼"),
        pattern=rf"{_LOGIN_NAMES}\s{{0,3}}(?:\bis\b|\bist\b|\blautet\b|是|为|為)\s{{0,3}}"
        rf"(?:\\?[\"'`])?{_NO_SECRET}{_DIGIT_NEAR}(?P<secret>{_WORD}{{4,256}}+)",
    ),
    *_pair(
        "secret",
        *("secret", "token", "key", "密钥", "密鑰", "令牌"),
        names=_KEY_NAMES,
        shape=rf"""(?=[^"'\n\\]{{0,80}}[0-9]|[^\s"'\\]{{20}}){_TO_QUOTE}{{8,512}}""",
        bare=rf"(?:{_DIGIT_NEAR}{_WORD}{{8,512}}+|{_WORD}{{24,512}}+)",
    ),
)
