"""DescribeProducers (API key 61): the producers that partitions know."""

from inkless.wire.shape import array, int16, int32, int32_array, int64, message, nullable_string, string, struct


@struct
class TopicRequest:
    name: str = string()
    partition_indexes: list[int] = int32_array()


@message(flexible_from=0)
class DescribeProducersRequest:
    topics: list[TopicRequest] = array(TopicRequest)


@struct
class ProducerState:
    producer_id: int = int64()
    producer_epoch: int = int32()
    last_sequence: int = int32(default=-1)
    last_timestamp: int = int64(default=-1)
    coordinator_epoch: int = int32()
    current_txn_start_offset: int = int64(default=-1)


@struct
class PartitionResponse:
    partition_index: int = int32()
    error_code: int = int16()
    error_message: str | None = nullable_string()
    active_producers: list[ProducerState] = array(ProducerState)


@struct
class TopicResponse:
    name: str = string()
    partitions: list[PartitionResponse] = array(PartitionResponse)


@message(flexible_from=0)
class DescribeProducersResponse:
    throttle_time_ms: int = int32()
    topics: list[TopicResponse] = array(TopicResponse)
