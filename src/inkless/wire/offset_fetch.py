"""OffsetFetch (API key 9): a group's committed offsets; from version 8 on those of several groups."""

from inkless.wire.shape import (
    array,
    boolean,
    int16,
    int32,
    int32_array,
    int64,
    message,
    nullable_array,
    nullable_string,
    string,
    struct,
    uuid,
)


@struct
class OffsetFetchRequestTopic:
    name: str = string()
    partition_indexes: list[int] = int32_array()


@struct
class OffsetFetchRequestTopics:
    name: str = string("8-9")
    topic_id: bytes = uuid("10+")
    partition_indexes: list[int] = int32_array()


@struct
class OffsetFetchRequestGroup:
    """Null topics ask for all that the group has committed."""

    group_id: str = string()
    member_id: str | None = nullable_string("9+")
    member_epoch: int = int32("9+", default=-1)
    topics: list[OffsetFetchRequestTopics] | None = nullable_array(OffsetFetchRequestTopics)


@message(flexible_from=6)
class OffsetFetchRequest:
    """Null topics ask for all that the group has committed; version 1 has no null."""

    group_id: str = string("0-7")
    topics: list[OffsetFetchRequestTopic] | None = nullable_array(
        OffsetFetchRequestTopic, "0-7", nullable="2-7", default=[]
    )
    groups: list[OffsetFetchRequestGroup] = array(OffsetFetchRequestGroup, "8+")
    require_stable: bool = boolean("7+")


@struct
class OffsetFetchResponsePartition:
    partition_index: int = int32()
    committed_offset: int = int64()
    committed_leader_epoch: int = int32("5-7", default=-1)
    metadata: str | None = nullable_string()
    error_code: int = int16()


@struct
class OffsetFetchResponseTopic:
    name: str = string()
    partitions: list[OffsetFetchResponsePartition] = array(OffsetFetchResponsePartition)


@struct
class OffsetFetchResponsePartitions:
    partition_index: int = int32()
    committed_offset: int = int64()
    committed_leader_epoch: int = int32(default=-1)
    metadata: str | None = nullable_string()
    error_code: int = int16()


@struct
class OffsetFetchResponseTopics:
    name: str = string("8-9")
    topic_id: bytes = uuid("10+")
    partitions: list[OffsetFetchResponsePartitions] = array(OffsetFetchResponsePartitions)


@struct
class OffsetFetchResponseGroup:
    group_id: str = string()
    topics: list[OffsetFetchResponseTopics] = array(OffsetFetchResponseTopics)
    error_code: int = int16()


@message(flexible_from=6)
class OffsetFetchResponse:
    throttle_time_ms: int = int32("3+")
    topics: list[OffsetFetchResponseTopic] = array(OffsetFetchResponseTopic, "0-7")
    error_code: int = int16("2-7")
    groups: list[OffsetFetchResponseGroup] = array(OffsetFetchResponseGroup, "8+")
