"""Fetch sessions (KIP-227): a client names its partitions once, then only what changed. Pure but for session ids.

A session keeps its partitions in the order in which they are served next: one that got records goes to the end, so
that each has its turn under the byte limit.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from inkless.core.ids import TopicId

NEW_SESSION_EPOCH = 0
FINAL_EPOCH = -1
MAX_EPOCH = 2**31 - 1
EVICTION_S = 120.0


class SessionKey(NamedTuple):
    """A partition as the client names it: by topic name up to version 12, by id from 13 on."""

    topic: str | bytes
    partition: int


@dataclass(slots=True)
class SessionPartition:
    """What a client asks of a partition, and what it was told last."""

    key: SessionKey
    fetch_offset: int
    max_bytes: int
    leader_epoch: int
    topic_id: TopicId | None = None
    told_high_watermark: int = -1
    told_log_start: int = -1

    def ask(self, fetch_offset: int, max_bytes: int, leader_epoch: int) -> None:
        self.fetch_offset = fetch_offset
        self.max_bytes = max_bytes
        self.leader_epoch = leader_epoch


@dataclass(slots=True)
class Session:
    id: int
    uses_ids: bool
    epoch: int = 1
    busy: bool = False
    used_s: float = 0.0
    partitions: "OrderedDict[SessionKey, SessionPartition]" = field(default_factory=OrderedDict)

    def update(self, asked: Iterable[SessionPartition], forgotten: Iterable[SessionKey]) -> None:
        for new in asked:
            held = self.partitions.get(new.key)
            if held is None:
                self.partitions[new.key] = new
            else:
                held.ask(new.fetch_offset, new.max_bytes, new.leader_epoch)
        for key in forgotten:
            self.partitions.pop(key, None)

    def advance(self) -> None:
        self.epoch = 1 if self.epoch == MAX_EPOCH else self.epoch + 1

    def served(self, key: SessionKey) -> None:
        if key in self.partitions:
            self.partitions.move_to_end(key)


class Sessions:
    """The sessions of a broker, bounded; one that is idle makes room, else a client goes on without."""

    def __init__(self, slots: int, new_id: Callable[[], int]) -> None:
        self._slots = slots
        self._new_id = new_id
        self._sessions: OrderedDict[int, Session] = OrderedDict()

    def open(self, uses_ids: bool, partitions: Iterable[SessionPartition], now_s: float) -> Session | None:
        """A new session, or None where there is no room for one."""
        if len(self._sessions) >= self._slots and not self._evict_idle(now_s):
            return None
        session_id = self._new_id()
        while session_id in self._sessions or session_id == 0:
            session_id = self._new_id()
        session = Session(session_id, uses_ids, used_s=now_s)
        session.update(partitions, ())
        self._sessions[session_id] = session
        return session

    def _evict_idle(self, now_s: float) -> bool:
        """Sessions in use keep their places: else one client too many would cost all of them theirs."""
        oldest = next(iter(self._sessions.values()), None)
        if oldest is None or now_s - oldest.used_s < EVICTION_S:
            return False
        del self._sessions[oldest.id]
        return True

    def find(self, session_id: int, now_s: float) -> Session | None:
        session = self._sessions.get(session_id)
        if session is not None:
            session.used_s = now_s
            self._sessions.move_to_end(session_id)
        return session

    def close(self, session_id: int) -> None:
        self._sessions.pop(session_id, None)

    def __len__(self) -> int:
        return len(self._sessions)
