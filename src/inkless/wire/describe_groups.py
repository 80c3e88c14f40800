"""DescribeGroups (API key 15): classic groups and their members."""

from inkless.wire.metadata import NO_AUTHORIZED_OPERATIONS
from inkless.wire.shape import (
    array,
    binary,
    boolean,
    int16,
    int32,
    message,
    nullable_string,
    string,
    string_array,
    struct,
)


@message(flexible_from=5)
class DescribeGroupsRequest:
    groups: list[str] = string_array()
    include_authorized_operations: bool = boolean("3+")


@struct
class DescribedGroupMember:
    member_id: str = string()
    group_instance_id: str | None = nullable_string("4+")
    client_id: str = string()
    client_host: str = string()
    member_metadata: bytes = binary()
    member_assignment: bytes = binary()


@struct
class DescribedGroup:
    error_code: int = int16()
    error_message: str | None = nullable_string("6+")
    group_id: str = string()
    group_state: str = string()
    protocol_type: str = string()
    protocol_data: str = string()
    members: list[DescribedGroupMember] = array(DescribedGroupMember)
    authorized_operations: int = int32("3+", default=NO_AUTHORIZED_OPERATIONS)


@message(flexible_from=5)
class DescribeGroupsResponse:
    throttle_time_ms: int = int32("1+")
    groups: list[DescribedGroup] = array(DescribedGroup)
