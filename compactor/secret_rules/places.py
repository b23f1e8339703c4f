"""Secrets that their place gives away: in a URL, a header, a webhook's address, a command."""

from __future__ import annotations

from compactor.secret_rules.rule import Rule, form_rule, place_rule
from compactor.secret_rules.values import GAP, NO_BARE, NO_MARK

_QUOTES = r"(?:\\{0,31}[\"'])"
_ARGUMENT = rf"{_QUOTES}?(?P<secret>{NO_BARE}[^\s\"'|;\\]{{4,256}})"
_CREDENTIAL = r"(?P<secret>(?!your[_-])(?=[a-z0-9._~+/=-]{0,80}[0-9])[a-z0-9._~+/=-]{16,}+)"
_DATABASES = (
    r"(?:postgres(?:ql)?|mysql|mariadb|mongodb|rediss?|amqps?|s?ftps?|ldaps?|mssql|oracle)"
    r"(?:\+[a-z0-9]{1,20})?"
)

_URLS = (
    place_rule(
        "password",
        "://",
        pattern=r"""(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{0,30}://[^\s/?#:@"'<>\[]{0,256}:"""
        r"""(?P<secret>(?!\[redacted:)[^\s/?#"'<>]{1,512})(?=@)""",
    ),
    # Drivers take a password that should have been escaped; a browser doesn't.
    place_rule(
        "password",
        "://",
        pattern=rf"""(?<![a-z0-9+.-]){_DATABASES}://[^\s/?#:@"'<>\[]{{0,128}}:"""
        r"""(?P<secret>(?!\[redacted:|[0-9]{1,5}(?:[/?,\s]|$))[^\s"'<>@]{1,256})(?=@[a-z0-9\[])""",
    ),
    place_rule(
        "token",
        "://",
        pattern=r"(?<![a-z0-9+.-])https?://(?P<secret>(?=[a-z0-9_-]{0,80}[0-9])[a-z0-9_-]{20,}+)(?=@)",
    ),
    place_rule(
        "password",
        *("jdbc:oracle", "sqlplus"),
        pattern=r"(?:jdbc:oracle:[a-z]{1,8}:|sqlplus\s{1,3})[\w.-]{1,64}/"
        rf"(?P<secret>{NO_MARK}[^\s@/]{{1,128}})(?=@)",
    ),
    place_rule(
        "slack_webhook",
        "hooks.slack.com/",
        pattern=r"hooks\.slack\.com/(?:services|workflows)/(?P<secret>[a-z0-9_/-]{20,200})",
    ),
    place_rule(
        "discord_webhook",
        "/api/webhooks/",
        pattern=r"/api/webhooks/[0-9]{15,20}/(?P<secret>[a-z0-9_-]{20,}+)",
    ),
    place_rule(
        "teams_webhook",
        "/incomingwebhook/",
        pattern=r"/incomingwebhook/(?P<secret>[a-z0-9]{20,}+)",
    ),
    place_rule(
        "webhook_key",
        *("/webhook/send?key=", "/bot/v2/hook/"),
        pattern=r"(?:/webhook/send\?key=|/bot/v2/hook/)(?P<secret>[0-9a-f-]{20,}+)",
    ),
)

# `user / password` and `user:password@host`, where a password looks like one.
_STRONG = r"(?=[^\s@]{0,80}[0-9])(?=[^\s@]{0,80}[!#$%^*])"
_LOGINS = (
    form_rule(
        "password",
        *("login", "user", "benutzer", "zugang", "credentials", "account"),
        pattern=r"\b(?i:login|user(?:name)?|benutzer(?:name)?|zugang(?:sdaten)?|credentials|account)"
        rf"\s?[:=]\s{{0,3}}[\w.@+-]{{1,64}}\s/\s{_STRONG}"
        rf"(?P<secret>{NO_BARE}[^\s\"'`\\/]{{6,128}})",
    ),
    form_rule(
        "password",
        "@",
        pattern=rf":(?<=[\w.-]:)(?<!mailto:){_STRONG}"
        rf"(?P<secret>{NO_BARE}[^\s:/@\"'`<>\[\]()\\]{{6,64}}+)"
        r"(?=@(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}|localhost|[\w-]{1,63}\.[\w.-]{2,63})(?![\w@]))",
    ),
)

