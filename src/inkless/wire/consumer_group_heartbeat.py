"""ConsumerGroupHeartbeat (API key 68): the one request of members in KIP-848's group protocol."""

from inkless.wire.shape import (
    array,
    int16,
    int32,
    int32_array,
    message,
    nullable_array,
    nullable_string,
    nullable_string_array,
    nullable_struct,
    string,
    struct,
    uuid,
)


@struct
class TopicPartitions:
    topic_id: bytes = uuid()
    partitions: list[int] = int32_array()


@message(flexible_from=0)
class ConsumerGroupHeartbeatRequest:
    """Null, or a timeout of -1, stands for what the member has said before."""

    group_id: str = string()
    member_id: str = string()
    member_epoch: int = int32()
    instance_id: str | None = nullable_string()
    rack_id: str | None = nullable_string()
    rebalance_timeout_ms: int = int32(default=-1)
    subscribed_topic_names: list[str] | None = nullable_string_array()
    subscribed_topic_regex: str | None = nullable_string("1+")
    server_assignor: str | None = nullable_string()
    topic_partitions: list[TopicPartitions] | None = nullable_array(TopicPartitions)


@struct
class Assignment:
    topic_partitions: list[TopicPartitions] = array(TopicPartitions)


@message(flexible_from=0)
class ConsumerGroupHeartbeatResponse:
    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = nullable_string()
    member_id: str | None = nullable_string()
    member_epoch: int = int32()
    heartbeat_interval_ms: int = int32()
    assignment: Assignment | None = nullable_struct(Assignment)
