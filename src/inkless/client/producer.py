"""Writing records: each goes to its partition's lane, which writes it once or says why it could not."""

import asyncio
from collections.abc import Iterable

from inkless.client.cluster import Cluster, Topic
from inkless.client.identity import Identities
from inkless.client.lane import Delivered, Lane, size_of
from inkless.client.options import ProducerOptions
from inkless.client.partitioner import partition_of_key
from inkless.core.tasks import TaskSet
from inkless.records.record import Record

Headers = Iterable[tuple[str, bytes | None]]


class Producer:
    def __init__(self, cluster: Cluster, options: ProducerOptions) -> None:
        self._cluster = cluster
        self._options = options
        self._identities = Identities(cluster, options.is_idempotent)
        self._lanes: dict[tuple[str, int], Lane] = {}
        self._running: dict[Lane, asyncio.Task[None]] = {}
        self._tasks = TaskSet()
        self._turns: dict[str, int] = {}
        self._buffered_bytes = 0
        self._room = asyncio.Event()

    async def send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None = None,
        headers: Headers = (),
        *,
        partition: int | None = None,
        timestamp: int | None = None,
    ) -> asyncio.Future[Delivered]:
        """Take a record, once there is room for it; the future tells where it was written, or why not."""
        while self._buffered_bytes >= self._options.buffer_memory:
            self._room.clear()
            await self._room.wait()
        described = await self._cluster.topic(topic, create=True)
        when = self._cluster.clock.now_ms() if timestamp is None else timestamp
        record = Record(0, when, key, value, tuple(headers))
        size = size_of(record)
        if partition is None:
            partition = self._choose(described, key, size)
        described.check_partition(partition)
        lane = self._lane(topic, partition)
        self._buffered_bytes += size
        delivered = lane.add(record, size)
        self._run(lane)
        return delivered

    async def flush(self) -> None:
        """Return when every record that was taken is written or has failed."""
        while running := [task for task in self._running.values() if not task.done()]:
            for lane in self._running:
                lane.urge()
            await asyncio.wait(running)

    async def close(self) -> None:
        """Give up what is not written yet; to write it, `flush` first."""
        await self._tasks.cancel()

    def _choose(self, topic: Topic, key: bytes | None, size: int) -> int:
        """Without a key: stay in a partition while its batch grows, then take the next one."""
        count = len(topic.leaders)
        if key is not None:
            return partition_of_key(key, count)
        turn = self._turns.get(topic.name)
        if turn is None:
            turn = int(self._cluster.clock.random() * count)
        elif not self._lane(topic.name, turn).has_room(size):
            turn = (turn + 1) % count
        self._turns[topic.name] = turn
        return turn

    def _lane(self, topic: str, partition: int) -> Lane:
        lane = self._lanes.get((topic, partition))
        if lane is None:
            lane = Lane(self._cluster, self._options, self._identities, self._free, topic, partition)
            self._lanes[topic, partition] = lane
        return lane

    def _run(self, lane: Lane) -> None:
        task = self._running.get(lane)
        if task is None or task.done():
            self._running[lane] = self._tasks.spawn(lane.run(), "produce")

    def _free(self, size: int) -> None:
        self._buffered_bytes -= size
        self._room.set()
