"""ListPartitionReassignments (API key 46)."""

from inkless.wire.shape import (
    array,
    int16,
    int32,
    int32_array,
    message,
    nullable_array,
    nullable_string,
    string,
    struct,
)


@struct
class ListPartitionReassignmentsTopics:
    name: str = string()
    partition_indexes: list[int] = int32_array()


@message(flexible_from=0)
class ListPartitionReassignmentsRequest:
    """Null topics ask for all of them."""

    timeout_ms: int = int32(default=60000)
    topics: list[ListPartitionReassignmentsTopics] | None = nullable_array(ListPartitionReassignmentsTopics)


@struct
class OngoingPartitionReassignment:
    partition_index: int = int32()
    replicas: list[int] = int32_array()
    adding_replicas: list[int] = int32_array()
    removing_replicas: list[int] = int32_array()


@struct
class OngoingTopicReassignment:
    name: str = string()
    partitions: list[OngoingPartitionReassignment] = array(OngoingPartitionReassignment)


@message(flexible_from=0)
class ListPartitionReassignmentsResponse:
    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = nullable_string()
    topics: list[OngoingTopicReassignment] = array(OngoingTopicReassignment)
