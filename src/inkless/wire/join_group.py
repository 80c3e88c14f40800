"""JoinGroup (API key 11), of the classic group protocol."""

from inkless.wire.shape import array, binary, boolean, int16, int32, message, nullable_string, string, struct


@struct
class JoinGroupRequestProtocol:
    name: str = string()
    metadata: bytes = binary()


@message(flexible_from=6)
class JoinGroupRequest:
    group_id: str = string()
    session_timeout_ms: int = int32()
    rebalance_timeout_ms: int = int32("1+", default=-1)
    member_id: str = string()
    group_instance_id: str | None = nullable_string("5+")
    protocol_type: str = string()
    protocols: list[JoinGroupRequestProtocol] = array(JoinGroupRequestProtocol)
    reason: str | None = nullable_string("8+")


@struct
class JoinGroupResponseMember:
    member_id: str = string()
    group_instance_id: str | None = nullable_string("5+")
    metadata: bytes = binary()


@message(flexible_from=6)
class JoinGroupResponse:
    """An answer without a protocol says "" before version 7, which has no null for it, and null from then on."""

    throttle_time_ms: int = int32("2+")
    error_code: int = int16()
    generation_id: int = int32(default=-1)
    protocol_type: str | None = nullable_string("7+")
    protocol_name: str | None = nullable_string(nullable="7+", default="")
    leader: str = string()
    skip_assignment: bool = boolean("9+")
    member_id: str = string()
    members: list[JoinGroupResponseMember] = array(JoinGroupResponseMember)
