"""One exchange as one line: what the user wanted, what was done, what the agent said to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from compactor.digest.phrases import is_filler, is_question
from compactor.digest.turns import PASTE
from compactor.readable import clip, one_line, split_sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compactor.digest.turns import Turn

_SENTENCES = 30  # of one speaker's side of an exchange; more is a paste
_ACTS = 3  # calls that are named in a line


@dataclass(frozen=True, slots=True)
class Exchange:
    """A turn taken apart: all sentences, and those that are more than politeness.

    `statements` are the user's sentences without what stands in the middle of a paste.
    """

    turn: Turn
    said: tuple[str, ...]
    statements: tuple[str, ...]
    answer: tuple[str, ...]
    telling_said: tuple[str, ...]
    telling_answer: tuple[str, ...]

    @property
    def is_request(self) -> bool:
        """Whether the user said more than a greeting or a thank-you."""
        return bool(self.telling_said)

    @property
    def weight(self) -> float:
        """What the exchange is worth beside others: most where something was done."""
        if self.turn.acts:
            return 4.5
        if self.is_request:
            return 2.5 + bool(self.telling_answer) + bool(self.turn.calls) / 2
        return 2.0 if self.telling_answer else 0.0

    @property
    def text(self) -> str:
        """All that was said and answered."""
        return " ".join([*self.turn.said, self.turn.answer])


def take_apart(turn: Turn) -> Exchange:
    """Return the exchange that a turn is."""
    said = _sentences(turn.said)
    pasted = any(text.count("\n") >= PASTE for text in turn.said)
    answer = _sentences([turn.answer])
    return Exchange(
        turn,
        said,
        _sentences([_around_paste(text) for text in turn.said]) if pasted else said,
        answer,
        tuple(sentence for sentence in said if not is_filler(sentence)),
        tuple(sentence for sentence in answer if not is_filler(sentence)),
    )


def exchange_line(exchange: Exchange, width: int, *, names_acts: bool) -> str:
    """Return what was said, done and answered, each in about `width` characters, or nothing."""
    turn = exchange.turn
    works = [label for label, worked in turn.acts.items() if worked and names_acts]
    parts = (
        ("User" if turn.source is None else "Task", gist_of_said(exchange, width)),
        ("Did", _some(works)),
        ("Failed", _some([label for label, worked in turn.acts.items() if not worked])),
        ("Agent", _gist_of_answer(exchange, width)),
    )
    return " → ".join(f"{who}: {text}" for who, text in parts if text)


def gist_of_said(exchange: Exchange, width: int) -> str:
    """Return the first telling sentences of the user in at most `width` characters."""
    text = " ".join(exchange.telling_said or exchange.said)
    return clip(text or one_line(" ".join(exchange.turn.said)), width)


def dated(date: str, text: str) -> str:
    """Return `text` behind its day, if that is known."""
    return f"{date} {text}" if date else text


def _gist_of_answer(exchange: Exchange, width: int) -> str:
    """Return the first things that the answer says, and its last question."""
    telling = exchange.telling_answer
    if exchange.answer and not telling and exchange.turn.said:
        return ""
    questions = [sentence for sentence in telling[1:] if is_question(sentence)][-1:]
    question = clip(questions[0], width // 2) if questions else ""
    rest = [sentence for sentence in telling if sentence not in questions] or exchange.answer
    text = " ".join(rest) or one_line(exchange.turn.answer)
    return f"{clip(text, width - len(question))} {question}".strip()


def _some(labels: list[str]) -> str:
    """Return the last few labels, and how many there are more."""
    more = f" and {len(labels) - _ACTS} more" if len(labels) > _ACTS else ""
    return ", ".join(labels[-_ACTS:]) + more


def _sentences(texts: Sequence[str]) -> tuple[str, ...]:
    found = [sentence for text in texts for sentence in split_sentences(text)]
    if len(found) <= _SENTENCES:
        return tuple(found)
    return (*found[: _SENTENCES // 2], *found[-_SENTENCES // 2 :])


def _around_paste(text: str) -> str:
    lines = text.split("\n")
    return text if len(lines) <= PASTE else "\n".join([*lines[:4], *lines[-3:]])
