"""ListOffsets and OffsetForLeaderEpoch: every answer comes from the plane (rule 7)."""

from collections.abc import Sequence
from typing import NamedTuple

from inkless.broker.catalog import CatalogTopic
from inkless.broker.errors import code_of
from inkless.broker.router import Call
from inkless.broker.services import Services
from inkless.control_plane.values import MAX_TIMESTAMP, Coordinate, Located, LocateQuery, TimestampQuery
from inkless.core.errors import ControlPlaneError, ErrorKind, StorageError
from inkless.core.ids import TopicId
from inkless.data_plane.assemble import Buffer
from inkless.records.batch import BatchError, spans_real
from inkless.records.record import Record, decode_records
from inkless.wire.error_codes import ErrorCode
from inkless.wire.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from inkless.wire.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)

LATEST = -1
EARLIEST = -2
EARLIEST_LOCAL = -4
LATEST_TIERED = -5
EARLIEST_PENDING_UPLOAD = -6
LEADER_EPOCH = 0
UNKNOWN = -1
DECODED_BYTES = 256 * 1024 * 1024
MAX_STEPS = 100


class _Place(NamedTuple):
    """A partition that a request asks about: the topic's id if there is such a topic, and the partition's bounds."""

    topic_id: TopicId | None
    bounds: Located


_UNKNOWN = Located(UNKNOWN, UNKNOWN, UNKNOWN, error=ErrorKind.UNKNOWN_TOPIC_OR_PARTITION)


async def list_offsets(services: Services, request: ListOffsetsRequest, call: Call) -> ListOffsetsResponse:
    asked = [(topic.name, partition.partition_index) for topic in request.topics for partition in topic.partitions]
    located = iter(await _locate(services, asked))
    topics = []
    for topic in request.topics:
        answers = []
        for partition in topic.partitions:
            place = next(located)
            answer = ListOffsetsPartitionResponse(partition_index=partition.partition_index)
            answers.append(answer)
            if place.bounds.error is not None or place.topic_id is None:
                answer.error_code = code_of(place.bounds.error)
            elif partition.current_leader_epoch > LEADER_EPOCH:
                answer.error_code = ErrorCode.UNKNOWN_LEADER_EPOCH
            else:
                query = TimestampQuery(place.topic_id, partition.partition_index, partition.timestamp)
                await _set_offset(services, answer, query, place.bounds)
        topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=answers))
    return ListOffsetsResponse(topics=topics)


async def _locate(services: Services, asked: Sequence[tuple[str, int]]) -> list[_Place]:
    """The bounds of each partition, by topic name. A name whose id is gone is asked for once more."""
    names = list(dict.fromkeys(name for name, _ in asked))
    try:
        places = await _bounds(services, asked, await services.catalog.find(names), names)
        if any(place.topic_id is not None and place.bounds.error is _UNKNOWN.error for place in places):
            places = await _bounds(services, asked, await services.catalog.ask(names), names)
    except ControlPlaneError:
        failed = Located(UNKNOWN, UNKNOWN, UNKNOWN, error=ErrorKind.STORAGE_FAILED)
        return [_Place(None, failed)] * len(asked)
    return places


async def _bounds(
    services: Services,
    asked: Sequence[tuple[str, int]],
    entries: Sequence[CatalogTopic | None],
    names: Sequence[str],
) -> list[_Place]:
    ids = {name: None if entry is None else entry.topic.id for name, entry in zip(names, entries, strict=True)}
    queries = [
        LocateQuery(topic_id, partition, 0, 0) for name, partition in asked if (topic_id := ids[name]) is not None
    ]
    found = iter(await services.plane.locate(queries) if queries else [])
    return [
        _Place(None, _UNKNOWN) if ids[name] is None else _Place(ids[name], _without_range_error(next(found)))
        for name, _ in asked
    ]


def _without_range_error(located: Located) -> Located:
    """Offset 0 was asked for the bounds alone; that it may lie before the log's start is no error here."""
    if located.error is not ErrorKind.OFFSET_OUT_OF_RANGE:
        return located
    return Located(located.high_watermark, located.last_stable_offset, located.log_start)


async def _set_offset(
    services: Services, answer: ListOffsetsPartitionResponse, query: TimestampQuery, bounds: Located
) -> None:
    answer.leader_epoch = LEADER_EPOCH
    if query.timestamp == LATEST:
        answer.offset = bounds.high_watermark
    elif query.timestamp in (EARLIEST, EARLIEST_LOCAL):
        answer.offset = bounds.log_start
    elif query.timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        answer.leader_epoch = UNKNOWN
    elif query.timestamp < MAX_TIMESTAMP:
        answer.error_code = ErrorCode.UNSUPPORTED_VERSION
    else:
        try:
            await _set_by_timestamp(services, answer, query, bounds)
        except (StorageError, ControlPlaneError, BatchError):
            answer.error_code = ErrorCode.KAFKA_STORAGE_ERROR


async def _set_by_timestamp(
    services: Services, answer: ListOffsetsPartitionResponse, query: TimestampQuery, bounds: Located
) -> None:
    """The first record at or after a timestamp, or the one with the largest; exact to the record.

    A batch's header may promise a later time than any of its records has: then the search goes on behind it.
    """
    record: Record | None = None
    for _ in range(MAX_STEPS):
        coordinate = (await services.plane.locate_timestamp([query]))[0]
        if coordinate is None:
            break
        buffers = await services.reader.read_coordinate(coordinate)
        record = await services.decoding.run(_pick, buffers, coordinate, query.timestamp, bounds.log_start)
        if record is not None:
            break
        query = query._replace(from_offset=coordinate.last_offset + 1)
    if record is None:
        answer.leader_epoch = UNKNOWN
    else:
        answer.offset, answer.timestamp = record.offset, record.timestamp


def _pick(buffers: Sequence[Buffer], coordinate: Coordinate, timestamp: int, log_start: int) -> Record | None:
    wanted = coordinate.max_timestamp if timestamp == MAX_TIMESTAMP else timestamp
    for batch in _batches(buffers):
        for record in decode_records(batch, DECODED_BYTES):
            if record.timestamp >= wanted and record.offset >= log_start:
                return record
    return None


def _batches(buffers: Sequence[Buffer]) -> list[memoryview]:
    joined = memoryview(b"".join(buffers))
    return [joined[span.position : span.position + span.size] for span in spans_real(joined)]


async def offset_for_leader_epoch(
    services: Services, request: OffsetForLeaderEpochRequest, call: Call
) -> OffsetForLeaderEpochResponse:
    """The leader epoch is 0 for ever (rule 8), and it ends at the high watermark."""
    asked = [(topic.topic, partition.partition) for topic in request.topics for partition in topic.partitions]
    located = iter(await _locate(services, asked))
    topics = []
    for topic in request.topics:
        answers = []
        for partition in topic.partitions:
            bounds = next(located).bounds
            answer = EpochEndOffset(partition=partition.partition, error_code=code_of(bounds.error))
            answers.append(answer)
            if bounds.error is not None:
                continue
            if partition.current_leader_epoch > LEADER_EPOCH:
                answer.error_code = ErrorCode.UNKNOWN_LEADER_EPOCH
            elif partition.leader_epoch == LEADER_EPOCH:
                answer.leader_epoch, answer.end_offset = LEADER_EPOCH, bounds.high_watermark
        topics.append(OffsetForLeaderTopicResult(topic=topic.topic, partitions=answers))
    return OffsetForLeaderEpochResponse(topics=topics)
