"""The real writer and reader over a real SQLite plane and a memory store whose puts are held and failed by hand."""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from inkless.cache.memory import BlockCache
from inkless.control_plane.sqlite.plane import SqlitePlane
from inkless.control_plane.values import BatchResult, BrokerRegistration, LocateQuery, NewTopic, Topic, TopicPartition
from inkless.core.clock import SystemClock
from inkless.core.errors import StorageError
from inkless.core.tasks import ThreadExecutor
from inkless.data_plane.draft import AppendBatch
from inkless.data_plane.feed import Feed
from inkless.data_plane.reader import PartitionAnswer, PartitionRead, Reader, ReadRequest
from inkless.data_plane.signals import Signals
from inkless.data_plane.tails import Tails
from inkless.data_plane.writer import Writer, WriterLimits
from inkless.records.batch import check_produced, spans_real
from inkless.records.record import Record, decode_records, encode_batch
from inkless.storage.memory import MemoryStore
from inkless.storage.port import Buffer

MIB = 1 << 20
FAST_FOLDER = "/dev/shm" if Path("/dev/shm").is_dir() else None


class HeldStore(MemoryStore):
    """Puts wait until they are let go, where `hold` is set; each may be made to fail."""

    def __init__(self) -> None:
        super().__init__(SystemClock())
        self.hold = False
        self.started: list[str] = []
        self.gets = 0
        self.bytes_read = 0
        self._gates: dict[str, asyncio.Future[bool]] = {}
        self._change = asyncio.Condition()

    async def put(self, key: str, body: Sequence[Buffer]) -> None:
        self.started.append(key)
        gate = self._gates[key] = asyncio.get_running_loop().create_future()
        async with self._change:
            self._change.notify_all()
        if self.hold and not await gate:
            raise StorageError("failed by hand")
        await super().put(key, body)

    async def get(self, key: str, start: int, end: int) -> Buffer:
        self.gets += 1
        self.bytes_read += end - start
        return await super().get(key, start, end)

    async def puts(self, count: int) -> list[str]:
        """The keys of puts, once that many have begun."""
        async with self._change, asyncio.timeout(5):
            await self._change.wait_for(lambda: len(self.started) >= count)
        return self.started

    def let_go(self, index: int, ok: bool = True) -> None:
        self._gates[self.started[index]].set_result(ok)


class Parts:
    """One broker's data plane without its sockets."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "plane.db"
        self.store = HeldStore()
        self.clock = SystemClock()

    async def start(self, limits: WriterLimits, node_id: int = 1, store: HeldStore | None = None) -> "Parts":
        self.store = store or self.store
        self.plane = await SqlitePlane.open(
            self.path, self.clock, ThreadExecutor("w", 1), ThreadExecutor("r", 1), poll_interval_s=0.01
        )
        self.cache = BlockCache(self.store, 64 * MIB, 16 * MIB)
        self.tails, self.signals = Tails(30_000), Signals()
        self.reader = Reader(self.plane, self.store, self.cache, self.tails, self.signals, self.clock)
        broker = await self.plane.register(BrokerRegistration(node_id, None, ()))
        self.writer = Writer(self.plane, self.store, self.clock, broker, self.reader.committed, limits)
        self.writer.start()
        self.feed = Feed(self.plane, self.tails, self.signals, self.clock, self._no_topics)
        self.feeding = asyncio.get_running_loop().create_task(self.feed.run())
        found = (await self.plane.find_topics(["t"]))[0]
        if found is None:
            made = (await self.plane.create_topics([NewTopic("t", 4)]))[0]
            assert isinstance(made, Topic)
            found = made
        self.topic = found
        return self

    async def _no_topics(self, version: int) -> None:
        pass

    async def close(self) -> None:
        self.feeding.cancel()
        await asyncio.gather(self.feeding, return_exceptions=True)
        await self.writer.close()
        await self.cache.close()
        await self.plane.close()

    def batch(self, *values: bytes, partition: int = 0, **producer: int) -> AppendBatch:
        records = [Record(at, 1000 + at, None, value) for at, value in enumerate(values)]
        view = memoryview(encode_batch(records, **producer))
        return AppendBatch(self.topic.id, partition, check_produced(view, MIB * 100), view)

    async def write(self, *values: bytes, partition: int = 0) -> int:
        (result,) = await self.append(self.batch(*values, partition=partition))
        assert result.error is None
        return result.base_offset

    async def append(self, *batches: AppendBatch) -> Sequence[BatchResult]:
        async with asyncio.timeout(10):
            return await self.writer.append(batches)

    async def read(
        self, *asked: tuple[int, int], min_bytes: int = 1, max_bytes: int = MIB, each: int = MIB, wait_s: float = 0
    ) -> list[PartitionAnswer]:
        partitions = [PartitionRead(TopicPartition(self.topic.id, at), offset, each) for at, offset in asked]
        async with asyncio.timeout(10):
            return await self.reader.read(ReadRequest(partitions, min_bytes, max_bytes, wait_s))

    async def high_watermark(self, partition: int = 0) -> int:
        return (await self.plane.locate([LocateQuery(self.topic.id, partition, 0, 0)]))[0].high_watermark


def run_parts(test: Callable[[Parts], Awaitable[Any]], limits: WriterLimits | None = None) -> None:
    async def main() -> None:
        with tempfile.TemporaryDirectory(dir=FAST_FOLDER) as folder:
            parts = await Parts(Path(folder)).start(limits or WriterLimits())
            try:
                await test(parts)
            finally:
                await parts.close()

    asyncio.run(main())


def records_of(answer: PartitionAnswer) -> list[tuple[int, bytes | None]]:
    data = memoryview(b"".join(answer.buffers or ()))
    return [
        (record.offset, record.value)
        for span in spans_real(data)
        for record in decode_records(data[span.position : span.position + span.size], 10 * MIB)
    ]
