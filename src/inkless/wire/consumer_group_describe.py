"""ConsumerGroupDescribe (API key 69): groups of KIP-848's protocol and their members."""

from inkless.wire.metadata import NO_AUTHORIZED_OPERATIONS
from inkless.wire.shape import (
    array,
    boolean,
    inner_struct,
    int8,
    int16,
    int32,
    int32_array,
    message,
    nullable_string,
    string,
    string_array,
    struct,
    uuid,
)


@message(flexible_from=0)
class ConsumerGroupDescribeRequest:
    group_ids: list[str] = string_array()
    include_authorized_operations: bool = boolean()


@struct
class TopicPartitions:
    topic_id: bytes = uuid()
    topic_name: str = string()
    partitions: list[int] = int32_array()


@struct
class Assignment:
    topic_partitions: list[TopicPartitions] = array(TopicPartitions)


@struct
class Member:
    member_id: str = string()
    instance_id: str | None = nullable_string()
    rack_id: str | None = nullable_string()
    member_epoch: int = int32()
    client_id: str = string()
    client_host: str = string()
    subscribed_topic_names: list[str] = string_array()
    subscribed_topic_regex: str | None = nullable_string()
    assignment: Assignment = inner_struct(Assignment)
    target_assignment: Assignment = inner_struct(Assignment)
    member_type: int = int8("1+", default=-1)


@struct
class DescribedGroup:
    error_code: int = int16()
    error_message: str | None = nullable_string()
    group_id: str = string()
    group_state: str = string()
    group_epoch: int = int32()
    assignment_epoch: int = int32()
    assignor_name: str = string()
    members: list[Member] = array(Member)
    authorized_operations: int = int32(default=NO_AUTHORIZED_OPERATIONS)


@message(flexible_from=0)
class ConsumerGroupDescribeResponse:
    throttle_time_ms: int = int32()
    groups: list[DescribedGroup] = array(DescribedGroup)
