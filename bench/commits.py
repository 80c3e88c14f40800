"""What a commit costs in the SQLite plane, by the rows it writes and the partitions it touches.

In process, on the plane itself: no sockets, no objects. Batches are of 600 kB, two of which don't fit into one
coordinate, so each makes a row.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.usage import fdatasync_ms, percentile
from inkless.control_plane.sqlite.plane import SqlitePlane
from inkless.control_plane.values import (
    BatchCommit,
    BrokerEpoch,
    BrokerRegistration,
    NewTopic,
    ObjectCommit,
    ObjectStatus,
    Topic,
)
from inkless.core.clock import SystemClock
from inkless.core.ids import TopicId
from inkless.core.tasks import ThreadExecutor

SIZES = (1, 16, 320, 1600)
BATCH_BYTES = 600_000
TIDY_EVERY = 20


@dataclass(frozen=True, slots=True)
class CommitLengths:
    rounds: int
    grown_rows: int


FULL = CommitLengths(rounds=40, grown_rows=1_000_000)
QUICK = CommitLengths(rounds=10, grown_rows=100_000)


@dataclass(frozen=True, slots=True)
class CommitCost:
    """Of one shape of commit: medians over the rounds."""

    table_rows: int
    batches: int
    partitions: int
    wall_ms: float
    cpu_us: float

    @property
    def units(self) -> int:
        """Rows written plus partitions touched; the object and its result are two more rows."""
        return self.batches + 2 + self.partitions

    @property
    def us_per_unit(self) -> float:
        return self.cpu_us / self.units

    def us_per_further_unit(self, least: "CommitCost") -> float | None:
        """Beyond what the smallest commit costs, which is mostly the transaction itself."""
        further = self.units - least.units
        return (self.cpu_us - least.cpu_us) / further if further else None


class _Plane:
    """A plane with one topic, and objects to commit to it."""

    def __init__(self, plane: SqlitePlane, broker: BrokerEpoch, topic: TopicId) -> None:
        self.plane = plane
        self._broker = broker
        self._topic = topic
        self._objects = 0
        self.rows = 0

    def _object(self, batches: int, partitions: int) -> ObjectCommit:
        """Batches lie in the order of their partitions, as in an object."""
        self._objects += 1
        now_ms = time.time_ns() // 1_000_000
        rows = tuple(
            [
                BatchCommit(self._topic, i * partitions // batches, i * BATCH_BYTES, BATCH_BYTES, 10, now_ms)
                for i in range(batches)
            ]
        )
        return ObjectCommit(f"bench/{self._objects:012}", batches * BATCH_BYTES, rows)

    async def commit(self, batches: int, partitions: int) -> tuple[float, float]:
        """Commit one object; wall and CPU seconds."""
        item = self._object(batches, partitions)
        wall, cpu = time.perf_counter(), time.process_time()
        (result,) = await self.plane.commit(self._broker, [item])
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        if result.status is not ObjectStatus.COMMITTED or any(batch.error for batch in result.batches):
            raise RuntimeError(f"a commit was refused: {result}")
        self.rows += batches
        if self._objects % TIDY_EVERY == 0:
            await self.plane.tidy()  # copies the log back, as the broker's housekeeping does beside the commits
        return wall, cpu

    async def grow(self, rows: int) -> None:
        while self.rows < rows:
            await self.commit(max(SIZES), max(SIZES))


async def _open(folder: Path) -> _Plane:
    clock = SystemClock()
    plane = await SqlitePlane.open(
        folder / "plane.db", clock, ThreadExecutor("plane-write", 1), ThreadExecutor("plane-read", 1)
    )
    broker = await plane.register(BrokerRegistration(1, None, ()))
    (topic,) = await plane.create_topics([NewTopic("commits", max(SIZES))])
    assert isinstance(topic, Topic)
    return _Plane(plane, broker, topic.id)


SHAPES = tuple([(batches, partitions) for batches in SIZES for partitions in SIZES if partitions <= batches])


async def _cost(bench: _Plane, batches: int, partitions: int, rounds: int) -> CommitCost:
    table_rows = bench.rows
    taken = [await bench.commit(batches, partitions) for _ in range(rounds)]
    wall, cpu = zip(*taken[rounds // 5 :], strict=True)
    return CommitCost(table_rows, batches, partitions, percentile(wall, 0.5) * 1e3, percentile(cpu, 0.5) * 1e6)


async def _empty_costs(folder: Path, rounds: int) -> list[CommitCost]:
    """Each shape in a file of its own."""
    found = []
    for batches, partitions in SHAPES:
        bench = await _open(folder / f"{batches}-{partitions}")
        try:
            found.append(await _cost(bench, batches, partitions, rounds))
        finally:
            await bench.plane.close()
    return found


async def _grown_costs(folder: Path, lengths: CommitLengths) -> list[CommitCost]:
    bench = await _open(folder / "grown")
    try:
        await bench.grow(lengths.grown_rows)
        return [await _cost(bench, *shape, lengths.rounds) for shape in SHAPES]
    finally:
        await bench.plane.close()


async def _measure(folder: Path, lengths: CommitLengths, told: Callable[[str], None]) -> list[CommitCost]:
    told("commits: on empty tables")
    empty = await _empty_costs(folder, lengths.rounds)
    told(f"commits: on a table of {lengths.grown_rows:,} rows")
    return empty + await _grown_costs(folder, lengths)


def measure(
    folder: Path, lengths: CommitLengths, told: Callable[[str], None]
) -> tuple[list[CommitCost], Sequence[float]]:
    """The costs, and fdatasync in ms on the same filesystem before and after."""
    syncs = fdatasync_ms(folder.parent)
    folder.mkdir(parents=True)
    costs = asyncio.run(_measure(folder, lengths, told))
    return costs, [*syncs, *fdatasync_ms(folder.parent)]
