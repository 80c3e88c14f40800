"""DescribeCluster (API key 60)."""

from inkless.wire.metadata import NO_AUTHORIZED_OPERATIONS
from inkless.wire.shape import array, boolean, int8, int16, int32, message, nullable_string, string, struct


@message(flexible_from=0)
class DescribeClusterRequest:
    include_cluster_authorized_operations: bool = boolean()
    endpoint_type: int = int8("1+", default=1)
    include_fenced_brokers: bool = boolean("2+")


@struct
class DescribeClusterBroker:
    broker_id: int = int32()
    host: str = string()
    port: int = int32()
    rack: str | None = nullable_string()
    is_fenced: bool = boolean("2+")


@message(flexible_from=0)
class DescribeClusterResponse:
    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = nullable_string()
    endpoint_type: int = int8("1+", default=1)
    cluster_id: str = string()
    controller_id: int = int32(default=-1)
    brokers: list[DescribeClusterBroker] = array(DescribeClusterBroker)
    cluster_authorized_operations: int = int32(default=NO_AUTHORIZED_OPERATIONS)
