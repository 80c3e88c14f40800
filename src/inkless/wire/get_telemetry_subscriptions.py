"""GetTelemetrySubscriptions (API key 71): which of its metrics a client shall push (KIP-714)."""

from inkless.wire.shape import boolean, int8_array, int16, int32, message, string_array, uuid


@message(flexible_from=0)
class GetTelemetrySubscriptionsRequest:
    client_instance_id: bytes = uuid()


@message(flexible_from=0)
class GetTelemetrySubscriptionsResponse:
    throttle_time_ms: int = int32()
    error_code: int = int16()
    client_instance_id: bytes = uuid()
    subscription_id: int = int32()
    accepted_compression_types: list[int] = int8_array()
    push_interval_ms: int = int32()
    telemetry_max_bytes: int = int32()
    delta_temporality: bool = boolean()
    requested_metrics: list[str] = string_array()
