"""ListConfigResources (API key 74): before Kafka 4.1 it was ListClientMetricsResources, with version 0 alone."""

from inkless.wire.shape import array, int8, int8_array, int16, int32, message, string, struct


@message(flexible_from=0)
class ListConfigResourcesRequest:
    """No types ask for all of them; version 0 asks for client metrics resources alone."""

    resource_types: list[int] = int8_array("1+")


@struct
class ConfigResource:
    resource_name: str = string()
    resource_type: int = int8("1+", default=16)


@message(flexible_from=0)
class ListConfigResourcesResponse:
    throttle_time_ms: int = int32()
    error_code: int = int16()
    config_resources: list[ConfigResource] = array(ConfigResource)
