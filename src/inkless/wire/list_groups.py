"""ListGroups (API key 16)."""

from inkless.wire.shape import array, int16, int32, message, string, string_array, struct


@message(flexible_from=3)
class ListGroupsRequest:
    states_filter: list[str] = string_array("4+")
    types_filter: list[str] = string_array("5+")


@struct
class ListedGroup:
    group_id: str = string()
    protocol_type: str = string()
    group_state: str = string("4+")
    group_type: str = string("5+")


@message(flexible_from=3)
class ListGroupsResponse:
    throttle_time_ms: int = int32("1+")
    error_code: int = int16()
    groups: list[ListedGroup] = array(ListedGroup)
