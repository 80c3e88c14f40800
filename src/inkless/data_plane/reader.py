"""The reader: locate, plan, cache or GET, stamp, answer.

At the tail nothing is asked of the plane or the store: coordinates and bytes are in memory, and a fetch that waits is
woken by the commit.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from inkless.cache.memory import BlockCache
from inkless.control_plane.coalesce import coordinates_of
from inkless.control_plane.port import ControlPlane
from inkless.control_plane.values import (
    AbortedTransaction,
    BatchResult,
    Coordinate,
    Located,
    LocateQuery,
    ObjectCommit,
    TopicPartition,
)
from inkless.core.clock import Clock
from inkless.core.errors import ControlPlaneError, ErrorKind, ObjectNotFound, StorageError
from inkless.data_plane.assemble import Buffer, assemble
from inkless.data_plane.plan import Share, Wanted, available_bytes, plan
from inkless.data_plane.signals import Signals, Waiter
from inkless.data_plane.tails import Tails
from inkless.records.batch import BatchError
from inkless.storage import port

log = logging.getLogger(__name__)


class PartitionRead(NamedTuple):
    name: TopicPartition
    offset: int
    max_bytes: int


@dataclass(frozen=True, slots=True)
class ReadRequest:
    partitions: Sequence[PartitionRead]
    min_bytes: int
    max_bytes: int
    max_wait_s: float


@dataclass(slots=True)
class PartitionAnswer:
    high_watermark: int
    last_stable_offset: int
    log_start: int
    error: ErrorKind | None = None
    buffers: list[Buffer] = field(default_factory=list)
    size: int = 0
    aborted: tuple[AbortedTransaction, ...] = ()


class Reader:
    """One per broker."""

    def __init__(self, plane: ControlPlane, cache: BlockCache, tails: Tails, signals: Signals, clock: Clock) -> None:
        self._plane = plane
        self._cache = cache
        self._tails = tails
        self._signals = signals
        self._clock = clock
        self._stopping = False

    def committed(
        self, commit: ObjectCommit, results: tuple[BatchResult, ...], pieces: Sequence[port.Buffer]
    ) -> None:
        """This broker's writer committed an object: keep its bytes, and wake whoever waits for them."""
        self._cache.put_object(commit.key, pieces)
        for name, coordinate in coordinates_of(commit, results):
            self._tails.committed(name, coordinate)
            self._signals.arrived(name, coordinate.size)

    async def read(self, request: ReadRequest) -> list[PartitionAnswer]:
        """Answers for the partitions, in their order, once there is enough or the wait is over."""
        deadline = self._clock.monotonic() + request.max_wait_s
        while True:
            located = await self._locate(request.partitions)
            shares = plan(
                [
                    Wanted(read.offset, read.max_bytes, found.coordinates)
                    for read, found in zip(request.partitions, located, strict=True)
                ],
                request.max_bytes,
            )
            missing = request.min_bytes - available_bytes(shares)
            wait_s = deadline - self._clock.monotonic()
            if missing <= 0 or wait_s <= 0 or self._stopping or any(found.error for found in located):
                return await self._answer(request.partitions, located, shares)
            await self._wait(request.partitions, located, missing, wait_s)

    async def _wait(
        self, partitions: Sequence[PartitionRead], located: Sequence[Located], missing: int, wait_s: float
    ) -> None:
        """Sleep until the missing bytes have come. What came while we were locating counts."""
        for read, found in zip(partitions, located, strict=True):
            tail = self._tails.fetched(read.name, self._clock.now_ms())
            if tail is None or tail.high_watermark != found.high_watermark:
                return
        waiter = Waiter(missing)
        names = [read.name for read in partitions]
        self._signals.register(waiter, names)
        try:
            async with asyncio.timeout(wait_s):
                await waiter.woken.wait()
        except TimeoutError:
            pass
        finally:
            self._signals.withdraw(waiter, names)

    async def _locate(self, partitions: Sequence[PartitionRead]) -> list[Located]:
        """Bounds and coordinates, from memory where the offset lies in a tail, else in one query."""
        now_ms = self._clock.now_ms()
        located: list[Located | None] = [self._in_memory(read, now_ms) for read in partitions]
        misses = [index for index, found in enumerate(located) if found is None]
        if misses:
            queries = [
                LocateQuery(*partitions[i].name, partitions[i].offset, partitions[i].max_bytes) for i in misses
            ]
            for index, found in zip(misses, await self._ask(queries), strict=True):
                located[index] = found
        return [found for found in located if found is not None]

    def _in_memory(self, read: PartitionRead, now_ms: int) -> Located | None:
        tail = self._tails.fetched(read.name, now_ms)
        if tail is None or read.offset < tail.log_start:
            return None
        coordinates = tail.find(read.offset, read.max_bytes)
        if coordinates is None:
            return None
        return Located(tail.high_watermark, tail.high_watermark, tail.log_start, tuple(coordinates))

    async def _ask(self, queries: Sequence[LocateQuery]) -> list[Located]:
        answers = await self._plane.locate(queries)
        now_ms = self._clock.now_ms()
        for query, found in zip(queries, answers, strict=True):
            name = TopicPartition(query.topic_id, query.partition)
            if found.error is ErrorKind.UNKNOWN_TOPIC_OR_PARTITION:
                self._tails.forget(name)
            else:
                self._tails.learn(name, found, now_ms)
        return answers

    async def _answer(
        self, partitions: Sequence[PartitionRead], located: Sequence[Located], shares: Sequence[Share]
    ) -> list[PartitionAnswer]:
        busy = [index for index, share in enumerate(shares) if share.coordinates]
        answers = [
            PartitionAnswer(f.high_watermark, f.last_stable_offset, f.log_start, f.error, aborted=f.aborted)
            for f in located
        ]
        if len(busy) == 1:
            await self._fill(answers[busy[0]], partitions[busy[0]], shares[busy[0]])
        elif busy:
            await asyncio.gather(*[self._fill(answers[i], partitions[i], shares[i]) for i in busy])
        return answers

    async def _fill(self, answer: PartitionAnswer, read: PartitionRead, share: Share) -> None:
        """Put the bytes of a share into its answer. A partition's failure stays its own."""
        try:
            try:
                await self._read_share(answer, read, share.coordinates, share)
            except ObjectNotFound:
                # Rule 3: the object may have been swapped or deleted under us, so locate once more.
                self._tails.forget(read.name)
                query = LocateQuery(*read.name, read.offset, max(share.budget, 1))
                found = (await self._ask([query]))[0]
                answer.error = found.error
                if found.error is None:
                    await self._read_share(answer, read, found.coordinates, share)
        except BatchError as error:
            log.error("partition %s at offset %d: %s", read.name.partition, read.offset, error)
            self._fail(answer, ErrorKind.CORRUPT_BATCH)
        except (StorageError, ControlPlaneError) as error:
            log.warning("partition %s at offset %d: %s", read.name.partition, read.offset, error)
            self._fail(answer, ErrorKind.STORAGE_FAILED)

    def _fail(self, answer: PartitionAnswer, error: ErrorKind) -> None:
        """What was read before the failure is still good; without any the partition answers the error."""
        if not answer.buffers:
            answer.error = error

    async def _read_share(
        self, answer: PartitionAnswer, read: PartitionRead, coordinates: Sequence[Coordinate], share: Share
    ) -> None:
        pieces: list[list[memoryview] | BaseException | None] = [self._pieces_now(c) for c in coordinates]
        if None in pieces:
            pieces = [*await asyncio.gather(*[self._pieces(c) for c in coordinates], return_exceptions=True)]
        for coordinate, found in zip(coordinates, pieces, strict=True):
            if isinstance(found, BaseException):
                raise found
            assert found is not None
            left = share.budget - answer.size
            first = share.at_least_one and not answer.buffers
            part = assemble(found, coordinate, read.offset, left, first)
            answer.buffers += part.buffers
            answer.size += part.size
            if part.full:
                break

    def _pieces_now(self, coordinate: Coordinate) -> list[memoryview] | None:
        if coordinate.inline is not None:
            return [memoryview(coordinate.inline)]
        end = coordinate.position + coordinate.size
        return self._cache.read_now(coordinate.object_key, coordinate.position, end)

    async def _pieces(self, coordinate: Coordinate) -> list[memoryview]:
        if coordinate.inline is not None:
            return [memoryview(coordinate.inline)]
        end = coordinate.position + coordinate.size
        return await self._cache.read(coordinate.object_key, coordinate.object_size, coordinate.position, end)

    async def read_coordinate(self, coordinate: Coordinate) -> list[Buffer]:
        """All batches of one coordinate, stamped, for look-ups that decode records."""
        return assemble(await self._pieces(coordinate), coordinate, 0, coordinate.size, True).buffers

    def stop_waiting(self, names: Sequence[TopicPartition] = ()) -> None:
        """Wake fetches: of these partitions (their topic is gone), or all of them for good (the broker stops)."""
        if not names:
            self._stopping = True
            self._signals.changed_all()
        for name in names:
            self._tails.forget(name)
            self._signals.changed(name)
