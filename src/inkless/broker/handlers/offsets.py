"""ListOffsets and OffsetForLeaderEpoch: every answer comes from the plane (rule 7)."""

from collections.abc import Sequence
from typing import NamedTuple

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


class _Place(NamedTuple):
    """A partition that a request asks about, and the topic's id if there is such a topic."""

    topic_id: TopicId | None
    partition: int


async def list_offsets(services: Services, request: ListOffsetsRequest, call: Call) -> ListOffsetsResponse:
    entries = await services.catalog.find([topic.name for topic in request.topics])
    places = [
        _Place(None if entry is None else entry.topic.id, partition.partition_index)
        for topic, entry in zip(request.topics, entries, strict=True)
        for partition in topic.partitions
    ]
    located = iter(await _bounds(services, places))
    topics = []
    for topic, entry in zip(request.topics, entries, strict=True):
        answers = []
        for partition in topic.partitions:
            answer = ListOffsetsPartitionResponse(partition_index=partition.partition_index)
            answers.append(answer)
            bounds = next(located)
            if partition.current_leader_epoch > LEADER_EPOCH and bounds.error is None:
                answer.error_code = ErrorCode.UNKNOWN_LEADER_EPOCH
            elif bounds.error is not None or entry is None:
                answer.error_code = code_of(bounds.error)
            else:
                query = TimestampQuery(entry.topic.id, partition.partition_index, partition.timestamp)
                await _set_offset(services, answer, query, bounds)
        topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=answers))
    return ListOffsetsResponse(topics=topics)


async def _bounds(services: Services, places: Sequence[_Place]) -> list[Located]:
    """The bounds of each partition; an unknown one has its error."""
    known = [place for place in places if place.topic_id is not None]
    queries = [LocateQuery(place.topic_id, place.partition, 0, 0) for place in known if place.topic_id]
    try:
        found = iter(await services.plane.locate(queries)) if queries else iter(())
    except ControlPlaneError:
        return [Located(UNKNOWN, UNKNOWN, UNKNOWN, error=ErrorKind.STORAGE_FAILED)] * len(places)
    unknown = Located(UNKNOWN, UNKNOWN, UNKNOWN, error=ErrorKind.UNKNOWN_TOPIC_OR_PARTITION)
    answers = [unknown if place.topic_id is None else next(found) for place in places]
    return [_without_range_error(answer) for answer in answers]


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
    """The first record at or after a timestamp, or the one with the largest; exact to the record."""
    coordinate = (await services.plane.locate_timestamp([query]))[0]
    if coordinate is None:
        answer.leader_epoch = UNKNOWN
        return
    buffers = await services.reader.read_coordinate(coordinate)
    record = await services.decoding.run(_pick, buffers, coordinate, query.timestamp, bounds.log_start)
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
    entries = await services.catalog.find([topic.topic for topic in request.topics])
    places = [
        _Place(None if entry is None else entry.topic.id, partition.partition)
        for topic, entry in zip(request.topics, entries, strict=True)
        for partition in topic.partitions
    ]
    located = iter(await _bounds(services, places))
    topics = []
    for topic in request.topics:
        answers = []
        for partition in topic.partitions:
            bounds = next(located)
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
