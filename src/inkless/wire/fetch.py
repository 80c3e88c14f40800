"""Fetch (API key 1): record batches on their way out."""

from inkless.wire.shape import (
    Records,
    array,
    int8,
    int16,
    int32,
    int32_array,
    int64,
    message,
    nullable_array,
    nullable_string,
    records,
    string,
    struct,
    tagged_struct,
    uuid,
)


@struct
class ReplicaState:
    replica_id: int = int32(default=-1)
    replica_epoch: int = int64(default=-1)


@struct
class FetchPartition:
    partition: int = int32()
    current_leader_epoch: int = int32("9+", default=-1)
    fetch_offset: int = int64()
    last_fetched_epoch: int = int32("12+", default=-1)
    log_start_offset: int = int64("5+", default=-1)
    partition_max_bytes: int = int32()
    replica_directory_id: bytes = uuid("17+", tag=0)
    high_watermark: int = int64("18+", default=(1 << 63) - 1, tag=1)


@struct
class FetchTopic:
    topic: str = string("0-12")
    topic_id: bytes = uuid("13+")
    partitions: list[FetchPartition] = array(FetchPartition)


@struct
class ForgottenTopic:
    topic: str = string("7-12")
    topic_id: bytes = uuid("13+")
    partitions: list[int] = int32_array("7+")


@message(flexible_from=12)
class FetchRequest:
    cluster_id: str | None = nullable_string("12+", tag=0)
    replica_id: int = int32("0-14", default=-1)
    replica_state: ReplicaState | None = tagged_struct(ReplicaState, "15+", tag=1)
    max_wait_ms: int = int32()
    min_bytes: int = int32()
    max_bytes: int = int32("3+", default=0x7FFFFFFF)
    isolation_level: int = int8("4+")
    session_id: int = int32("7+")
    session_epoch: int = int32("7+", default=-1)
    topics: list[FetchTopic] = array(FetchTopic)
    forgotten_topics_data: list[ForgottenTopic] = array(ForgottenTopic, "7+")
    rack_id: str = string("11+")


@struct
class EpochEndOffset:
    epoch: int = int32(default=-1)
    end_offset: int = int64(default=-1)


@struct
class LeaderIdAndEpoch:
    leader_id: int = int32(default=-1)
    leader_epoch: int = int32(default=-1)


@struct
class SnapshotId:
    end_offset: int = int64(default=-1)
    epoch: int = int32(default=-1)


@struct
class AbortedTransaction:
    producer_id: int = int64()
    first_offset: int = int64()


@struct
class PartitionData:
    partition_index: int = int32()
    error_code: int = int16()
    high_watermark: int = int64()
    last_stable_offset: int = int64("4+", default=-1)
    log_start_offset: int = int64("5+", default=-1)
    diverging_epoch: EpochEndOffset | None = tagged_struct(EpochEndOffset, "12+", tag=0)
    current_leader: LeaderIdAndEpoch | None = tagged_struct(LeaderIdAndEpoch, "12+", tag=1)
    snapshot_id: SnapshotId | None = tagged_struct(SnapshotId, "12+", tag=2)
    aborted_transactions: list[AbortedTransaction] | None = nullable_array(AbortedTransaction, "4+")
    preferred_read_replica: int = int32("11+", default=-1)
    # Empty rather than null: librdkafka takes a negative size for a broken answer.
    records: Records = records(default=b"")


@struct
class FetchableTopicResponse:
    topic: str = string("0-12")
    topic_id: bytes = uuid("13+")
    partitions: list[PartitionData] = array(PartitionData)


@struct
class NodeEndpoint:
    node_id: int = int32()
    host: str = string()
    port: int = int32()
    rack: str | None = nullable_string()


@message(flexible_from=12)
class FetchResponse:
    throttle_time_ms: int = int32("1+")
    error_code: int = int16("7+")
    session_id: int = int32("7+")
    responses: list[FetchableTopicResponse] = array(FetchableTopicResponse)
    node_endpoints: list[NodeEndpoint] = array(NodeEndpoint, "16+", tag=0)
