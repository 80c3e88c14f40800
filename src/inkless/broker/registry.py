"""All connections of a broker: how many there may be, who waits for the budget, and whether all are answered."""

import asyncio
import logging
from collections import deque
from collections.abc import Iterator
from typing import Protocol

from inkless.broker.budget import Budget

log = logging.getLogger(__name__)


class Member(Protocol):
    """A connection as the registry sees it."""

    peer: str
    last_active_s: float

    @property
    def is_idle(self) -> bool: ...

    @property
    def is_stalled(self) -> bool: ...

    def note_progress(self) -> None: ...

    def budget_has_room(self) -> None: ...

    def stop_reading(self) -> None: ...

    @property
    def is_ending(self) -> bool: ...

    def end(self) -> None: ...

    def abort(self) -> None: ...


class Registry:
    def __init__(self, max_connections: int, budget: Budget) -> None:
        self._max_connections = max_connections
        self._budget = budget
        self._members: set[Member] = set()
        self._starved: deque[Member] = deque()
        self._refused = 0
        self._draining = False
        self._drained = asyncio.Event()

    def admit(self, member: Member) -> bool:
        if len(self._members) >= self._max_connections or self._draining:
            self._refused += 1
            if self._refused == 1:
                log.warning("refusing connections: %d are open, no more are allowed", len(self._members))
            return False
        self._members.add(member)
        return True

    def leave(self, member: Member) -> None:
        self._members.discard(member)
        if self._refused and len(self._members) < self._max_connections and not self._draining:
            log.warning("accepting connections again, %d were refused", self._refused)
            self._refused = 0
        self.room_in_budget()
        self.answered()

    def wait_for_budget(self, member: Member) -> None:
        self._starved.append(member)

    def room_in_budget(self) -> None:
        """Let those who could not read go on, each in turn."""
        for _ in range(len(self._starved)):
            if self._budget.is_full:
                return
            self._starved.popleft().budget_has_room()

    def answered(self) -> None:
        if self._draining and all(member.is_idle for member in self._members):
            self._drained.set()

    def stop_reading(self) -> None:
        """From now on nothing new is taken in."""
        self._draining = True
        for member in self._members:
            member.stop_reading()
        self.answered()

    async def drained(self) -> None:
        """Every request that was taken in has its answer."""
        await self._drained.wait()

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[Member]:
        return iter(list(self._members))
