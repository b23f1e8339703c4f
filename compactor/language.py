"""In which script people write, and whether notes are written in another one.

Told apart are scripts, by the letters of prose; not languages: notes in English for somebody who
writes German look right here, and so do Ukrainian ones for a Russian. Chinese and Japanese are told
apart, as Japanese doesn't do without kana. Code, logs, links, paths, identifiers and e-mail
addresses say nothing about who writes, so a Chinese user who pastes English logs is Chinese.

`unicodedata` knows the script of a letter by its name, which is all that is needed; packages that
know Unicode's script property would add a dependency for what is one line.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class Script(StrEnum):
    """A way of writing, as a sentence names it."""

    LATIN = "Latin script"
    CYRILLIC = "Cyrillic script"
    GREEK = "Greek script"
    ARABIC = "Arabic script"
    HEBREW = "Hebrew script"
    ARMENIAN = "Armenian script"
    GEORGIAN = "Georgian script"
    DEVANAGARI = "Devanagari"
    BENGALI = "Bengali script"
    TAMIL = "Tamil script"
    TELUGU = "Telugu script"
    THAI = "Thai script"
    CHINESE = "Chinese"
    JAPANESE = "Japanese"
    KOREAN = "Korean"


_HAN, _KANA = "CJK", "KANA"  # letters that are not of one way of writing alone, or not by name
_BY_NAME = {script.name: script.name for script in Script} | {
    "HANGUL": Script.KOREAN.name,
    "CJK": _HAN,
    "IDEOGRAPHIC": _HAN,
    "HIRAGANA": _KANA,
    "KATAKANA": _KANA,
}
_LETTERS_PER_WORD = {_HAN: 2, _KANA: 3, Script.KOREAN.name: 2}
_USUAL_WORD = 5

# All of these are words, or what makes as much.
_LEAST_OF_USER = 8
_LEAST_OF_NOTES = 20
_MOST_OF_MESSAGE = 20  # that count, so that one long message doesn't outweigh a conversation
_LINE = 2  # in a script beside Latin: the line is in that script

_ALLOWED = 0.25  # the share of a script from which on the user writes in it, too
_MAIN = 0.75
_TERMS = 0.2  # a line in another script may hold this little of it beside Latin names and terms
_NATIVE = 0.15  # Latin notes that hold this much of the user's script are full of names, no more
_FOREIGN = 0.5  # a user with Latin script may have told names in another one
_KANA_SHARE = 0.1  # of kana among kana and Han, from which on a text is Japanese
_KANA_TRACE = 0.02
_LONG_HAN = 60  # characters; a shorter note in Japanese may do without kana
_PASTED = 0.75  # of the lines of a message: with less prose among them, it was pasted
_PROSE = 0.7  # the share of letters and spaces in a line that is no code and no log

_CODE = re.compile(r"```(?:(?!```)[\s\S])*+(?:```)?|`[^`\n]{0,400}`")
_APART = re.compile(r"^\s*(?:#{1,6}\s|>|\[[^\]]*\]\s*$|\|?[-=|: ]+$)")  # headings, quotes, labels
_ASCII = re.compile(r"[!-~]++")
_BULLET = re.compile(r"^[\s\-*+•]+")
_NO_WORD = re.compile(r"[0-9_@\\/=<>{}$~^]|[A-Za-z]\.[A-Za-z]|[a-z][A-Z]|^[\W]*[A-Z]{2,}[\W]*$")


def main_script(texts: Iterable[str]) -> Script | None:
    """Return the script of nearly all prose in a user's messages; None where no one script is."""
    words = _count_user(texts)
    total = sum(words.values())
    found = [script for script, count in words.items() if count >= _MAIN * total]
    return found[0] if found and total >= _LEAST_OF_USER else None


def find_foreign_script(notes: str, user_texts: Iterable[str]) -> str | None:
    """Say what is wrong with notes in a script that the user doesn't write in; None if nothing is.

    `notes` are sections without their frame. Headings, quoted lines and names say nothing; short
    notes are never refused, and nothing is where a user wrote too little to tell.
    """
    theirs = _count_user(user_texts)
    total = sum(theirs.values())
    if total < _LEAST_OF_USER:
        return None
    allowed = {script for script, count in theirs.items() if count >= _ALLOWED * total}
    letters = _letters("\n".join(_prose(notes)))
    words = _words(letters, _writing(letters, allowed))
    length = sum(words.values())
    if length < _LEAST_OF_NOTES:
        return None
    top = max(words, key=lambda script: words[script])
    native = sum(words.get(script, 0.0) for script in allowed) / length
    foreign = words[top] / length
    wrong = native < _NATIVE if top is Script.LATIN else foreign >= _FOREIGN
    if top in allowed or not wrong:
        return None
    names = [script for script in Script if script in allowed]
    return f"it is written in {top}, the user writes in {' and '.join(names)}"


