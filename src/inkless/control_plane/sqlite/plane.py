"""The embedded control plane: the port over one SQLite file, which several processes of a machine may share."""

import json
from collections.abc import Sequence
from pathlib import Path

from inkless.control_plane.sqlite import topics
from inkless.control_plane.sqlite.commit import Commit, find_result
from inkless.control_plane.sqlite.connection import Cursor, SqliteFile, one
from inkless.control_plane.sqlite.locate import bounds, locate, locate_timestamp
from inkless.control_plane.sqlite.migrate import migrate
from inkless.control_plane.sqlite.statements import sql
from inkless.control_plane.values import (
    BrokerEpoch,
    BrokerRegistration,
    Coordinate,
    Endpoint,
    FeedAnswer,
    Located,
    LocateQuery,
    NewTopic,
    ObjectCommit,
    ObjectResult,
    PartitionState,
    Refusal,
    TimestampQuery,
    Topic,
    TopicPartition,
    TopicSnapshot,
)
from inkless.core.clock import Clock
from inkless.core.ids import TopicId, id_to_text, new_topic_id
from inkless.core.tasks import Executor

TIDY_ROWS = 1000
IDLE_FACTOR = 5  # where nobody reads, only topics can change


class SqlitePlane:
    """Every method is one transaction on the writer's or the reader's thread."""

    def __init__(
        self,
        file: SqliteFile,
        clock: Clock,
        cluster_id: str,
        *,
        poll_interval_s: float,
        producer_expiration_ms: int,
        result_retention_ms: int,
    ) -> None:
        self._file = file
        self._clock = clock
        self._cluster_id = cluster_id
        self._poll_interval_s = poll_interval_s
        self._producer_expiration_ms = producer_expiration_ms
        self._result_retention_ms = result_retention_ms
        self._producers_seen = (-1, -1)
        self._results_forgotten = -1

    @classmethod
    async def open(
        cls,
        path: Path,
        clock: Clock,
        writer: Executor,
        reader: Executor,
        *,
        poll_interval_s: float = 0.1,
        producer_expiration_ms: int = 86_400_000,
        result_retention_ms: int = 900_000,
    ) -> "SqlitePlane":
        """Open or make the file, bring its schema up to date, and read the cluster's id."""
        file = SqliteFile(path, writer, reader)
        proposed = id_to_text(new_topic_id(clock.random_bytes(16)))

        def prepare(cursor: Cursor) -> str:
            migrate(cursor)
            cursor.execute(sql("meta_put_new"), ("cluster_id", proposed))
            return str(one(cursor, sql("meta_get"), ("cluster_id",))[0])

        try:
            cluster_id = await file.write(prepare)
        except BaseException:
            file.close()
            raise
        return cls(
            file,
            clock,
            cluster_id,
            poll_interval_s=poll_interval_s,
            producer_expiration_ms=producer_expiration_ms,
            result_retention_ms=result_retention_ms,
        )

    @property
    def cluster_id(self) -> str:
        return self._cluster_id

    async def commit(self, broker: BrokerEpoch, objects: Sequence[ObjectCommit]) -> list[ObjectResult]:
        def work(cursor: Cursor) -> list[ObjectResult]:
            return Commit(cursor, self._clock.now_ms(), self._producer_expiration_ms).run(broker, objects)

        return await self._file.write(work)

    async def condemn(self, key: str) -> ObjectResult | None:
        def work(cursor: Cursor) -> ObjectResult | None:
            stored, _ = find_result(cursor, key)
            if stored is None:
                cursor.execute(sql("condemned_insert"), (key, self._clock.now_ms()))
            return stored

        return await self._file.write(work)

    async def locate(self, queries: Sequence[LocateQuery]) -> list[Located]:
        return await self._file.read(lambda cursor: [locate(cursor, query) for query in queries])

    async def locate_timestamp(self, queries: Sequence[TimestampQuery]) -> list[Coordinate | None]:
        return await self._file.read(lambda cursor: [locate_timestamp(cursor, query) for query in queries])

    async def changes(self, cursor: int, partitions: Sequence[TopicPartition], wait_s: float) -> FeedAnswer:
        """Polls the file's data version, which other processes' commits change and this one's do not."""
        deadline = self._clock.monotonic() + wait_s
        interval_s = self._poll_interval_s if partitions else IDLE_FACTOR * self._poll_interval_s
        while (version := await self._file.data_version()) == cursor:
            left_s = deadline - self._clock.monotonic()
            if left_s <= 0:
                break
            await self._clock.sleep(min(interval_s, left_s))

        def work(sql_cursor: Cursor) -> FeedAnswer:
            states: dict[TopicPartition, PartitionState | None] = {}
            if version != cursor:
                states = {name: bounds(sql_cursor, name) for name in partitions}
            return FeedAnswer(version, topics.version(sql_cursor), states)

        return await self._file.read(work)

    async def topics(self) -> TopicSnapshot:
        return await self._file.read(topics.snapshot)

    async def find_topics(self, names: Sequence[str] = (), ids: Sequence[TopicId] = ()) -> list[Topic | None]:
        return await self._file.read(lambda cursor: topics.find(cursor, names, ids))

    async def create_topics(self, new: Sequence[NewTopic]) -> list[Topic | Refusal]:
        fresh = [(new_topic_id(self._clock.random_bytes(16)), topic) for topic in new]
        return await self._file.write(lambda cursor: topics.create(cursor, fresh, self._clock.now_ms()))

    async def delete_topics(self, ids: Sequence[TopicId]) -> list[Topic | Refusal]:
        return await self._file.write(lambda cursor: topics.delete(cursor, ids, self._clock.now_ms()))

    async def grow_topics(self, growth: Sequence[tuple[TopicId, int]]) -> list[Topic | Refusal]:
        return await self._file.write(lambda cursor: topics.grow(cursor, growth))

    async def allocate_producer_ids(self, count: int) -> range:
        def work(cursor: Cursor) -> range:
            first = int(one(cursor, sql("producer_id_next"), {"count": count})[0])
            cursor.execute(sql("producer_id_block_insert"), (first, self._clock.now_ms()))
            return range(first, first + count)

        return await self._file.write(work)

    async def registration(self, node_id: int) -> BrokerRegistration | None:
        row = await self._file.read(lambda cursor: one(cursor, sql("broker_find"), (node_id,)))
        return None if row is None else _registration(*row)

    async def brokers(self) -> list[BrokerRegistration]:
        rows = await self._file.read(lambda cursor: cursor.execute(sql("broker_list")).fetchall())
        return [_registration(*row) for row in rows]

    async def register(self, broker: BrokerRegistration) -> BrokerEpoch:
        endpoints = [[end.listener, end.host, end.port] for end in broker.endpoints]
        arguments = {
            "node_id": broker.node_id,
            "rack": broker.rack,
            "endpoints": json.dumps(endpoints),
            "now_ms": self._clock.now_ms(),
        }
        row = await self._file.write(lambda cursor: one(cursor, sql("broker_register"), arguments))
        return BrokerEpoch(broker.node_id, int(row[0]))

    async def tidy(self) -> int:
        await self._file.checkpoint()
        producers, results = await self._expired_producers(), await self._old_results()
        if not producers and not results:
            return 0

        def forget(cursor: Cursor) -> int:
            cursor.executemany(sql("producer_delete"), producers)
            cursor.executemany(sql("object_forget_results"), results)
            return len(producers) + len(results)

        return await self._file.write(forget)

    async def _expired_producers(self) -> list[tuple[int, int, int]]:
        """Producers that have not written for long, among the next rows of a scan that goes round and round."""
        before_ms = self._clock.now_ms() - self._producer_expiration_ms
        pid, producer_id = self._producers_seen
        place = {"pid": pid, "producer_id": producer_id, "limit": TIDY_ROWS}
        seen = await self._file.read(lambda cursor: cursor.execute(sql("producer_scan"), place).fetchall())
        self._producers_seen = (seen[-1][0], seen[-1][1]) if len(seen) == TIDY_ROWS else (-1, -1)
        return [(row[0], row[1], before_ms) for row in seen if row[2] < before_ms]

    async def _old_results(self) -> list[tuple[int]]:
        """Objects whose commit was so long ago that nobody asks for its result any more."""
        before_ms = self._clock.now_ms() - self._result_retention_ms
        place = {"after": self._results_forgotten, "limit": TIDY_ROWS}
        seen = await self._file.read(lambda cursor: cursor.execute(sql("object_scan"), place).fetchall())
        old = [row[0] for row in seen if row[1] < before_ms]
        if len(old) == len(seen) and old:
            self._results_forgotten = old[-1]
        return [(number,) for number in old]

    async def close(self) -> None:
        self._file.close()


def _registration(node_id: int, epoch: int, rack: str | None, endpoints: str) -> BrokerRegistration:
    ends = tuple(Endpoint(*end) for end in json.loads(endpoints))
    return BrokerRegistration(node_id, rack, ends, epoch)
