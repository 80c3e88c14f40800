"""One partition's batches, one after the other.

One batch is in flight at a time. So order holds without a window to keep, and while a batch travels the next one
grows: a slow cluster gets larger batches, not more of them.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from inkless.client.cluster import Cluster, Topic
from inkless.client.errors import BrokerError, ClientError, InvalidAnswer, check_code
from inkless.client.identity import Identities, Identity
from inkless.client.options import ProducerOptions
from inkless.client.retry import Attempts
from inkless.records.compression import Compression
from inkless.records.record import Record, encode_batch
from inkless.wire.error_codes import ErrorCode
from inkless.wire.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData

NO_OFFSET = -1

_RECORD_OVERHEAD = 24  # lengths and deltas of a record, about
_SEQUENCES = 1 << 31


@dataclass(frozen=True, slots=True)
class Delivered:
    """Where a record ended up; the offset is -1 with acks=0, which nobody answers."""

    partition: int
    offset: int


@dataclass(slots=True)
class Draft:
    """Records on their way into one batch, and who waits for each."""

    records: list[Record] = field(default_factory=list)
    waiting: list[asyncio.Future[Delivered]] = field(default_factory=list)
    size: int = 0
    is_due: bool = False

    def add(self, record: Record, size: int, waiting: asyncio.Future[Delivered]) -> None:
        self.records.append(record)
        self.waiting.append(waiting)
        self.size += size

    def halves(self) -> tuple["Draft", "Draft"]:
        middle = len(self.records) // 2
        first, second = Draft(is_due=True), Draft(is_due=True)
        for position, record in enumerate(self.records):
            (first if position < middle else second).add(record, size_of(record), self.waiting[position])
        return first, second

    def succeed(self, partition: int, base_offset: int) -> None:
        for position, waiting in enumerate(self.waiting):
            if not waiting.done():
                offset = NO_OFFSET if base_offset == NO_OFFSET else base_offset + position
                waiting.set_result(Delivered(partition, offset))

    def fail(self, error: ClientError) -> None:
        for waiting in self.waiting:
            if not waiting.done():
                waiting.set_exception(error)

    def cancel(self) -> None:
        for waiting in self.waiting:
            waiting.cancel()


class Lane:
    """`run` is called with records to write, and returns when there are none left; `free` is told the bytes done."""

    def __init__(
        self,
        cluster: Cluster,
        options: ProducerOptions,
        identities: Identities,
        free: Callable[[int], None],
        topic: str,
        partition: int,
    ) -> None:
        self._cluster = cluster
        self._options = options
        self._identities = identities
        self._free = free
        self._topic = topic
        self._partition = partition
        self._codec = Compression[options.compression_type.upper()]
        self._drafts: deque[Draft] = deque()
        self._flying: Draft | None = None
        self._urged = asyncio.Event()
        self._identity: Identity | None = None
        self._sequence = 0

    def has_room(self, size: int) -> bool:
        """Whether a batch grows here that a record of that size fits into."""
        return bool(self._drafts) and self._drafts[-1].size + size <= self._options.batch_size

    def add(self, record: Record, size: int) -> asyncio.Future[Delivered]:
        waiting: asyncio.Future[Delivered] = asyncio.get_running_loop().create_future()
        if not self.has_room(size):
            self.urge()
            self._drafts.append(Draft())
        draft = self._drafts[-1]
        draft.add(record, size, waiting)
        if draft.size >= self._options.batch_size:
            self.urge()
        return waiting

    def urge(self) -> None:
        """Let no draft that is there now wait for more."""
        for draft in self._drafts:
            draft.is_due = True
        self._urged.set()

    async def run(self) -> None:
        try:
            while self._drafts:
                await self._linger(self._drafts[0])
                self._flying = self._drafts.popleft()
                await self._deliver(self._flying)
                self._flying = None
        finally:
            self._give_up()

    def _give_up(self) -> None:
        """Of use only on the way out of a failure, or when cancelled."""
        if self._flying is not None:
            self._drafts.appendleft(self._flying)
            self._flying = None
        for draft in self._drafts:
            draft.cancel()
            self._free(draft.size)
        self._drafts.clear()

    async def _linger(self, draft: Draft) -> None:
        if draft.is_due:
            return
        self._urged.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._options.linger_ms / 1000):
                await self._urged.wait()

    async def _deliver(self, draft: Draft) -> None:
        try:
            base_offset = await self._write(draft)
        except ClientError as error:
            self._start_over()
            if _is_too_large(error) and len(draft.records) > 1:
                self._drafts.extendleft(reversed(draft.halves()))
                return
            draft.fail(error)
        else:
            self._sequence = (self._sequence + len(draft.records)) % _SEQUENCES
            draft.succeed(self._partition, base_offset)
        self._free(draft.size)

    async def _write(self, draft: Draft) -> int:
        """The base offset; every retry sends the same bytes, so that the cluster sees what it has already."""
        attempts = Attempts(self._cluster.clock, self._options.delivery_timeout_ms / 1000)
        if self._identity is None:
            self._identity = await attempts.run(self._identities.current)
        batch = self._encode(draft.records, self._identity)
        return await attempts.run(lambda: self._send(batch))

    def _encode(self, records: Iterable[Record], identity: Identity) -> memoryview:
        batch = encode_batch(
            [Record(place, each.timestamp, each.key, each.value, each.headers) for place, each in enumerate(records)],
            codec=self._codec,
            producer_id=identity.producer_id,
            producer_epoch=identity.epoch,
            base_sequence=self._sequence if identity.is_idempotent else -1,
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
        answers = [answer for topic in response.responses for answer in topic.partition_responses]
        if len(answers) != 1 or answers[0].index != self._partition:
            raise InvalidAnswer(f"a write to {self._topic}-{self._partition} was answered for other partitions")
        (answer,) = answers
        if answer.error_code == ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
            return NO_OFFSET  # written, but so long ago that the broker can't say where
        check_code(answer.error_code, answer.error_message or f"{self._topic}-{self._partition}")
        return answer.base_offset

    def _start_over(self) -> None:
        """The failed batch may have been written after all, so its sequence numbers can't be used again."""
        if self._identity is not None:
            self._identities.discard(self._identity)
        self._identity = None
        self._sequence = 0


def size_of(record: Record) -> int:
    """About what it takes in a batch, uncompressed."""
    size = _RECORD_OVERHEAD + len(record.key or b"") + len(record.value or b"")
    for name, value in record.headers:
        size += 4 + len(name) + len(value or b"")
    return size


def _is_too_large(error: ClientError) -> bool:
    too_large = (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE)
    return isinstance(error, BrokerError) and error.code in too_large
