"""The reader: locate, plan, cache or GET, stamp, answer.

At the tail nothing is asked of the plane or the store: coordinates and bytes are in memory, and a fetch that waits is
woken by the commit.
"""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
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
from inkless.core.errors import ControlPlaneError, ErrorKind, InklessError, ObjectNotFound, StorageError
from inkless.data_plane.assemble import Buffer, assemble
from inkless.data_plane.plan import Share, Wanted, available_bytes, plan
from inkless.data_plane.signals import Signals, Waiter
from inkless.data_plane.tails import Tails
from inkless.records.batch import BatchError
from inkless.storage import port

log = logging.getLogger(__name__)

LAGGING_MS = 60_000
LAGGING_GETS = 16


_Loaded = tuple[Coordinate, list[memoryview]]


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
    """What a partition of a fetch gets; `coordinates` is what there is from its offset on, `buffers` the answer."""

    high_watermark: int
    last_stable_offset: int
    log_start: int
    error: ErrorKind | None = None
    coordinates: Sequence[Coordinate] = ()
    buffers: list[Buffer] | None = None
    size: int = 0
    aborted: tuple[AbortedTransaction, ...] = ()


class Reader:
    """One per broker."""

    def __init__(
        self,
        plane: ControlPlane,
        store: port.ObjectStore,
        cache: BlockCache,
        tails: Tails,
        signals: Signals,
        clock: Clock,
    ) -> None:
        self._plane = plane
        self._store = store
        self._cache = cache
        self._lagging = asyncio.Semaphore(LAGGING_GETS)
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
        partitions = request.partitions
        answers: list[PartitionAnswer] = [_NOT_LOCATED] * len(partitions)
        look_at: Iterable[int] = range(len(partitions))
        while True:
            await self._locate(partitions, answers, look_at)
            busy = [index for index, answer in enumerate(answers) if answer.coordinates]
            shares = plan(
                [Wanted(partitions[i].offset, partitions[i].max_bytes, answers[i].coordinates) for i in busy],
                request.max_bytes,
            )
            missing = request.min_bytes - available_bytes(shares)
            wait_s = deadline - self._clock.monotonic()
            if missing <= 0 or wait_s <= 0 or self._stopping or any(answer.error for answer in answers):
                await self._answer(request, answers, busy, shares)
                return answers
            look_at = await self._wait(partitions, answers, missing, wait_s)

    async def _wait(
        self, partitions: Sequence[PartitionRead], answers: Sequence[PartitionAnswer], missing: int, wait_s: float
    ) -> list[int]:
        """Sleep until the missing bytes have come; the partitions to look at again."""
        stale = [index for index, read in enumerate(partitions) if self._is_stale(read, answers[index])]
        if stale:
            return stale  # something came while we were locating
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
        return [index for index, name in enumerate(names) if name in waiter.changed]

    def _is_stale(self, read: PartitionRead, answer: PartitionAnswer) -> bool:
        tail = self._tails.held(read.name)
        return tail is not None and tail.high_watermark != answer.high_watermark

    async def _locate(
        self, partitions: Sequence[PartitionRead], answers: list[PartitionAnswer], look_at: Iterable[int]
    ) -> None:
        """Bounds and coordinates, from memory where the offset lies in a tail, else in one query."""
        now_ms = self._clock.now_ms()
        misses = []
        for index in look_at:
            found = self._in_memory(partitions[index], now_ms)
            if found is None:
                misses.append(index)
            else:
                answers[index] = found
        if misses:
            queries = [
                LocateQuery(*partitions[i].name, partitions[i].offset, partitions[i].max_bytes) for i in misses
            ]
            for index, located in zip(misses, await self._ask(queries), strict=True):
                answers[index] = _answer_of(located)

    def _in_memory(self, read: PartitionRead, now_ms: int) -> PartitionAnswer | None:
        tail = self._tails.fetched(read.name, now_ms)
        if tail is None or read.offset < tail.log_start:
            return None
        high_watermark = tail.high_watermark
        if read.offset == high_watermark:
            return PartitionAnswer(high_watermark, high_watermark, tail.log_start)
        coordinates = tail.find(read.offset, read.max_bytes)
        if coordinates is None:
            return None
        return PartitionAnswer(high_watermark, high_watermark, tail.log_start, None, coordinates)

    async def _ask(self, queries: Sequence[LocateQuery]) -> list[Located]:
        names = [TopicPartition(query.topic_id, query.partition) for query in queries]
        self._tails.locating(names)
        answers = await self._plane.locate(queries)
        now_ms = self._clock.now_ms()
        for name, found in zip(names, answers, strict=True):
            if found.error is ErrorKind.UNKNOWN_TOPIC_OR_PARTITION:
                self._tails.forget(name)
            elif self._tails.learn(name, found, now_ms):
                self._signals.changed(name)
        return answers

    async def _answer(
        self, request: ReadRequest, answers: Sequence[PartitionAnswer], busy: Sequence[int], shares: Sequence[Share]
    ) -> None:
        """Read all shares in parallel, then cut each in its turn to what is really left of the budget."""
        reads = [request.partitions[index] for index in busy]
        loaded = [self._load_now(share.coordinates) for share in shares]
        missing = [at for at, found in enumerate(loaded) if found is None]
        if missing:
            calls = [self._load(reads[at], shares[at], answers[busy[at]]) for at in missing]
            for at, found in zip(missing, await asyncio.gather(*calls), strict=True):
                loaded[at] = found
        left, first = request.max_bytes, True
        for index, read, pieces in zip(busy, reads, loaded, strict=True):
            answer = answers[index]
            self._fill(answer, read, pieces or [], min(read.max_bytes, left), first)
            left -= answer.size
            first = first and not answer.size

    def _load_now(self, coordinates: Sequence[Coordinate]) -> list[_Loaded] | None:
        """The bytes of coordinates where all of them are in memory."""
        loaded: list[_Loaded] = []
        for coordinate in coordinates:
            pieces = self._pieces_now(coordinate)
            if pieces is None:
                return None
            loaded.append((coordinate, pieces))
        return loaded

    async def _load(self, read: PartitionRead, share: Share, answer: PartitionAnswer) -> list[_Loaded]:
        """The bytes of a share, as far as they could be read. A partition's failure stays its own."""
        coordinates = share.coordinates
        try:
            loaded, error = await self._load_all(coordinates)
            if isinstance(error, ObjectNotFound) and not loaded:
                # Rule 3: the object may have been swapped or deleted under us, so locate once more.
                self._tails.forget(read.name)
                found = (await self._ask([LocateQuery(*read.name, read.offset, max(share.budget, 1))]))[0]
                if found.error is not None:
                    answer.error = found.error
                    return []
                loaded, error = await self._load_all(found.coordinates)
        except ControlPlaneError as lost:
            loaded, error = [], lost
        if error is not None:
            log.warning("partition %d at offset %d: %s", read.name.partition, read.offset, error)
            if not loaded:
                answer.error = ErrorKind.STORAGE_FAILED
        return loaded

    async def _load_all(self, coordinates: Sequence[Coordinate]) -> tuple[list[_Loaded], InklessError | None]:
        """What could be read from the first coordinate on, and what stopped it."""
        found = await asyncio.gather(*[self._pieces(c) for c in coordinates], return_exceptions=True)
        loaded: list[_Loaded] = []
        for coordinate, pieces in zip(coordinates, found, strict=True):
            if isinstance(pieces, StorageError):
                return loaded, pieces
            if isinstance(pieces, BaseException):
                raise pieces
            loaded.append((coordinate, pieces))
        return loaded, None

    def _fill(
        self, answer: PartitionAnswer, read: PartitionRead, loaded: Sequence[_Loaded], budget: int, first: bool
    ) -> None:
        """Put whole batches into an answer; what stands before a broken one is still good."""
        buffers: list[Buffer] = []
        answer.buffers = buffers
        try:
            for coordinate, pieces in loaded:
                must = first and not buffers
                part = assemble(pieces, coordinate, read.offset, budget - answer.size, must)
                buffers += part.buffers
                answer.size += part.size
                if part.full:
                    break
        except BatchError as error:
            log.error("partition %d at offset %d: %s", read.name.partition, read.offset, error)
            if not buffers:
                answer.error = ErrorKind.CORRUPT_BATCH

    def _pieces_now(self, coordinate: Coordinate) -> list[memoryview] | None:
        if coordinate.inline is not None:
            return [memoryview(coordinate.inline)]
        end = coordinate.position + coordinate.size
        return self._cache.read_now(coordinate.object_key, coordinate.position, end)

    async def _pieces(self, coordinate: Coordinate) -> list[memoryview]:
        """Near the tail whole blocks are loaded, as others will want them too; behind it the exact range."""
        at_hand = self._pieces_now(coordinate)
        if at_hand is not None:
            return at_hand
        key, start, end = coordinate.object_key, coordinate.position, coordinate.position + coordinate.size
        if coordinate.append_time_ms >= self._clock.now_ms() - LAGGING_MS:
            return await self._cache.read(key, coordinate.object_size, start, end)
        async with self._lagging:
            return [memoryview(await self._store.get(key, start, end))]

    async def read_coordinate(self, coordinate: Coordinate) -> list[Buffer]:
        """All batches of one coordinate, stamped, for look-ups that decode records."""
        return assemble(await self._pieces(coordinate), coordinate, 0, coordinate.size, True).buffers

    def forget(self, names: Iterable[TopicPartition]) -> None:
        """These partitions are gone: fetches that wait for them are woken and told."""
        for name in names:
            self._tails.forget(name)
            self._signals.changed(name)

    def stop_waiting(self) -> None:
        """The broker stops: every fetch that waits is answered, and none waits from now on."""
        self._stopping = True
        self._signals.changed_all()


_NOT_LOCATED = PartitionAnswer(-1, -1, -1)


def _answer_of(located: Located) -> PartitionAnswer:
    return PartitionAnswer(
        located.high_watermark,
        located.last_stable_offset,
        located.log_start,
        located.error,
        located.coordinates,
        aborted=located.aborted,
    )
