"""Finding coordinates: by offset and by timestamp, each at a cost of its result and not of the log's depth."""

from typing import Any

from inkless.control_plane.sqlite.connection import Cursor, one
from inkless.control_plane.sqlite.statements import sql
from inkless.control_plane.values import (
    MAX_TIMESTAMP,
    Coordinate,
    Located,
    LocateQuery,
    PartitionState,
    TimestampQuery,
    TopicPartition,
)
from inkless.core.errors import ErrorKind

MAX_ROWS = 1000


def bounds(cursor: Cursor, name: TopicPartition) -> PartitionState | None:
    row = one(cursor, sql("partition_bounds"), name)
    return None if row is None else PartitionState(row[1], row[2], row[3])


def locate(cursor: Cursor, query: LocateQuery) -> Located:
    row = one(cursor, sql("partition_bounds"), (query.topic_id, query.partition))
    if row is None:
        return Located(-1, -1, -1, error=ErrorKind.UNKNOWN_TOPIC_OR_PARTITION)
    pid, high_watermark, log_start, _, _ = row
    if not log_start <= query.offset <= high_watermark:
        error = ErrorKind.OFFSET_OUT_OF_RANGE
        return Located(high_watermark, high_watermark, log_start, error=error)
    found: tuple[Coordinate, ...] = ()
    if query.offset < high_watermark and query.max_bytes > 0:
        found = _coordinates(cursor, pid, query.offset, query.max_bytes)
    return Located(high_watermark, high_watermark, log_start, found)


def _coordinates(cursor: Cursor, pid: int, offset: int, max_bytes: int) -> tuple[Coordinate, ...]:
    """Rows from the one that holds the offset, until they reach the byte budget."""
    found: list[Coordinate] = []
    rows = cursor.execute(sql("coordinate_locate"), {"pid": pid, "offset": offset, "limit": MAX_ROWS})
    for row in rows:
        coordinate = _coordinate(row)
        found.append(coordinate)
        max_bytes -= coordinate.size
        if max_bytes <= 0:
            break
    return tuple(found)


def locate_timestamp(cursor: Cursor, query: TimestampQuery) -> Coordinate | None:
    """Bisects over offsets, because the running maximum never falls; then steps over rows that are older."""
    row = one(cursor, sql("partition_bounds"), (query.topic_id, query.partition))
    if row is None:
        return None
    pid, high_watermark, log_start, _, max_timestamp = row
    timestamp = max_timestamp if query.timestamp == MAX_TIMESTAMP else query.timestamp
    low, high = max(log_start, query.from_offset), high_watermark
    while low < high:
        middle = (low + high) // 2
        base_offset, last_offset, running_max, _ = one(cursor, sql("coordinate_at_offset"), (pid, middle))
        if running_max >= timestamp:
            high = base_offset
        else:
            low = last_offset + 1
    start = one(cursor, sql("coordinate_at_offset"), (pid, low))
    if start is None:
        return None
    arguments = {"pid": pid, "base_offset": start[0], "timestamp": timestamp}
    found = one(cursor, sql("coordinate_reaching_timestamp"), arguments)
    return None if found is None else _coordinate(found)


def _coordinate(row: Any) -> Coordinate:
    base, last, key, object_size, position, size, max_timestamp, append_time_ms, log_append_time, real, inline = row
    return Coordinate(
        base,
        last,
        key or "",
        object_size or 0,
        position,
        size,
        max_timestamp,
        append_time_ms,
        bool(log_append_time),
        bool(real),
        inline,
    )
