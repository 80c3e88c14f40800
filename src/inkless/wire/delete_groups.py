"""DeleteGroups (API key 42)."""

from inkless.wire.shape import array, int16, int32, message, string, string_array, struct


@message(flexible_from=2)
class DeleteGroupsRequest:
    groups_names: list[str] = string_array()


@struct
class DeletableGroupResult:
    group_id: str = string()
    error_code: int = int16()


@message(flexible_from=2)
class DeleteGroupsResponse:
    throttle_time_ms: int = int32()
    results: list[DeletableGroupResult] = array(DeletableGroupResult)
