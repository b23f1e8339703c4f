"""Is a session idle? The verdict of a scan, from values alone.

Activity is the time of the newest *spoken* message. `updated_at` and the file's own time are not:
routing, heartbeats, shutdown flushes and restores move them.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from compactor.backoff import is_waiting
from compactor.durations import say_span
from compactor.instants import is_naive, read_instant
from compactor.model import IdlePolicy, Reason, Verdict
from session.message import pair_calls, spoken_flags, unanswered_calls
from session.projection import digest_content, read_tombstone

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo

    from compactor.journal import SessionMemory
    from session.message import Message
    from session.store import SessionTail

_QUARTER = timedelta(minutes=15)
_SLACK = timedelta(minutes=2)
_FARTHEST_ZONE = timedelta(hours=14)
_WRONG_ZONE = (
    "the file was just changed, and its times are off by whole quarters of an hour: "
    "if the agent runs in another zone, name it in [store] timezone"
)


def select_idle(
    tail: SessionTail,
    memory: SessionMemory,
    policy: IdlePolicy,
    *,
    now: datetime,
    force: bool = False,
) -> Verdict:
    """Say whether a session is due, as far as `tail` tells, and else the first reason why not.

    What needs every message to be known (`held`) is only looked at where `tail` has them all, and
    `covered` only where they were counted; then `due` means: load it, and ask again. `force`
    ignores the TTL, `parked` and `held`.
    """
    return Look(tail, memory, policy, now).decide(force=force)


class Look:
    """One look at one session: everything that the checks ask for, worked out once."""

    def __init__(
        self, tail: SessionTail, memory: SessionMemory, policy: IdlePolicy, now: datetime
    ) -> None:
        self.tail, self.memory, self.policy, self.now = tail, memory, policy, now
        self.spoken = [i for i, flag in enumerate(spoken_flags(tail.messages)) if flag]
        self.last = tail.messages[self.spoken[-1]] if self.spoken else None
        since = None if self.last is None else read_instant(self.last.timestamp, policy.zone)
        self.since = since
        self.idle = None if since is None else self._age_of(since)
        self.ttl = policy.ttl_of(tail.ref)

    def decide(self, *, force: bool) -> Verdict:
        """Return the first reason to leave the session alone, or `due`."""
        verdicts = (verdict for verdict in self._verdicts(force=force) if verdict is not None)
        return next(verdicts, Verdict(Reason.DUE))

    def _verdicts(self, *, force: bool) -> Iterator[Verdict | None]:
        """Yield what each check says, in the order in which reasons are told."""
        yield self._check_time()
        yield self._check_exclusion()
        if not force:
            yield self._check_activity()
        yield self._check_work()
        # What was undone is held whoever restores it, so this is asked ahead of `covered`.
        if not force:
            yield self.check_undone()
        yield self._check_cover()
        if not force:
            yield self._check_parking()

    def _check_time(self) -> Verdict | None:
        if self.last is None or self.idle is not None:
            return None
        when = self.last.timestamp
        return Verdict(Reason.UNREADABLE, f"the newest message has no readable time: {when!r}")

    def _check_exclusion(self) -> Verdict | None:
        ref = self.tail.ref
        if self.ttl is None:
            return Verdict(Reason.OFF, f"the TTL of channel {ref.channel!r} is off")
        found = (pattern for pattern in self.policy.exclude if is_like(ref.key, pattern))
        pattern = next(found, None)
        return None if pattern is None else Verdict(Reason.EXCLUDED, f"the key is like {pattern!r}")

    def _check_activity(self) -> Verdict | None:
        if self.ttl is None or self.last is None or self.idle is None:
            return None
        if self.idle < timedelta(0):
            return Verdict(
                Reason.ACTIVE, f"its newest time is ahead of now by {say_span(-self.idle)}"
            )
        if self.idle < self.ttl:
            told = f"idle for {say_span(self.idle)}, the TTL is {say_span(self.ttl)}"
            return Verdict(Reason.ACTIVE, told)
        guessed = self.policy.zone_is_local and is_naive(self.last.timestamp)
        fresh = abs(self.now - self.tail.modified) < self.ttl
        wrong = guessed and fresh and find_zone_gap(self.tail, self.policy.zone) is not None
        return Verdict(Reason.ACTIVE, _WRONG_ZONE) if wrong else None

    def _check_work(self) -> Verdict | None:
        """A running turn, an unanswered call, a user who is owed an answer; dead after a day."""
        # A turn that a timer began shows in its rows, though nobody speaks in them.
        turn = self._find_turn()
        if turn is not None and not self._is_stuck(self.tail.messages):
            return Verdict(Reason.BUSY, turn)
        debt = self._find_debt()
        if debt is None or self.last is None or self._is_stuck((self.last,)):
            return None
        return Verdict(Reason.BUSY, debt)

    def _is_stuck(self, messages: tuple[Message, ...]) -> bool:
        """Whether the newest of these messages is too old for what it left undone to end."""
        times = (read_instant(message.timestamp, self.policy.zone) for message in messages)
        known = [moment for moment in times if moment is not None]
        return bool(known) and self._age_of(max(known)) >= self.policy.stuck_after

    def _age_of(self, moment: datetime) -> timedelta:
        leap = self.policy.leap
        return self.now - moment if leap is None else leap.age_of(moment, self.now)

    def _find_turn(self) -> str | None:
        if self.tail.in_flight:
            return "a checkpoint of a running turn lies beside it"
        return (
            "its record says that a turn is running" if self.tail.header.has_running_turn else None
        )

    def _find_debt(self) -> str | None:
        if self.last is None:
            return None
        if self.last.role == "user":
            return "the user's last message has no answer yet"
        messages = self.tail.messages
        asker = next((i for i in reversed(self.spoken) if messages[i].role != "tool"), -1)
        # Pairing looks at every message; most conversations end with plain words.
        if (
            asker >= 0
            and messages[asker].makes_calls
            and asker in unanswered_calls(messages, pair_calls(messages))
        ):
            return "a tool call has no result yet"
        return "the last tool result has no answer yet" if self.last.role == "tool" else None

    def check_undone(self) -> Verdict | None:
        """Say that it is held, where every message is known and an operator took it back."""
        if self.tail.first != 0:
            return None
        messages, undone = self.tail.messages, self.memory.undone
        tombstone = read_tombstone(self.tail.header)
        marks = [] if undone is None else [(undone.covers, undone.content, undone.messages)]
        if tombstone is not None:
            marks.append((tombstone["covers"], tombstone["content"], tombstone["messages"]))
        newest = max((i for i in self.spoken if messages[i].role == "user"), default=-1)
        for covers, content, count in marks:
            if newest < count and digest_content(messages[:covers]) == content:
                return Verdict(Reason.HELD, "undone; waits until the user speaks again")
        return None

    def _check_cover(self) -> Verdict | None:
        tail, projection = self.tail, self.tail.projection
        if tail.first is None or projection is None:
            return None
        if not self.spoken:
            nothing = "nobody has spoken since" if tail.first else "nobody has spoken yet"
            return Verdict(Reason.COVERED, nothing)
        newest = tail.first + self.spoken[-1]
        if newest < projection.covers:
            return Verdict(Reason.COVERED, "everything that was said is covered")
        seen = projection.stamp.get("messages") if projection.stamp else None
        count = tail.first + len(tail.messages)  # fewer than then: what was said last is newer
        if isinstance(seen, int) and newest < seen <= count:
            return Verdict(Reason.COVERED, "nothing was said since it was compacted")
        return None

    def _check_parking(self) -> Verdict | None:
        waits = is_waiting(self.memory.parked_until, now=self.now)
        return say_parked(self.memory) if waits else None


def say_parked(memory: SessionMemory) -> Verdict:
    """Say why a session that failed waits, and until when."""
    told = memory.parked_for
    if memory.parked_until is not None:
        told += f"; next try at {memory.parked_until.isoformat(timespec='seconds')}"
    return Verdict(Reason.PARKED, told)


def find_zone_gap(tail: SessionTail, zone: tzinfo) -> timedelta | None:
    """Return by how much the file's own time is ahead of its newest naive time, in quarter hours.

    None where they do not differ by what zones differ by.
    """
    written = [tail.header.updated_at, *(message.timestamp for message in tail.messages)]
    naive = [read_instant(value, zone) for value in written if is_naive(value)]
    known = [moment for moment in naive if moment is not None]
    if not known:
        return None
    gap = tail.modified - max(known)
    quarters = round(gap / _QUARTER)
    near = abs(gap - quarters * _QUARTER) <= _SLACK
    is_zone = quarters != 0 and near and abs(gap) <= _FARTHEST_ZONE + _SLACK
    return quarters * _QUARTER if is_zone else None


def is_like(key: str, pattern: str) -> bool:
    """Whether a key is like a pattern, in which `*` and `?` alone are special."""
    return fnmatchcase(key, pattern.replace("[", "[[]"))


def spoken_upto(messages: tuple[Message, ...]) -> int:
    """Return how many messages there are up to the newest spoken one, that one included."""
    return max((i + 1 for i, flag in enumerate(spoken_flags(messages)) if flag), default=0)
