"""Heartbeat (API key 12), of the classic group protocol."""

from inkless.wire.shape import int16, int32, message, nullable_string, string


@message(flexible_from=4)
class HeartbeatRequest:
    group_id: str = string()
    generation_id: int = int32()
    member_id: str = string()
    group_instance_id: str | None = nullable_string("3+")


@message(flexible_from=4)
class HeartbeatResponse:
    throttle_time_ms: int = int32("1+")
    error_code: int = int16()
