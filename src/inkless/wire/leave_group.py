"""LeaveGroup (API key 13): one member up to version 2, several from 3 on."""

from inkless.wire.shape import array, int16, int32, message, nullable_string, string, struct


@struct
class MemberIdentity:
    member_id: str = string()
    group_instance_id: str | None = nullable_string()
    reason: str | None = nullable_string("5+")


@message(flexible_from=4)
class LeaveGroupRequest:
    group_id: str = string()
    member_id: str = string("0-2")
    members: list[MemberIdentity] = array(MemberIdentity, "3+")


@struct
class MemberResponse:
    member_id: str = string()
    group_instance_id: str | None = nullable_string()
    error_code: int = int16()


@message(flexible_from=4)
class LeaveGroupResponse:
    throttle_time_ms: int = int32("1+")
    error_code: int = int16()
    members: list[MemberResponse] = array(MemberResponse, "3+")
