"""SyncGroup (API key 14), of the classic group protocol."""

from inkless.wire.shape import array, binary, int16, int32, message, nullable_string, string, struct


@struct
class SyncGroupRequestAssignment:
    member_id: str = string()
    assignment: bytes = binary()


@message(flexible_from=4)
class SyncGroupRequest:
    group_id: str = string()
    generation_id: int = int32()
    member_id: str = string()
    group_instance_id: str | None = nullable_string("3+")
    protocol_type: str | None = nullable_string("5+")
    protocol_name: str | None = nullable_string("5+")
    assignments: list[SyncGroupRequestAssignment] = array(SyncGroupRequestAssignment)


@message(flexible_from=4)
class SyncGroupResponse:
    throttle_time_ms: int = int32("1+")
    error_code: int = int16()
    protocol_type: str | None = nullable_string("5+")
    protocol_name: str | None = nullable_string("5+")
    assignment: bytes = binary()
