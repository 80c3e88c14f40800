"""Waking fetches that wait: a commit tells each waiter of its partitions how many bytes came."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable

from inkless.control_plane.values import TopicPartition


class Waiter:
    """One waiting fetch. It wakes when enough bytes have come, or when something else needs a new look."""

    __slots__ = ("_missing_bytes", "changed", "woken")

    def __init__(self, missing_bytes: int) -> None:
        self._missing_bytes = missing_bytes
        self.changed: set[TopicPartition] = set()
        self.woken = asyncio.Event()

    def add(self, name: TopicPartition, bytes_arrived: int) -> None:
        self.changed.add(name)
        self._missing_bytes -= bytes_arrived
        if self._missing_bytes <= 0:
            self.woken.set()

    def look(self, name: TopicPartition) -> None:
        self.changed.add(name)
        self.woken.set()


class Signals:
    def __init__(self) -> None:
        self._waiters: defaultdict[TopicPartition, set[Waiter]] = defaultdict(set)

    def register(self, waiter: Waiter, partitions: Iterable[TopicPartition]) -> None:
        for name in partitions:
            self._waiters[name].add(waiter)

    def withdraw(self, waiter: Waiter, partitions: Iterable[TopicPartition]) -> None:
        for name in partitions:
            waiters = self._waiters.get(name)
            if waiters is not None:
                waiters.discard(waiter)
                if not waiters:
                    del self._waiters[name]

    def arrived(self, name: TopicPartition, bytes_arrived: int) -> None:
        """Records were committed to a partition."""
        if (waiters := self._waiters.get(name)) is not None:
            for waiter in waiters:
                waiter.add(name, bytes_arrived)

    def changed(self, name: TopicPartition) -> None:
        """Something else happened to a partition: whoever waits looks again."""
        if (waiters := self._waiters.get(name)) is not None:
            for waiter in waiters:
                waiter.look(name)

    def changed_all(self) -> None:
        for name in list(self._waiters):
            self.changed(name)
