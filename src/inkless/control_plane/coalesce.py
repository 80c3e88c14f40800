"""From batches and their results to coordinates: byte-adjacent batches of a partition become one.

Pure. The plane writes what this returns, and the broker that committed puts the same into its memory.
"""

from collections.abc import Iterator

from inkless.control_plane.values import BatchResult, Coordinate, ObjectCommit, TopicPartition

MAX_COALESCED_BYTES = 1024 * 1024


def coordinates_of(
    commit: ObjectCommit, results: tuple[BatchResult, ...]
) -> Iterator[tuple[TopicPartition, Coordinate]]:
    """The coordinates that a commit created, in byte order; refused and duplicate batches have none."""
    partition: TopicPartition | None = None
    current: Coordinate | None = None
    for batch, result in zip(commit.batches, results, strict=True):
        if result.error is not None or result.duplicate:
            continue
        if (
            current is not None
            and partition is not None
            and batch.partition == partition.partition
            and batch.topic_id == partition.topic_id
            and batch.position == current.position + current.size
            and result.base_offset == current.last_offset + 1
            and result.append_time_ms == current.append_time_ms
            and current.size + batch.size <= MAX_COALESCED_BYTES
        ):
            current = current._replace(
                last_offset=current.last_offset + batch.records,
                size=current.size + batch.size,
                max_timestamp=max(current.max_timestamp, batch.max_timestamp),
            )
            continue
        if current is not None and partition is not None:
            yield partition, current
        partition = TopicPartition(batch.topic_id, batch.partition)
        current = Coordinate(
            base_offset=result.base_offset,
            last_offset=result.base_offset + batch.records - 1,
            object_key=commit.key,
            object_size=commit.size,
            position=batch.position,
            size=batch.size,
            max_timestamp=batch.max_timestamp,
            append_time_ms=result.append_time_ms,
        )
    if current is not None and partition is not None:
        yield partition, current
