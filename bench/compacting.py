"""Compactions to measure with: one entry for all sessions, so that the engine is asked once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self

from bench.corpus import set_time
from compactor.apply import apply_projection, landed_by
from compactor.digest import DigestSummarizer
from compactor.entry import frame
from compactor.journal import Answer, Landed
from compactor.summarize import SummaryRequest
from compactor.tokens import TokenCounter
from session.transcript import Transcript

if TYPE_CHECKING:
    from collections.abc import Iterator

    from session.jsonl_store import JsonlStore
    from session.model import SessionRef
    from session.projection import ProjectionChange
    from session.store import StoredSession

KEPT_TURNS = 3
_ENTRY_TOKENS = 1_100


@dataclass(frozen=True, slots=True)
class Compaction:
    """What is done to every session alike: `answer` stands for all but the last turns."""

    answer: Answer
    counter: str
    kept_turns: int

    @classmethod
    def digest(cls, session: StoredSession, kept_turns: int) -> Self:
        """Take the entry that the digest engine writes for `session`."""
        counter = TokenCounter()
        engine = DigestSummarizer(counter)
        request = SummaryRequest(session.ref.key, None, session.messages, (), _ENTRY_TOKENS)
        text = frame(engine.summarize(request).text)
        written_at = datetime.fromtimestamp(0, UTC)
        answer = Answer("", text, engine.name, engine.model, engine.prompt, written_at)
        return cls(answer, counter.encoding, kept_turns)

    def change(self, session: StoredSession) -> ProjectionChange:
        """Return what a commit of this compaction would write."""
        messages = session.messages
        turns = [n for n, message in enumerate(messages) if message.role == "user"]
        covers = [*turns, len(messages)][-1 - min(self.kept_turns, len(turns))]
        return apply_projection(
            session,
            covers,
            self.answer.text,
            self.answer,
            tokens_before=5_000,
            tokens_after=2_000,
            counter=self.counter,
        )

    def write_over(self, store: JsonlStore) -> Iterator[tuple[SessionRef, Landed]]:
        """Compact the sessions of a store without syncing them.

        Yields what a journal remembers of each.
        """
        for entry in store.list_sessions():
            session = store.load(entry)
            change = self.change(session)
            path = store.folders[0] / entry.name
            data = Transcript.parse(path.read_bytes()).project(change)
            path.unlink()  # it may be a link to one that must stay
            path.write_bytes(data)
            set_time(path, session.modified)
            yield session.ref, landed_by(session, change)
