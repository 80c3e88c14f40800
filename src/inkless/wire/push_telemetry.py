"""PushTelemetry (API key 72): a client's own metrics, as OTLP (KIP-714)."""

from inkless.wire.shape import binary, boolean, int8, int16, int32, message, uuid


@message(flexible_from=0)
class PushTelemetryRequest:
    client_instance_id: bytes = uuid()
    subscription_id: int = int32()
    terminating: bool = boolean()
    compression_type: int = int8()
    metrics: bytes = binary()


@message(flexible_from=0)
class PushTelemetryResponse:
    throttle_time_ms: int = int32()
    error_code: int = int16()
