"""DescribeTopicPartitions (API key 75): Metadata's topics, a page at a time (KIP-966)."""

from inkless.wire.metadata import NO_AUTHORIZED_OPERATIONS
from inkless.wire.shape import (
    array,
    boolean,
    int16,
    int32,
    int32_array,
    message,
    nullable_int32_array,
    nullable_string,
    nullable_struct,
    string,
    struct,
    uuid,
)


@struct
class TopicRequest:
    name: str = string()


@struct
class Cursor:
    topic_name: str = string()
    partition_index: int = int32()


@message(flexible_from=0)
class DescribeTopicPartitionsRequest:
    topics: list[TopicRequest] = array(TopicRequest)
    response_partition_limit: int = int32(default=2000)
    cursor: Cursor | None = nullable_struct(Cursor)


@struct
class DescribeTopicPartitionsResponsePartition:
    error_code: int = int16()
    partition_index: int = int32()
    leader_id: int = int32()
    leader_epoch: int = int32(default=-1)
    replica_nodes: list[int] = int32_array()
    isr_nodes: list[int] = int32_array()
    eligible_leader_replicas: list[int] | None = nullable_int32_array()
    last_known_elr: list[int] | None = nullable_int32_array()
    offline_replicas: list[int] = int32_array()


@struct
class DescribeTopicPartitionsResponseTopic:
    error_code: int = int16()
    name: str | None = nullable_string()
    topic_id: bytes = uuid()
    is_internal: bool = boolean()
    partitions: list[DescribeTopicPartitionsResponsePartition] = array(DescribeTopicPartitionsResponsePartition)
    topic_authorized_operations: int = int32(default=NO_AUTHORIZED_OPERATIONS)


@message(flexible_from=0)
class DescribeTopicPartitionsResponse:
    throttle_time_ms: int = int32()
    topics: list[DescribeTopicPartitionsResponseTopic] = array(DescribeTopicPartitionsResponseTopic)
    next_cursor: Cursor | None = nullable_struct(Cursor)
