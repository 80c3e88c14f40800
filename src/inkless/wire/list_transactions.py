"""ListTransactions (API key 66)."""

from inkless.wire.shape import array, int16, int32, int64, int64_array, message, string, string_array, struct


@message(flexible_from=0)
class ListTransactionsRequest:
    """Empty filters let everything through, and so does a duration of -1."""

    state_filters: list[str] = string_array()
    producer_id_filters: list[int] = int64_array()
    duration_filter: int = int64("1+", default=-1)


@struct
class TransactionState:
    transactional_id: str = string()
    producer_id: int = int64()
    transaction_state: str = string()


@message(flexible_from=0)
class ListTransactionsResponse:
    throttle_time_ms: int = int32()
    error_code: int = int16()
    unknown_state_filters: list[str] = string_array()
    transaction_states: list[TransactionState] = array(TransactionState)
