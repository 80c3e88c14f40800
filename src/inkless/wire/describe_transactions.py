"""DescribeTransactions (API key 65)."""

from inkless.wire.shape import array, int16, int32, int32_array, int64, message, string, string_array, struct


@message(flexible_from=0)
class DescribeTransactionsRequest:
    transactional_ids: list[str] = string_array()


@struct
class TopicData:
    topic: str = string()
    partitions: list[int] = int32_array()


@struct
class TransactionState:
    error_code: int = int16()
    transactional_id: str = string()
    transaction_state: str = string()
    transaction_timeout_ms: int = int32()
    transaction_start_time_ms: int = int64()
    producer_id: int = int64()
    producer_epoch: int = int16()
    topics: list[TopicData] = array(TopicData)


@message(flexible_from=0)
class DescribeTransactionsResponse:
    throttle_time_ms: int = int32()
    transaction_states: list[TransactionState] = array(TransactionState)
