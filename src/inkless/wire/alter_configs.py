"""AlterConfigs (API key 33): replaces a resource's whole configuration."""

from inkless.wire.shape import array, boolean, int8, int16, int32, message, nullable_string, string, struct


@struct
class AlterableConfig:
    name: str = string()
    value: str | None = nullable_string()


@struct
class AlterConfigsResource:
    resource_type: int = int8()
    resource_name: str = string()
    configs: list[AlterableConfig] = array(AlterableConfig)


@message(flexible_from=2)
class AlterConfigsRequest:
    resources: list[AlterConfigsResource] = array(AlterConfigsResource)
    validate_only: bool = boolean()


@struct
class AlterConfigsResourceResponse:
    error_code: int = int16()
    error_message: str | None = nullable_string()
    resource_type: int = int8()
    resource_name: str = string()


@message(flexible_from=2)
class AlterConfigsResponse:
    throttle_time_ms: int = int32()
    responses: list[AlterConfigsResourceResponse] = array(AlterConfigsResourceResponse)
