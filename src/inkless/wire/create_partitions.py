"""CreatePartitions (API key 37)."""

from inkless.wire.shape import (
    array,
    boolean,
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
class CreatePartitionsAssignment:
    broker_ids: list[int] = int32_array()


@struct
class CreatePartitionsTopic:
    name: str = string()
    count: int = int32()
    assignments: list[CreatePartitionsAssignment] | None = nullable_array(CreatePartitionsAssignment)


@message(flexible_from=2)
class CreatePartitionsRequest:
    topics: list[CreatePartitionsTopic] = array(CreatePartitionsTopic)
    timeout_ms: int = int32()
    validate_only: bool = boolean()


@struct
class CreatePartitionsTopicResult:
    name: str = string()
    error_code: int = int16()
    error_message: str | None = nullable_string()


@message(flexible_from=2)
class CreatePartitionsResponse:
    throttle_time_ms: int = int32()
    results: list[CreatePartitionsTopicResult] = array(CreatePartitionsTopicResult)
