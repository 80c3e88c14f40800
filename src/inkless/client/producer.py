"""Writing records: gathered into batches per partition, each batch retried until it is written once or has failed.

A partition has one batch in flight. So order holds without a window to keep, and while a batch travels the next one
grows: a slow cluster gets larger batches, not more of them.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from inkless.client.cluster import Cluster, Topic
from inkless.client.errors import BrokerError, ClientError, check_code
from inkless.client.options import ProducerOptions
from inkless.client.partitioner import partition_of_key
from inkless.client.retry import Attempts
from inkless.core.tasks import TaskSet
from inkless.records.compression import Compression
from inkless.records.record import Record, encode_batch
from inkless.wire.error_codes import ErrorCode
from inkless.wire.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from inkless.wire.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData

Headers = Iterable[tuple[str, bytes | None]]

NO_OFFSET = -1

_RECORD_OVERHEAD = 24  # lengths and deltas of a record, about
_SEQUENCES = 1 << 31


@dataclass(frozen=True, slots=True)
class Delivered:
    """Where a record ended up; the offset is -1 with acks=0, which nobody answers."""

    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class Identity:
    """An idempotent producer as the cluster knows it."""

    producer_id: int
    epoch: int


_NOT_IDEMPOTENT = Identity(-1, -1)


@dataclass(slots=True)
class _Draft:
    """Records on their way into one batch, and who waits for each."""

    records: list[Record] = field(default_factory=list)
    waiting: list[asyncio.Future[Delivered]] = field(default_factory=list)
    size: int = 0
    is_due: bool = False

    def halves(self) -> tuple["_Draft", "_Draft"]:
        middle = len(self.records) // 2
        first, second = _Draft(is_due=True), _Draft(is_due=True)
        for position, record in enumerate(self.records):
            half = first if position < middle else second
            half.add(record, self.waiting[position])
        return first, second

    def add(self, record: Record, waiting: asyncio.Future[Delivered]) -> None:
        self.records.append(record)
        self.waiting.append(waiting)
        self.size += size_of(record)


class Producer:
    def __init__(self, cluster: Cluster, options: ProducerOptions) -> None:
        self._cluster = cluster
        self._options = options
        self._lanes: dict[tuple[str, int], _Lane] = {}
        self._turns: dict[str, int] = {}
        self._tasks = TaskSet()
        self._buffered_bytes = 0
        self._room = asyncio.Event()
        self._identity: Identity | None = None
        self._identifying = asyncio.Lock()

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
        if partition is None:
            partition = self._choose(described, record)
        described.check_partition(partition)
        return self._lane(topic, partition).add(record)

    async def flush(self) -> None:
        """Return when every record that was taken is written or has failed."""
        while running := [lane.running for lane in self._lanes.values() if lane.running is not None]:
            for lane in self._lanes.values():
                lane.urge()
            await asyncio.wait(running)

    async def close(self) -> None:
        """Give up what is not written yet; `flush` comes before."""
        await self._tasks.cancel()
        for lane in self._lanes.values():
            lane.abandon()

    async def identity(self) -> Identity:
        if not self._options.is_idempotent:
            return _NOT_IDEMPOTENT
        async with self._identifying:
            if self._identity is None:
                self._identity = await self._new_identity()
            return self._identity

    def discard(self, identity: Identity) -> None:
        """No lane starts under it any more: what the cluster knows of it may differ from what its lane knows."""
        if self._identity == identity:
            self._identity = None

    def hold(self, size: int) -> None:
        self._buffered_bytes += size
        if size < 0:
            self._room.set()

    async def _new_identity(self) -> Identity:
        connection = await self._cluster.any_connection()
        response: InitProducerIdResponse = await connection.request(
            InitProducerIdRequest(transaction_timeout_ms=self._options.request_timeout_ms)
        )
        check_code(response.error_code, "InitProducerId")
        return Identity(response.producer_id, response.producer_epoch)

    def _choose(self, topic: Topic, record: Record) -> int:
        """Without a key: stay in a partition while its batch grows, then take the next one."""
        count = len(topic.leaders)
        if record.key is not None:
            return partition_of_key(record.key, count)
        turn = self._turns.get(topic.name)
        if turn is None:
            turn = int(self._cluster.clock.random() * count)
        elif not self._lane(topic.name, turn % count).has_room(record):
            turn += 1
        self._turns[topic.name] = turn % count
        return turn % count

    def _lane(self, topic: str, partition: int) -> "_Lane":
        lane = self._lanes.get((topic, partition))
        if lane is None:
            lane = _Lane(self, self._cluster, self._options, self._tasks, topic, partition)
            self._lanes[topic, partition] = lane
        return lane


class _Lane:
    """One partition's batches, one after the other."""

    def __init__(
        self,
        producer: Producer,
        cluster: Cluster,
        options: ProducerOptions,
        tasks: TaskSet,
        topic: str,
        partition: int,
    ) -> None:
        self._producer = producer
        self._cluster = cluster
        self._options = options
        self._tasks = tasks
        self._topic = topic
        self._partition = partition
        self._drafts: deque[_Draft] = deque()
        self._flying: _Draft | None = None
        self._urged = asyncio.Event()
        self._codec = Compression[options.compression_type.upper()]
        self._identity: Identity | None = None
        self._sequence = 0
        self.running: asyncio.Task[None] | None = None

    def has_room(self, record: Record) -> bool:
        """Whether a batch grows here that the record fits into."""
        return bool(self._drafts) and self._drafts[-1].size + size_of(record) <= self._options.batch_size

    def add(self, record: Record) -> asyncio.Future[Delivered]:
        waiting: asyncio.Future[Delivered] = asyncio.get_running_loop().create_future()
        if not self.has_room(record):
            self.urge()
            self._drafts.append(_Draft())
        draft = self._drafts[-1]
        draft.add(record, waiting)
        self._producer.hold(size_of(record))
        if draft.size >= self._options.batch_size:
            self.urge()
        if self.running is None:
            self.running = self._tasks.spawn(self._run(), f"produce {self._topic}-{self._partition}")
        return waiting

    def urge(self) -> None:
        """Let no draft that is there now wait for more."""
        for draft in self._drafts:
            draft.is_due = True
        self._urged.set()

    def abandon(self) -> None:
        for draft in (*self._drafts, *filter(None, (self._flying,))):
            for waiting in draft.waiting:
                waiting.cancel()
        self._drafts.clear()

    async def _run(self) -> None:
        try:
            while self._drafts:
                await self._linger(self._drafts[0])
                self._flying = self._drafts.popleft()
                await self._deliver(self._flying)
                self._flying = None
        finally:
            self.running = None
            if self._flying is not None:
                self.abandon()

    async def _linger(self, draft: _Draft) -> None:
        if draft.is_due:
            return
        self._urged.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._options.linger_ms / 1000):
                await self._urged.wait()

    async def _deliver(self, draft: _Draft) -> None:
        try:
            base_offset = await self._write(draft)
        except ClientError as error:
            self._start_over()
            if _is_too_large(error) and len(draft.records) > 1:
                self._drafts.extendleft(reversed(draft.halves()))
                return
            _settle(draft, error)
        else:
            self._sequence = (self._sequence + len(draft.records)) % _SEQUENCES
            _settle(draft, [Delivered(self._partition, offset) for offset in _offsets(base_offset, draft)])
        self._producer.hold(-draft.size)

    async def _write(self, draft: _Draft) -> int:
        """The base offset; every retry sends the same bytes, so that the cluster sees what it has already."""
        attempts = Attempts(self._cluster.clock, self._options.delivery_timeout_ms / 1000)
        if self._identity is None:
            self._identity = await attempts.run(self._producer.identity)
        batch = self._encode(draft, self._identity)
        return await attempts.run(lambda: self._send(batch))

    def _encode(self, draft: _Draft, identity: Identity) -> memoryview:
        numbered = [
            Record(position, record.timestamp, record.key, record.value, record.headers)
            for position, record in enumerate(draft.records)
        ]
        batch = encode_batch(
            numbered,
            codec=self._codec,
            producer_id=identity.producer_id,
            producer_epoch=identity.epoch,
            base_sequence=self._sequence if identity is not _NOT_IDEMPOTENT else -1,
        )
        return memoryview(batch)

    async def _send(self, batch: memoryview) -> int:
        try:
            topic = await self._cluster.topic(self._topic, create=True)
            connection = await self._cluster.leader(topic, self._partition)
            request = self._request(topic, batch)
            if self._options.acks == 0:
                await connection.send(request)
                return NO_OFFSET
            response: ProduceResponse = await connection.request(request)
            return self._base_offset(response)
        except ClientError:
            self._cluster.forget(self._topic)
            raise

    def _request(self, topic: Topic, batch: memoryview) -> ProduceRequest:
        data = PartitionProduceData(index=self._partition, records=batch)
        return ProduceRequest(
            acks=self._options.acks,
            timeout_ms=self._options.request_timeout_ms,
            topic_data=[TopicProduceData(name=topic.name, topic_id=topic.topic_id, partition_data=[data])],
        )

    def _base_offset(self, response: ProduceResponse) -> int:
        for topic in response.responses:
            for answer in topic.partition_responses:
                if answer.error_code == ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
                    return NO_OFFSET  # written before, too long ago for the broker to know where
                check_code(answer.error_code, answer.error_message or f"{self._topic}-{self._partition}")
                return answer.base_offset
        raise BrokerError(ErrorCode.UNKNOWN_SERVER_ERROR, f"{self._topic}-{self._partition} was not answered for")

    def _start_over(self) -> None:
        """The failed batch may have been written after all, so its sequence numbers can't be used again."""
        if self._identity is not None:
            self._producer.discard(self._identity)
        self._identity = None
        self._sequence = 0


def size_of(record: Record) -> int:
    size = _RECORD_OVERHEAD + len(record.key or b"") + len(record.value or b"")
    for name, value in record.headers:
        size += 4 + len(name) + len(value or b"")
    return size


def _is_too_large(error: ClientError) -> bool:
    too_large = (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE)
    return isinstance(error, BrokerError) and error.code in too_large


def _offsets(base_offset: int, draft: _Draft) -> Iterable[int]:
    if base_offset == NO_OFFSET:
        return [NO_OFFSET] * len(draft.records)
    return range(base_offset, base_offset + len(draft.records))


def _settle(draft: _Draft, outcome: ClientError | list[Delivered]) -> None:
    for position, waiting in enumerate(draft.waiting):
        if waiting.done():
            continue
        if isinstance(outcome, ClientError):
            waiting.set_exception(outcome)
        else:
            waiting.set_result(outcome[position])
