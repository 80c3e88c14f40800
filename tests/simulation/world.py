"""The simulated world: two brokers on one SQLite file and one store, producers, consumers, a sweep, and crashes."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from faulty_plane import FaultyPlane
from simulated_loop import InlineExecutor, SimulatedClock, SimulatedLoop

from inkless.cache.memory import BlockCache
from inkless.control_plane.sqlite.plane import SqlitePlane
from inkless.control_plane.values import BrokerRegistration, NewTopic, Topic, TopicPartition
from inkless.core.errors import ErrorKind, InklessError
from inkless.core.tasks import TaskSet
from inkless.data_plane.draft import AppendBatch
from inkless.data_plane.feed import Feed
from inkless.data_plane.reader import PartitionRead, Reader, ReadRequest
from inkless.data_plane.signals import Signals
from inkless.data_plane.tails import Tails
from inkless.data_plane.writer import Writer, WriterLimits
from inkless.records.batch import check_produced, spans_real
from inkless.records.record import Record, decode_records, encode_batch
from inkless.storage.faulty import FaultPlan, FaultyStore
from inkless.storage.memory import MemoryStore
from inkless.storage.retrying import RetryingStore

PARTITIONS = 3
IN_FLIGHT = 5
PLAIN_PRODUCERS = 4
# A feed that fails several times in a row is behind by as many pauses; records that come later than this are lost.
QUIET_READS = 40
MAX_BYTES = 1 << 20


@dataclass
class Acked:
    """What a producer was told: these values lie at these offsets."""

    partition: int
    base_offset: int
    values: list[bytes]


@dataclass
class PlainSend:
    """What a producer without sequences sent once, and what it was told; `base_offset` None where it failed."""

    partition: int
    values: list[bytes]
    base_offset: int | None = None
    error: str | None = None


@dataclass
class History:
    """Everything that clients saw, for the checker."""

    sent: dict[tuple[int, int], list[bytes]] = field(default_factory=dict)
    acked: list[Acked] = field(default_factory=list)
    plain: dict[int, list[PlainSend]] = field(default_factory=dict)
    read: list[list[tuple[int, bytes]]] = field(default_factory=lambda: [])
    crashes: int = 0
    errors: dict[str, int] = field(default_factory=dict)

    def count(self, what: str) -> None:
        self.errors[what] = self.errors.get(what, 0) + 1


class SimulatedBroker:
    """The real writer, reader, feed and plane of a broker, without its sockets."""

    def __init__(self, world: "World", node_id: int) -> None:
        self.world = world
        self.node_id = node_id
        self.tasks = TaskSet()
        self.up = False

    async def start(self) -> None:
        world, rng = self.world, self.world.rng
        clock = self.clock = SimulatedClock(world.loop, rng, skew_ms=self.node_id * 700)
        self.sqlite = await world.open_plane(clock)
        self.plane = FaultyPlane(self.sqlite, world.database, clock, rng, world.fault_rate)
        plan = FaultPlan(delay=0.9, max_delay_s=0.3, fail_before=world.fault_rate, fail_after=world.fault_rate)
        store = RetryingStore(FaultyStore(world.store, clock, rng, plan), clock, 2, 0.05, 0.2, 5.0)
        self.cache = BlockCache(store, 64 * 1024, 4096)
        tails, signals = Tails(30_000), Signals()
        self.reader = Reader(self.plane, store, self.cache, tails, signals, clock)
        epoch = await self.plane.register(BrokerRegistration(self.node_id, None, ()))
        adaptive = rng.random() < 0.7
        limits = WriterLimits(2048, 0.05, adaptive, rng.choice([1, 3]), plane_timeout_s=3.0)
        self.writer = Writer(self.plane, store, clock, epoch, self.reader.committed, limits)
        self.writer.start()
        self.feed = Feed(self.plane, tails, signals, clock, self._ignore_topics)
        self.tasks.spawn(self.feed.run(), "feed")
        self.up = True

    async def _ignore_topics(self, version: int) -> None:
        pass

    async def crash(self) -> None:
        """Everything in memory is gone; what was on its way to store or plane may land or not."""
        self.up = False
        self.world.history.crashes += 1
        await self.tasks.cancel()
        await self.writer.close()
        await self.cache.close()
        await self.sqlite.close()


class World:
    def __init__(self, loop: SimulatedLoop, seed: int, path: Path) -> None:
        self.loop = loop
        self.rng = random.Random(seed)
        self.path = path
        self.fault_rate = self.rng.choice([0.0, 0.05, 0.2])
        self.clock = SimulatedClock(loop, self.rng)
        self.store = MemoryStore(self.clock)
        self.history = History(read=[[] for _ in range(PARTITIONS)])
        self.brokers = [SimulatedBroker(self, node_id) for node_id in (1, 2)]
        self.topic: Topic
        self.done = asyncio.Event()

    async def run(self, batches: int) -> History:
        self.database = await self.open_plane(self.clock)
        for broker in self.brokers:
            await broker.start()
        made = (await self.brokers[0].plane.create_topics([NewTopic("t", PARTITIONS)]))[0]
        assert isinstance(made, Topic)
        self.topic = made
        tasks = TaskSet()
        background = [tasks.spawn(self._consume(index), f"consumer {index}") for index in range(PARTITIONS)]
        background.append(tasks.spawn(self._sweep(), "sweep"))
        background.append(tasks.spawn(self._crash(), "crashes"))
        producer_ids = await self.brokers[0].plane.allocate_producer_ids(3)
        await asyncio.gather(
            *[self._produce(producer_id, at % PARTITIONS, batches) for at, producer_id in enumerate(producer_ids)],
            *[self._produce_plain(number, number % PARTITIONS, batches) for number in range(PLAIN_PRODUCERS)],
        )
        self.done.set()
        await asyncio.wait_for(asyncio.gather(*background), 600)
        for broker in self.brokers:
            while broker.plane.late:
                await asyncio.sleep(1)
        return self.history

    async def open_plane(self, clock: SimulatedClock) -> SqlitePlane:
        return await SqlitePlane.open(self.path, clock, InlineExecutor(clock, 0.004), InlineExecutor(clock, 0.002))

    async def _any_broker(self) -> SimulatedBroker:
        while not (up := [broker for broker in self.brokers if broker.up]):
            await asyncio.sleep(0.05)
        return self.rng.choice(up)

    async def _produce(self, producer_id: int, partition: int, count: int) -> None:
        """An idempotent producer: five in flight, everything unanswered is sent again in order, to any broker."""
        sequence = 0
        waiting: list[tuple[int, list[bytes]]] = []
        for number in range(count):
            values = [b"%d-%d-%d" % (producer_id, number, at) for at in range(self.rng.randint(1, 3))]
            waiting.append((sequence, values))
            self.history.sent.setdefault((producer_id, partition), []).extend(values)
            sequence += len(values)
        broker = await self._any_broker()
        while waiting:
            flight = waiting[:IN_FLIGHT]
            calls = []
            for first, values in flight:
                if self.rng.random() < 0.05:
                    broker = await self._any_broker()  # its leader changes in the middle of a flight
                calls.append(asyncio.ensure_future(self._send(broker, producer_id, partition, first, values)))
                if self.rng.random() < 0.5:
                    await asyncio.sleep(self.rng.random() * 0.05)
            results = await asyncio.gather(*calls)
            done = 0
            for (_, values), offset in zip(flight, results, strict=True):
                if offset is None:
                    break
                self.history.acked.append(Acked(partition, offset, values))
                done += 1
            waiting = waiting[done:]
            if done < len(flight) or self.rng.random() < 0.1:
                await asyncio.sleep(self.rng.random() * 0.1)
                broker = await self._any_broker()

    async def _produce_plain(self, number: int, partition: int, count: int) -> None:
        """A producer without sequences: several in flight to one broker, nothing is sent twice."""
        sends = self.history.plain[number] = []
        broker = await self._any_broker()
        left = count
        while left:
            calls = []
            for _ in range(min(IN_FLIGHT, left)):
                send = PlainSend(partition, [b"plain%d-%d" % (number, left)])
                sends.append(send)
                calls.append(asyncio.ensure_future(self._send_plain(broker, send)))
                left -= 1
                await asyncio.sleep(self.rng.random() * 0.03)
            await asyncio.gather(*calls)
            if not broker.up or self.rng.random() < 0.1:
                broker = await self._any_broker()

    async def _send_plain(self, broker: SimulatedBroker, send: PlainSend) -> None:
        batch = self._batch(send.partition, send.values)
        try:
            async with asyncio.timeout(15):
                result = (await broker.writer.append([batch]))[0]
        except TimeoutError:
            send.error = ErrorKind.OUTCOME_UNKNOWN
            return
        if result.error is None:
            send.base_offset = result.base_offset
        else:
            send.error = result.error
            self.history.count(result.error)

    def _batch(self, partition: int, values: list[bytes], **producer: int) -> AppendBatch:
        records = [Record(at, self.clock.now_ms(), None, value) for at, value in enumerate(values)]
        view = memoryview(encode_batch(records, **producer))
        return AppendBatch(self.topic.id, partition, check_produced(view, MAX_BYTES), view)

    async def _send(
        self, broker: SimulatedBroker, producer_id: int, partition: int, sequence: int, values: list[bytes]
    ) -> int | None:
        """The offset, or None where the answer is an error or never comes."""
        batch = self._batch(partition, values, producer_id=producer_id, producer_epoch=0, base_sequence=sequence)
        try:
            async with asyncio.timeout(15):
                result = (await broker.writer.append([batch]))[0]
        except TimeoutError:
            self.history.count("timeout")
            return None
        if self.rng.random() < self.fault_rate / 2:
            self.history.count("answer lost")
            return None
        if result.error is not None:
            self.history.count(result.error)
            return None
        return result.base_offset

    async def _consume(self, partition: int) -> None:
        """Reads on from where it is until everything has been seen; most consumers stay with one broker."""
        seen = self.history.read[partition]
        name = TopicPartition(self.topic.id, partition)
        quiet = 0
        broker = await self._any_broker()
        stays = self.rng.random() < 0.7
        while not self.done.is_set() or quiet < QUIET_READS:
            if not broker.up or not stays:
                broker = await self._any_broker()
            offset = seen[-1][0] + 1 if seen else 0
            size = self.rng.choice([1, 200, MAX_BYTES])
            request = ReadRequest([PartitionRead(name, offset, size)], 1, MAX_BYTES, 0.3)
            try:
                answer = (await broker.reader.read(request))[0]
            except InklessError as error:
                self.history.count(f"read: {type(error).__name__}")
                continue
            assert answer.error in (None, ErrorKind.STORAGE_FAILED), (answer.error, partition, offset)
            got = records_of(answer.buffers or [])
            seen.extend((record.offset, record.value or b"") for record in got if record.offset >= offset)
            quiet = 0 if got else quiet + 1

    async def _sweep(self) -> None:
        """Condemns objects that no commit names, some of them while their writer is still at work."""
        condemned: set[str] = set()
        while not self.done.is_set():
            await asyncio.sleep(0.2 + self.rng.random())
            broker = await self._any_broker()
            keys = [item.key async for item in self.store.list("")]
            for key in self.rng.sample(keys, min(3, len(keys))):
                with suppress(InklessError):
                    if key in condemned:
                        await self.store.delete([key])
                    elif await broker.plane.condemn(key) is None:
                        condemned.add(key)

    async def _crash(self) -> None:
        while not self.done.is_set():
            await asyncio.sleep(0.5 + self.rng.random() * 3)
            broker = self.rng.choice(self.brokers)
            if broker.up and self.fault_rate:
                await broker.crash()
                await asyncio.sleep(self.rng.random())
                replacement = SimulatedBroker(self, broker.node_id)
                self.brokers[self.brokers.index(broker)] = replacement
                await replacement.start()


def records_of(buffers: list[Any]) -> list[Record]:
    data = memoryview(b"".join(buffers))
    return [
        record
        for span in spans_real(data)
        for record in decode_records(data[span.position : span.position + span.size], MAX_BYTES)
    ]


def run_world(
    seed: int, path: Path, batches: int, check: Callable[["World"], Awaitable[None]]
) -> tuple["World", History]:
    """One simulated run from start to end."""
    worlds: list[World] = []

    async def main() -> History:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SimulatedLoop)
        world = World(loop, seed, path)
        worlds.append(world)
        history = await world.run(batches)
        await check(world)
        await world.database.close()
        for broker in world.brokers:
            await broker.crash()
        return history

    with asyncio.Runner(loop_factory=SimulatedLoop) as runner:
        history = runner.run(main())
    return worlds[0], history
