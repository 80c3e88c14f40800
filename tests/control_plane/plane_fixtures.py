"""What the contract tests share: a clock that is set by hand, and short ways to make topics and commits."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from inkless.control_plane.port import ControlPlane
from inkless.control_plane.values import (
    BatchCommit,
    BatchResult,
    BrokerEpoch,
    BrokerRegistration,
    Coordinate,
    LocateQuery,
    NewTopic,
    ObjectCommit,
    ObjectStatus,
    Topic,
)
from inkless.core.clock import SystemClock

HEAD = 16


class HandClock(SystemClock):
    def __init__(self) -> None:
        super().__init__()
        self.ms = 1_700_000_000_000

    def now_ms(self) -> int:
        return self.ms

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@dataclass
class Case:
    """A plane with a registered broker and one topic of four partitions."""

    plane: ControlPlane
    clock: HandClock
    again: Callable[[], Awaitable[ControlPlane]]
    broker: BrokerEpoch
    topic: Topic
    _keys: "itertools.count[int]" = field(default_factory=itertools.count)

    @classmethod
    async def start(
        cls, plane: ControlPlane, clock: HandClock, again: Callable[[], Awaitable[ControlPlane]]
    ) -> "Case":
        broker = await plane.register(BrokerRegistration(1, None, ()))
        topic = (await plane.create_topics([NewTopic("events", 4)]))[0]
        assert isinstance(topic, Topic)
        return cls(plane, clock, again, broker, topic)

    def batch(self, partition: int = 0, records: int = 1, **fields: int) -> BatchCommit:
        size = fields.pop("size", 100)
        timestamp = fields.pop("max_timestamp", self.clock.ms)
        return BatchCommit(self.topic.id, partition, 0, size, records, timestamp, **fields)

    def object(self, *batches: BatchCommit, key: str = "") -> ObjectCommit:
        """Lays batches out one behind the other, in the order given."""
        position, placed = HEAD, []
        for batch in batches:
            placed.append(batch._replace(position=position))
            position += batch.size
        return ObjectCommit(key or f"object-{next(self._keys)}", position + 100, tuple(placed))

    async def commit(self, *batches: BatchCommit, key: str = "") -> tuple[BatchResult, ...]:
        result = (await self.plane.commit(self.broker, [self.object(*batches, key=key)]))[0]
        assert result.status is ObjectStatus.COMMITTED
        return result.batches

    async def coordinates(self, partition: int = 0, offset: int = 0) -> tuple[Coordinate, ...]:
        query = LocateQuery(self.topic.id, partition, offset, 1 << 30)
        return (await self.plane.locate([query]))[0].coordinates
