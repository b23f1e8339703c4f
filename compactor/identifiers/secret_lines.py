"""The lines of a text that speak of a secret: nothing in them is a fact worth keeping.

Whoever names a password writes it beside its name or right below. Its form tells nothing, so it is
the line that is left out, not the word.
"""

from __future__ import annotations

import re
import unicodedata

_BELOW = 2  # lines that may hold what a line with a colon announces

_SEPARATOR = "[ _.-]?"
_SECRET = re.compile(
    # Passwords, in any compound and any identifier
    r"passw(?:or[dt]|ört|d)|pass[ _-]?(?:phrase|code|key)|pwd|kennw(?:o|ö)rt|losungswort"
    r"|contraseña|mots?[ _]de[ _]passe|(?<![a-z])senhas?(?![a-z])|wachtwoord|lösenord|hasło|şifre"
    r"|парол[ьяюие]|密码|密碼|口令|密钥|密鑰|金鑰|验证码|驗證碼|パスワード|暗証番号|비밀번호|암호"
    r"|كلمة (?:ال)?(?:مرور|سر)|סיסמ"
    # Secrets by other names
    r"|secret(?!ar|ion|ly|e[ds]?(?![a-z]))|credential|geheim(?:zahl|nis|wort|code)"
    rf"|(?:api|access|private|encryption|signing|master|recovery|backup){_SEPARATOR}keys?(?![a-z])"
    rf"|log{_SEPARATOR}in{_SEPARATOR}(?:data|daten|details|info)|(?:zugangs|anmelde)(?:daten|code)"
    rf"|(?:recovery|backup|security|verification|one[ -]time|2fa|mfa|wiederherstellungs|sicherheits"
    rf"|einmal|ersatz){_SEPARATOR}codes?(?![a-z])"
    rf"|(?:seed|recovery|mnemonic){_SEPARATOR}(?:phrase|word)|(?<![a-z])(?:t?otp|cvv|cvc|puk)(?![a-z])"
    # Tokens that let somebody in, not those that a model counts
    rf"|(?:access|api|auth|bearer|refresh|session|bot|personal|login|id){_SEPARATOR}tokens"
    r"|(?<!per )(?<!next[ -])(?<!first )(?<!last )(?<!each )(?<!every )"
    r"token(?!s|i[sz]|[ _-]?(?:count|limit|budget|usage|window|price|cost|length|number|anzahl))"
    # To pin and a tan are words, too
    r"|(?<![a-z])(?:pin|[im]?tan)[\"'*`]{0,3}\s{0,2}[:=\uff1a]"
    r"|(?<![a-z])pin[ _-]?(?:code|number|nummer)"
    r"|(?<![a-z])(?:my|the|your|his|her|our|meine|deine|die|der|ihre|card|sim) pins?(?![a-z])"
    r"|(?<![a-z])pin (?:is|ist|was|lautet)(?![a-z])"
)
_CAPITALS = re.compile(r"(?<![A-Za-z])(?:PINs?|[imp]?TANs?)(?![A-Za-z])")
_ANNOUNCES = re.compile(r"(?::|=|->|=>|[→⇒➜⟶↓|>])$")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s")
_ENTRY = re.compile(
    r"[\s{\[,-]{0,40}[\"']?(?:name|key|id|label|title|field|variable|var|env|type|kind)[\"']?\s{0,3}[:=]",
    re.IGNORECASE,
)
_FIRST = re.compile(r"\s{0,40}[{\[-]")
_PAIR = re.compile(r"[\s{\[,-]{0,40}[\"']?[\w.-]{1,40}[\"']?\s{0,3}[:=]")
_BARE = re.compile(r"\s{0,20}(?:[-*•]|\d{1,2}[.)])?\s{0,4}\S{4,80}(?:\s\S{1,80})?\s{0,20}")


def speaks_of_secret(text: str) -> bool:
    """Whether a line or a name speaks of a password, a key or the like."""
    plain = unicodedata.normalize("NFKC", text)
    return bool(_SECRET.search(plain.casefold()) or _CAPITALS.search(plain))


def split_secret_lines(text: str) -> tuple[str, str]:
    """Return `text` without the lines that may hold a secret, and these lines.

    They are those that speak of one, the next two where such a line ends with a colon or an arrow
    (and the list that goes on there), its neighbours where it is an entry that only names one
    (`name: DB_PASSWORD`), and the table that it heads.
    """
    lines = text.split("\n")
    hidden = [speaks_of_secret(line) for line in lines]
    for at in [at for at, speaks in enumerate(hidden) if speaks]:
        line = lines[at]
        if _ANNOUNCES.search(line.rstrip(" \t*_`\"'")) or _HEADING.match(line):
            _hide_below(lines, hidden, at)
        if _ENTRY.match(line):
            _hide_beside(lines, hidden, at)
    # A fence stays, so that what is code remains code.
    judged = list(zip(lines, hidden, strict=True))
    kept = ["```" * ("```" in line) if hide else line for line, hide in judged]
    return "\n".join(kept), "\n".join(line for line, hide in judged if hide)


def _hide_beside(lines: list[str], hidden: list[bool], at: int) -> None:
    """Hide the line below an entry, and the one above where it belongs to the same entry."""
    above, below = _next_line(lines, at, -1), _next_line(lines, at, 1)
    if below is not None:
        hidden[below] = True
    if above is not None and not _FIRST.match(lines[at]) and _PAIR.match(lines[above]):
        hidden[above] = True


def _hide_below(lines: list[str], hidden: list[bool], at: int) -> None:
    """Hide what line `at` announces: some lines, and as long as there are bare words or cells."""
    table = lines[at].lstrip().startswith("|")
    count = 0
    below = _next_line(lines, at, 1)
    while below is not None and not (hidden[below] and count >= _BELOW):
        line = lines[below]
        goes_on = line.lstrip().startswith("|") if table else _BARE.fullmatch(line)
        if count >= _BELOW and not goes_on:
            return
        hidden[below] = True
        count += 1
        below = _next_line(lines, below, 1)


def _next_line(lines: list[str], at: int, step: int) -> int | None:
    """Return the nearest line in that direction with anything on it, of the next three."""
    for other in range(at + step, at + 4 * step, step):
        if 0 <= other < len(lines) and lines[other].strip():
            return other
    return None