_HEADERS = (
    place_rule("bearer_token", "bearer", pattern=rf"\bbearer\s{{1,3}}{_CREDENTIAL}"),
    form_rule(
        "bearer_token",
        "basic",
        pattern=r"\b[Bb](?:asic|ASIC)\s{1,3}(?P<secret>(?=[A-Za-z0-9+/]{0,80}[A-Z])"
        r"(?=[A-Za-z0-9+/]{0,80}[0-9])[A-Za-z0-9+/]{16,}+=*+)",
    ),
    # Whatever its scheme is called; without one, what is no chain of words.
    place_rule(
        "bearer_token",
        "authorization",
        pattern=rf"authorization{_QUOTES}?\s{{0,3}}[:=]\s{{0,3}}{_QUOTES}?"
        r"(?:[a-z][a-z0-9_-]{1,30}\s{1,3}|(?!(?:[a-z]{1,20}-){2}))"
        r"(?P<secret>(?!your[_-]|bearer\s)[a-z0-9._~+/=-]{12,}+)(?!\])",
    ),
    place_rule(
        "cookie",
        "cookie",
        pattern=rf"cookie{_QUOTES}?\s{{0,3}}[:=]\s{{0,3}}{_QUOTES}?[\w.%-]{{1,64}}="
        r"(?P<secret>(?=[^\s;,\"'\\]{0,80}[0-9])[^\s;,\"'\\\[]{16,}+)",
    ),
    place_rule(
        "cookie",
        "cookie",
        pattern=r";\s{0,3}[\w.-]{0,20}?(?:sess|sid|token|auth|jwt|csrf|xsrf|remember|login)[\w.-]{0,20}="
        r"(?P<secret>(?=[^\s;,\"'\\]{0,80}[0-9])[^\s;,\"'\\\[]{16,}+)",
    ),
)

_COMMANDS = (
    form_rule(
        "password",
        *("mysql", "mariadb"),
        pattern=r"\b(?:mysql|mariadb)[a-z-]{0,10}\s(?:[^\n|;]{0,200}?\s)?-p" + _ARGUMENT,
    ),
    form_rule(
        "password",
        *("sshpass", "docker login", "podman login", "registry login", "redis-cli", "smbclient"),
        pattern=r"\b(?:sshpass\s{1,3}-p|(?:docker|podman|registry)\slogin\s(?:[^\n|;]{0,200}?\s)?-p"
        r"|redis-cli\s(?:[^\n|;]{0,200}?\s)?-a|smbclient\s[^\n|;]{0,200}?-U\s{1,3}[\w.-]{1,64}%)\s{0,3}"
        + _ARGUMENT,
    ),
    form_rule(
        "password",
        *("curl", "wget", "http"),
        pattern=rf"(?<=\s)(?:-[ua]|--(?:proxy-)?user|--auth)(?:\s{{1,3}}|=){_QUOTES}?[\w.@+-]{{1,64}}:"
        rf"(?P<secret>{NO_BARE}[^\s\"'\\]{{3,256}})",
    ),
    place_rule(
        "password",
        *("-passin", "-passout", "sudo", "chpasswd"),
        pattern=r"(?:-pass(?:in|out)\s{1,3}pass:|echo\s{1,3}(?:-n\s{1,3})?"
        rf"{_QUOTES}?+(?:[\w.-]{{1,64}}:)?+(?=[^\n|]{{1,128}}\|\s{{0,3}}sudo\s(?:-s|chpasswd)))"
        + _ARGUMENT,
    ),
    place_rule(
        "password",
        "net use",
        pattern=r"net\suse\s{1,3}(?:[a-z*]:?\s{1,3})?\\{2,4}\S{1,128}\s{1,3}(?P<secret>"
        rf"{NO_BARE}[^\s/]\S{{3,128}})(?=\s{{1,3}}/user)",
    ),
    place_rule(
        "password",
        "securestring",
        pattern=r"convertto-securestring\s{1,3}(?:-string\s{1,3})?\\{0,31}[\"']"
        rf"(?P<secret>(?!\$){NO_MARK}[^\"'\n\\]{{1,128}})",
    ),
    place_rule(
        "secret",
        "--pat",
        pattern=r"\s--pat(?:\s{1,3}|=)(?P<secret>(?=[a-z0-9]{0,80}[0-9])[a-z0-9]{20,}+)",
    ),
    place_rule(
        "password",
        "identified by",
        "with password",
        "encrypted password",
        "set password",
        pattern=r"(?:identified\sby|(?:with|encrypted|set)\spassword)\s{1,3}(?:=\s{0,3})?'"
        rf"(?P<secret>{NO_MARK}[^'\n]{{1,128}})'",
    ),
    place_rule(
        "password",
        "wifi:",
        pattern=rf"wifi:(?:[^\n;]{{0,64}};){{0,4}}p:(?P<secret>{NO_MARK}[^;\n]{{4,64}});",
    ),
    # .netrc, and what people say like it
    place_rule(
        "password",
        "login",
        pattern=rf"\blogin{GAP}{{1,8}}[^\s\\]{{1,64}}(?:{GAP}|>){{1,8}}password{GAP}{{1,8}}"
        rf"(?P<secret>{NO_BARE}[^\s\\\"]{{4,128}})",
    ),
)

PLACE_RULES: tuple[Rule, ...] = (*_URLS, *_LOGINS, *_HEADERS, *_COMMANDS)
