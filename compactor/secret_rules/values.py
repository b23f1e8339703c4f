"""What follows a name that says "secret": its shapes, and the words, code and masks that it isn't.

The parts of patterns here are for text in lower case.
"""

from __future__ import annotations


def _any_of(names: str) -> str:
    # Every alternative begins with a literal, so that the engine can skip to the next one.
    return f"(?:{'|'.join(name.replace('_', '[_ -]?') for name in names.split())})"


def _triggers(words: str) -> tuple[str, ...]:
    return tuple(words.split())


# `API_KEY_PROD`, `password2`
_STAGE = "(?:_(?:base|prod|production|live|staging|dev|test|local)|[_-]?[0-9]{1,2})?"
# In these lists a `_` stands for nothing, a space, a hyphen or itself.
# Initials stand for other things too, which are explained in some words: `PW: Public Works dept`.
_NO_INITIALS = (
    r"(?!:\s{0,2}[a-z]{2,30}\s(?!(?:und|and|et|user|username|login|benutzer|mail|email|for|für|mit"
    r"|with|bitte|please)\b)[a-z]{2,30}\s[a-z]{2})"
)
_WHOLE_WORDS = "".join(
    rf" {word}(?<![a-z0-9]{word}){_NO_INITIALS}" for word in ("pw", "psk", "mdp")
)
# Names whose value is secret whatever it looks like.
LOGIN_NAMES = (
    _any_of(
        "password passwd passphrase passcode passwort kennwort pwd contraseña mot_de_passe senha"
        " wachtwoord hasło şifre lösenord salasana heslo jelszó mật_khẩu kata_sandi wifi_key"
        " wlan_schlüssel wi-fi_schlüssel netzwerk_schlüssel zugangs_schlüssel"
        " пароль 密码 密碼 口令 パスワード 비밀번호 كلمة_المرور كلمة_السر סיסמה รหัสผ่าน पासवर्ड"
        rf"{_WHOLE_WORDS} pass(?<=[\x5f-]pass)"
    )
    + f"s?{_STAGE}"
)
LOGIN_TRIGGERS = _triggers(
    "passw passphrase passcode _pass -pass pw mdp psk kennwort contraseña passe senha"
    " wachtwoord hasło şifre lösenord heslo salasana jelszó khẩu sandi schlüssel wifi"
    " пароль 密码 密碼 口令 パスワード 비밀번호 كلمة סיסמה รหัสผ่าน पासवर्ड"
)
# A number, a type or a word may follow `token`, so these values must look like a secret themselves.
KEY_NAMES = (
    _any_of(
        "api_key app_key auth_key access_key private_key pre-?shared_key secret_key signing_key"
        " encryption_key account_key master_key token secret auth(?<=[\\x5f-]auth)"
        " api_schlüssel zugriffs_schlüssel 密钥 密鑰 令牌 シークレット"
    )
    + _STAGE
)
KEY_TRIGGERS = _triggers("secret token key _auth -auth schlüssel 密钥 密鑰 令牌 シークレット")

QUOTE = r"(?:\\{0,31}[\"'`]|&quot;|&\#3[49];)"
_AFTER_NAME = rf"(?:{QUOTE}\]?|\*{{1,2}}|\)|\s?\([^()\n]{{1,30}}\))?"
_SIGN = r"(?::=|=>|[:=→]|\uff1a|%3[ad])"
GAP = r"(?:\s|\\{1,31}[nt])"  # white space, also as JSON has it in a text
ASSIGN = (
    rf"{_AFTER_NAME}{GAP}{{0,3}}{_SIGN}{GAP}{{0,3}}(?:\*{{1,2}}\s{{0,2}}|[|>][+-]?{GAP}{{1,20}})?"
)
# The value stands on a line of its own, the next one or the next but one.
_LINE_GAP = r"(?:[\s>]|\\{1,31}[nrt])"
ASSIGN_LINE = rf"{_AFTER_NAME}\s?{_SIGN}[ ]{{0,3}}(?=\s|\\{{1,31}}[nr]){_LINE_GAP}{{1,40}}+"
LINE_END = r"(?=\s{0,3}(?:\n|$|\\|\"))"
OPENING = r"[„“”«「『\u2018\u201a]"  # typographic quotes; their ends are no part of a word

NO_WORD = (
    r"(?:required|optional|none|null|nil|true|false|undefined|unknown|missing|empty"
    r"|invalid|incorrect|wrong|changed|expired|expires|reset|rotated|string|str|bytes|int|number"
    r"|bool|boolean|any|secretstr|please|your|the|this|that|not|and|or|for|with|same|see|must"
    r"|should|hidden|masked|updated"
    r"|bitte|steht|siehe|erforderlich|falsch|vergessen"
    r"|obligatori[oa]|obrigatóri[oa]|obligatoire|requis|verplicht"
    r"|xxx+)(?![A-Za-z0-9_-])"
)
# A placeholder, a mask, a reference: something stands in the place of the secret.
_NO_VALUE = (
    r"your[_ -]|[\u3000-\u9fff\uac00-\ud7af]|[^\x00-\u024f]{1,80}(?:[\s.,!?\"'\\]|$)"
    r"|x{3,8}[_-]|\.{3}|[•●∙*]{2}|!(?:vault|ref|sub|env|secret|reference|include)\b"
    r"|\$[{(]|\{\{|\$[a-z_]{1,40}(?=[\"'\\])|<[a-z]"
)
_CODE = (
    r"(?:self|this|config|settings?|cfg|conf|env|process|os|args|options|opts|req|request|ctx|props"
    r"|params|secrets|vault|var|local|data|module|import)\??\.[a-z_]|[a-z_][a-z0-9_.]{0,80}[(\[]"
    r"|(?:shift|ctrl|strg|alt|cmd|meta)\+|[a-z0-9_-]{1,64}:(?:\s|$)|(?:password|passwort|token|secret|value|files)\s[a-z]"
)
NO_QUOTED = rf"(?!\[redacted:|{NO_WORD}|{_NO_VALUE})"
NO_BARE = rf"(?!\[redacted:|(?i:{NO_WORD}|{_NO_VALUE}|{_CODE})|[$<{{%*/~(\[])"
NO_MARK = r"(?!\[redacted:)"

TO_QUOTE = r"(?:(?!(?P=quote))(?:\\+[^\n]|[^\n\\]))"
# An ampersand ends a word where another parameter or an entity begins.
WORD = (
    r"(?:[^\s\"'`,;&<>()\[\]{}|\\\uff0c。\uff1b\uff01、“”»」』]|&(?![a-z#][a-z0-9_.-]{0,40}[=;]))"
)
# Where no sign stands ahead of it, a word ends where a script without spaces goes on, and where
# bold type does.
PLAIN_WORD = (
    r"(?:[!#$%+./:=?@^_~A-Za-z0-9À-ÿ\u0370-\u04ff-]|\*(?!\*(?:[\s.,;)\\\"]|$))"
    r"|&(?![a-z#][a-z0-9_.-]{0,40}[=;]))"
)
DIGIT_NEAR = rf"(?={WORD}{{0,80}}?[0-9])"
