"""The commit: offsets for the batches of whole objects, in one transaction.

Runs on the writer's thread. State that several batches share is loaded once, changed in memory batch by batch (so
each is checked behind those before it), and written back in bulk.
"""

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from inkless.control_plane.coalesce import coordinates_of
from inkless.control_plane.sequences import (
    Accept,
    Duplicate,
    KnownBatch,
    ProducerState,
    accept,
    check,
    last_sequence,
)
from inkless.control_plane.sqlite.connection import Cursor, one
from inkless.control_plane.sqlite.object_ids import object_id
from inkless.control_plane.sqlite.statements import sql
from inkless.control_plane.values import (
    BatchCommit,
    BatchResult,
    BrokerEpoch,
    ObjectCommit,
    ObjectResult,
    ObjectStatus,
)
from inkless.core.errors import BrokerFenced, ControlPlaneError, ErrorKind
from inkless.core.ids import TopicId

_KNOWN = struct.Struct(">iiqq")
_NO_OFFSET = -1


@dataclass(slots=True)
class _Partition:
    """A partition row while it is being advanced."""

    pid: int
    high_watermark: int
    append_time_ms: int
    max_timestamp: int
    bytes: int
    log_start: int


class Commit:
    """One transaction's work over one or more objects."""

    def __init__(self, cursor: Cursor, now_ms: int, producer_expiration_ms: int) -> None:
        self._cursor = cursor
        self._now_ms = now_ms
        self._expiration_ms = producer_expiration_ms
        self._partitions: dict[tuple[TopicId, int], _Partition | None] = {}
        self._producers: dict[tuple[int, int], ProducerState | None] = {}
        self._touched: dict[int, _Partition] = {}
        self._advanced_producers: dict[tuple[int, int], ProducerState] = {}
        self._coordinate_rows: list[tuple[int, ...]] = []

    def run(self, broker: BrokerEpoch, objects: Sequence[ObjectCommit]) -> list[ObjectResult]:
        check_epoch(self._cursor, broker)
        results: list[ObjectResult] = []
        for item in objects:
            if results and results[-1].status is not ObjectStatus.COMMITTED:
                results.append(ObjectResult(ObjectStatus.SKIPPED))
            else:
                results.append(self._commit_object(item))
        self._write_back()
        return results

    def _commit_object(self, item: ObjectCommit) -> ObjectResult:
        stored, refused = find_result(self._cursor, item.key)
        if stored is not None:
            return stored
        if refused:
            return ObjectResult(ObjectStatus.CONDEMNED)
        results = tuple([self._commit_batch(batch) for batch in item.batches])
        self._insert_object(item, results)
        return ObjectResult(ObjectStatus.COMMITTED, results)

    def _commit_batch(self, batch: BatchCommit) -> BatchResult:
        partition = self._partition(batch.topic_id, batch.partition)
        if partition is None:
            return BatchResult(_NO_OFFSET, error=ErrorKind.UNKNOWN_TOPIC_OR_PARTITION)
        append_time_ms = max(self._now_ms, partition.append_time_ms)
        offset = partition.high_watermark
        if batch.producer_id >= 0:
            refused = self._check_producer(partition, batch, offset, append_time_ms)
            if refused is not None:
                return refused
        partition.high_watermark = offset + batch.records
        partition.append_time_ms = append_time_ms
        partition.bytes += batch.size
        self._touched[partition.pid] = partition
        return BatchResult(offset, append_time_ms, partition.log_start)

    def _check_producer(
        self, partition: _Partition, batch: BatchCommit, offset: int, append_time_ms: int
    ) -> BatchResult | None:
        """None when the batch is next in its sequence, and its state advanced; else the answer."""
        name = (partition.pid, batch.producer_id)
        state = self._producer(name)
        any_first = state is None and batch.base_sequence != 0 and self._may_start_late(batch)
        verdict = check(state, batch.producer_epoch, batch.base_sequence, batch.records, any_first=any_first)
        if isinstance(verdict, Accept):
            last = last_sequence(batch.base_sequence, batch.records)
            known = KnownBatch(batch.base_sequence, last, offset, append_time_ms)
            advanced = accept(state, batch.producer_epoch, known)
            self._producers[name] = self._advanced_producers[name] = advanced
            return None
        if isinstance(verdict, Duplicate):
            original = verdict.original
            return BatchResult(original.base_offset, original.append_time_ms, partition.log_start, duplicate=True)
        return BatchResult(_NO_OFFSET, error=verdict.error)

    def _partition(self, topic_id: TopicId, index: int) -> _Partition | None:
        name = (topic_id, index)
        if name not in self._partitions:
            row = one(self._cursor, sql("partition_for_commit"), name)
            self._partitions[name] = None if row is None else _Partition(*row)
        return self._partitions[name]

    def _producer(self, name: tuple[int, int]) -> ProducerState | None:
        if name not in self._producers:
            row = one(self._cursor, sql("producer_find"), name)
            live = row is not None and row[2] >= self._now_ms - self._expiration_ms
            self._producers[name] = ProducerState(row[0], unpack_known(row[1])) if live else None
        return self._producers[name]

    def _may_start_late(self, batch: BatchCommit) -> bool:
        """Whether a producer without state may begin above 0: its state expired, or went with a deleted topic.

        A producer that lives through the deletion and re-creation of its topic counts on under the same name.
        """
        row = one(self._cursor, sql("producer_id_allocated"), (batch.producer_id,))
        if row is not None and row[0] < self._now_ms - self._expiration_ms:
            return True
        named = {"topic_id": batch.topic_id, "partition": batch.partition, "producer_id": batch.producer_id}
        before = one(self._cursor, sql("producer_before_deletion"), named)
        if before is None:
            return False
        state = ProducerState(before[0], unpack_known(before[1]))
        verdict = check(state, batch.producer_epoch, batch.base_sequence, batch.records, any_first=False)
        return batch.producer_epoch == state.epoch and isinstance(verdict, Accept)

    def _insert_object(self, item: ObjectCommit, results: tuple[BatchResult, ...]) -> None:
        made = list(coordinates_of(item, results))
        retired_ms = None if made else self._now_ms
        number = object_id(item.key)
        row = (number, item.key, item.size, len(made), self._now_ms, retired_ms, encode_results(results))
        self._cursor.execute(sql("object_insert"), row)
        for name, coordinate in made:
            partition = self._partition(*name)
            assert partition is not None
            partition.max_timestamp = max(partition.max_timestamp, coordinate.max_timestamp)
            self._coordinate_rows.append(
                (
                    partition.pid,
                    coordinate.base_offset,
                    coordinate.last_offset,
                    number,
                    coordinate.position,
                    coordinate.size,
                    coordinate.max_timestamp,
                    partition.max_timestamp,
                    coordinate.append_time_ms,
                )
            )

    def _write_back(self) -> None:
        cursor = self._cursor
        self._coordinate_rows.sort()
        cursor.executemany(sql("coordinate_insert"), self._coordinate_rows)
        cursor.executemany(
            sql("partition_advance"),
            [
                (p.high_watermark, p.append_time_ms, p.max_timestamp, p.bytes, pid)
                for pid, p in sorted(self._touched.items())
            ],
        )
        if self._advanced_producers:
            cursor.executemany(
                sql("producer_put"),
                [
                    (pid, producer_id, state.epoch, pack_known(state.known), self._now_ms)
                    for (pid, producer_id), state in sorted(self._advanced_producers.items())
                ],
            )


