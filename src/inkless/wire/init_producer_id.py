"""InitProducerId (API key 22): the id and epoch of idempotent and transactional producers."""

from inkless.wire.shape import int16, int32, int64, message, nullable_string


@message(flexible_from=2)
class InitProducerIdRequest:
    transactional_id: str | None = nullable_string()
    transaction_timeout_ms: int = int32()
    producer_id: int = int64("3+", default=-1)
    producer_epoch: int = int16("3+", default=-1)


@message(flexible_from=2)
class InitProducerIdResponse:
    throttle_time_ms: int = int32()
    error_code: int = int16()
    producer_id: int = int64(default=-1)
    producer_epoch: int = int16()
