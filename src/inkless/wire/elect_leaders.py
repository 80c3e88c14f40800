"""ElectLeaders (API key 43)."""

from inkless.wire.shape import (
    array,
    int8,
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
class TopicPartitions:
    topic: str = string()
    partitions: list[int] = int32_array()


@message(flexible_from=2)
class ElectLeadersRequest:
    """Null topic partitions stand for all of them."""

    election_type: int = int8("1+")
    topic_partitions: list[TopicPartitions] | None = nullable_array(TopicPartitions)
    timeout_ms: int = int32(default=60000)


@struct
class PartitionResult:
    partition_id: int = int32()
    error_code: int = int16()
    error_message: str | None = nullable_string()


@struct
class ReplicaElectionResult:
    topic: str = string()
    partition_result: list[PartitionResult] = array(PartitionResult)


@message(flexible_from=2)
class ElectLeadersResponse:
    throttle_time_ms: int = int32()
    error_code: int = int16("1+")
    replica_election_results: list[ReplicaElectionResult] = array(ReplicaElectionResult)