def check_epoch(cursor: Cursor, broker: BrokerEpoch) -> None:
    row = one(cursor, sql("broker_epoch"), (broker.node_id,))
    if row is None or row[0] != broker.epoch:
        held = "no registration" if row is None else f"epoch {row[0]}"
        raise BrokerFenced(f"node {broker.node_id} has {held}, this broker has epoch {broker.epoch}")


def find_result(cursor: Cursor, key: str) -> tuple[ObjectResult | None, bool]:
    """What a commit of this key has answered, if there was one; and whether a commit of it must be refused."""
    names = {"key": key, "object_id": object_id(key)}
    condemned, held_key, results = one(cursor, sql("object_for_commit"), names)
    if held_key != key:
        return None, bool(condemned) or held_key is not None
    if results is None:
        raise ControlPlaneError(f"{key} was committed, but what that answered is forgotten")
    return ObjectResult(ObjectStatus.COMMITTED, decode_results(results)), False


def encode_results(results: tuple[BatchResult, ...]) -> str:
    return json.dumps(results, separators=(",", ":"))


def decode_results(text: str) -> tuple[BatchResult, ...]:
    return tuple(
        BatchResult(offset, time_ms, log_start, None if error is None else ErrorKind(error), duplicate)
        for offset, time_ms, log_start, error, duplicate in json.loads(text)
    )


def pack_known(known: tuple[KnownBatch, ...]) -> bytes:
    return b"".join([_KNOWN.pack(*batch) for batch in known])


def unpack_known(blob: bytes) -> tuple[KnownBatch, ...]:
    return tuple([KnownBatch(*fields) for fields in _KNOWN.iter_unpack(blob)])