def _count_user(texts: Iterable[str]) -> dict[Script, float]:
    """Count the words of a user in each script; see `_of_message`."""
    messages = [letters for text in texts if (letters := _of_message(text))]
    total: Counter[str] = Counter()
    for letters in messages:
        total += letters
    japanese = _is_japanese(total)
    words: dict[Script, float] = {}
    for letters in messages:
        han = letters[_HAN]
        chinese = not letters[_KANA] and han >= _LONG_HAN if japanese else not _is_japanese(letters)
        counted = _words(letters, Script.CHINESE if chinese else Script.JAPANESE)
        scale = min(1.0, _MOST_OF_MESSAGE / max(sum(counted.values()), 1.0))
        for script, count in counted.items():
            words[script] = words.get(script, 0.0) + count * scale
    return words


def _of_message(text: str) -> Counter[str]:
    """Count the letters of a message that tell who wrote it.

    Where some lines are in another script, Latin ones are what was pasted, or names and terms; and
    what little prose there is in something pasted is none of the user's.
    """
    latin: Counter[str] = Counter()
    other: Counter[str] = Counter()
    prose = _prose(text)
    if len(prose) < _PASTED * sum(bool(line.strip()) for line in _CODE.sub(" ", text).split("\n")):
        prose = [line for line in prose if not line.isascii()]
    for line in prose:
        letters = _letters(line)
        words = _words(letters, Script.CHINESE)
        beside = sum(words.values()) - words.get(Script.LATIN, 0.0)
        if beside >= min(_LINE, sum(words.values())) and beside >= _TERMS * sum(words.values()):
            del letters[Script.LATIN.name]
            other += letters
        else:
            latin += letters
    return other or latin


def _prose(text: str) -> list[str]:
    """Return the lines of prose in `text`, without what in them is no word."""
    lines = _CODE.sub(" ", text).split("\n")
    bare = [_BULLET.sub("", line).strip() for line in lines if not _APART.match(line)]
    return [_ASCII.sub(_keep_word, line) for line in bare if line and _is_prose(line)]


def _is_prose(line: str) -> bool:
    spoken = sum(char.isalpha() or char in " ,.!?'" or not char.isascii() for char in line)
    return spoken >= _PROSE * len(line) or not line.isascii()


def _keep_word(match: re.Match[str]) -> str:
    return " " if _NO_WORD.search(match[0]) else match[0]


def _letters(text: str) -> Counter[str]:
    """Count letters by the name of their script."""
    found: Counter[str] = Counter()
    for char, count in Counter(text).items():
        script = _script_of(char)
        if script:
            found[script] += count
    return found


@lru_cache(maxsize=4096)
def _script_of(char: str) -> str | None:
    if not char.isalpha():
        return None
    words = unicodedata.name(char, "").replace("-", " ").split()
    return next((_BY_NAME[word] for word in words[:2] if word in _BY_NAME), None)


def _words(letters: Mapping[str, int], han: Script) -> dict[Script, float]:
    """Turn letters into words; what is Han and kana is `han`."""
    words: dict[Script, float] = {}
    for name, count in letters.items():
        script = han if name in {_HAN, _KANA} else Script[name]
        made = count / _LETTERS_PER_WORD.get(name, _USUAL_WORD)
        words[script] = words.get(script, 0.0) + made
    return words


def _is_japanese(letters: Mapping[str, int]) -> bool:
    kana = letters.get(_KANA, 0)
    return kana > _KANA_SHARE * (kana + letters.get(_HAN, 0))


def _writing(letters: Mapping[str, int], allowed: set[Script]) -> Script:
    """Return what the Han and kana of notes are; what is in doubt is what the user writes."""
    if _is_japanese(letters):
        return Script.JAPANESE
    han, kana = letters.get(_HAN, 0), letters.get(_KANA, 0)
    doubtful = han < _LONG_HAN or kana > _KANA_TRACE * han
    return Script.JAPANESE if doubtful and Script.JAPANESE in allowed else Script.CHINESE
