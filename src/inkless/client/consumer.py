"""Reading a topic by assignment: each leader is asked for its partitions, one fetch at a time.

Between the moment in which a position moves and the one in which `poll` hands its records out nothing is awaited, so
that neither a failure nor a cancelled caller can skip a record.
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inkless.client.cluster import Cluster, Topic
from inkless.client.connection import Connection
from inkless.client.errors import BrokerError, ClientError, InvalidAnswer, check_code
from inkless.client.offsets import EARLIEST, LATEST, Start, find_offsets
from inkless.client.options import ConsumerOptions
from inkless.client.retry import Attempts
from inkless.records.batch import HEADER_BYTES, BatchError, BatchHeader, read_header
from inkless.records.record import Record, decode_records
from inkless.wire.error_codes import ErrorCode
from inkless.wire.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData

_MAX_UNPACKED_BYTES = 1024 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Consumed:
    """A record and where it was; `is_append_time`: its timestamp is the broker's, not the producer's."""

    partition: int
    record: Record
    is_append_time: bool


class Consumer:
    """Positions move as `poll` hands records out; nothing is committed anywhere."""

    def __init__(self, cluster: Cluster, topic: str, starts: Mapping[int, Start], options: ConsumerOptions) -> None:
        self._cluster = cluster
        self._topic = topic
        self._starts = dict(starts)
        self._options = options
        # The order is the order of asking: whoever got records goes to the end.
        self._positions: dict[int, int] = {}
        self._fetches: dict[asyncio.Task[FetchResponse], tuple[int, ...]] = {}
        self._failure: ClientError | None = None
        self._out_of_range: set[int] = set()
        self._attempts: Attempts | None = None  # since the last success

    @property
    def positions(self) -> Mapping[int, int]:
        return self._positions

    async def open(self) -> None:
        """Find out where to start, so that what is written from now on is behind `latest`."""
        self._positions = await find_offsets(self._cluster, self._topic, self._starts)

    async def poll(self, wait_s: float) -> list[Consumed]:
        """The next records of any partition; none where none came in time.

        What may pass is retried, as long as it doesn't last for the request timeout; then it is raised.
        """
        try:
            await self._recover()
            await self._start_fetches()
        except ClientError as error:
            await self._pause(error)
            return []
        if not self._fetches:
            return []
        done, _ = await asyncio.wait(self._fetches, timeout=wait_s, return_when=asyncio.FIRST_COMPLETED)
        consumed: list[Consumed] = []
        for fetch in done:
            partitions = self._fetches.pop(fetch)
            try:
                consumed += self._take(fetch.result(), partitions)
            except ClientError as error:
                self._failure = error
        if done and self._failure is None:
            self._attempts = None
        return consumed

    async def close(self) -> None:
        fetches = list(self._fetches)
        self._fetches.clear()
        for fetch in fetches:
            fetch.cancel()
        await asyncio.gather(*fetches, return_exceptions=True)

    async def _pause(self, error: ClientError) -> None:
        """Until it is time to try again, or raise the error."""
        self._cluster.forget(self._topic)
        if self._attempts is None:
            self._attempts = Attempts(self._cluster.clock, self._options.request_timeout_ms / 1000)
        await self._attempts.again(error)

    async def _recover(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        while self._out_of_range:
            partition = min(self._out_of_range)
            self._positions[partition] = await self._reset(partition)
            self._out_of_range.remove(partition)

    async def _start_fetches(self) -> None:
        busy = {partition for partitions in self._fetches.values() for partition in partitions}
        idle = [partition for partition in self._positions if partition not in busy]
        if not idle:
            return
        topic = await self._cluster.topic(self._topic)
        by_leader: defaultdict[Connection, list[int]] = defaultdict(list)
        for partition in idle:
            try:
                by_leader[await self._cluster.leader(topic, partition)].append(partition)
            except ClientError as error:
                self._failure = error  # the others are read in the meantime
        for connection, partitions in by_leader.items():
            fetch = self._fetch(connection, topic, partitions)
            self._fetches[asyncio.get_running_loop().create_task(fetch)] = tuple(partitions)

    async def _fetch(self, connection: Connection, topic: Topic, partitions: Sequence[int]) -> FetchResponse:
        options = self._options
        asked = [
            FetchPartition(
                partition=partition,
                fetch_offset=self._positions[partition],
                partition_max_bytes=options.max_partition_fetch_bytes,
            )
            for partition in partitions
        ]
        request = FetchRequest(
            max_wait_ms=options.fetch_max_wait_ms,
            min_bytes=options.fetch_min_bytes,
            max_bytes=options.fetch_max_bytes,
            topics=[FetchTopic(topic=topic.name, topic_id=topic.topic_id, partitions=asked)],
            rack_id=options.client_rack,
        )
        timeout_s = (options.fetch_max_wait_ms + options.request_timeout_ms) / 1000
        response: FetchResponse = await connection.request(request, timeout_s)
        return response

    def _take(self, response: FetchResponse, asked: Sequence[int]) -> list[Consumed]:
        check_code(response.error_code, f"fetch of {self._topic}")
        consumed: list[Consumed] = []
        for topic in response.responses:
            for answer in topic.partitions:
                partition = answer.partition_index
                try:
                    if partition not in asked:
                        raise InvalidAnswer(f"{self._topic}-{partition} was answered for and not asked for")
                    consumed += self._take_partition(partition, answer)
                except ClientError as error:
                    self._failure = error
        return consumed

    def _take_partition(self, partition: int, answer: PartitionData) -> list[Consumed]:
        if answer.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            self._out_of_range.add(partition)
            return []
        check_code(answer.error_code, f"fetch of {self._topic}-{partition}")
        if not answer.records:
            return []
        assert isinstance(answer.records, bytes | memoryview), "decoded records are one view"
        try:
            consumed, position = _read(partition, memoryview(answer.records), self._positions[partition])
        except BatchError as error:
            raise InvalidAnswer(f"{self._topic}-{partition}: {error}") from error
        if position == self._positions[partition]:
            raise InvalidAnswer(f"{self._topic}-{partition} was answered without the batch at offset {position}")
        del self._positions[partition]
        self._positions[partition] = position
        return consumed

    async def _reset(self, partition: int) -> int:
        """Where to go on instead of an offset that isn't there."""
        start = self._reset_start(partition)
        if start is not None:
            return await self._offset_at(partition, start)
        first = await self._offset_at(partition, EARLIEST)
        end = await self._offset_at(partition, LATEST)
        position = self._positions[partition]
        raise BrokerError(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            f"{self._topic}-{partition} has no offset {position}: it starts at {first} and ends before {end}",
        )

    async def _offset_at(self, partition: int, start: Start) -> int:
        return (await find_offsets(self._cluster, self._topic, {partition: start}))[partition]

    def _reset_start(self, partition: int) -> Start | None:
        match self._options.auto_offset_reset_given:
            case "earliest":
                return EARLIEST
            case "latest":
                return LATEST
            case None if self._starts[partition] == EARLIEST:
                return EARLIEST
        return None


def _read(partition: int, view: memoryview, position: int) -> tuple[list[Consumed], int]:
    """The records from `position` on, and the position behind them; Kafka may cut the last batch off."""
    consumed: list[Consumed] = []
    start = 0
    while len(view) - start >= HEADER_BYTES:
        header = read_header(view, start)
        end = start + header.size
        if header.size < HEADER_BYTES or end > len(view):
            break
        if header.last_offset >= position:
            if not header.is_control:
                consumed += _read_batch(partition, header, view[start:end], position)
            position = header.last_offset + 1
        start = end
    return consumed, position


def _read_batch(partition: int, header: BatchHeader, batch: memoryview, position: int) -> list[Consumed]:
    records = decode_records(batch, _MAX_UNPACKED_BYTES)
    is_append_time = header.has_log_append_time
    return [Consumed(partition, record, is_append_time) for record in records if record.offset >= position]
