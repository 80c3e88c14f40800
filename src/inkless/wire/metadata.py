"""Metadata (API key 3): brokers, topics, and who leads what."""

from inkless.wire.shape import (
    array,
    boolean,
    int16,
    int32,
    int32_array,
    message,
    nullable_array,
    nullable_string,
    string,
    struct,
    uuid,
)

NO_AUTHORIZED_OPERATIONS = -(1 << 31)


@struct
class MetadataRequestTopic:
    topic_id: bytes = uuid("10+")
    name: str | None = nullable_string(nullable="10+")


@message(flexible_from=9)
class MetadataRequest:
    """Null topics ask for all of them; so does an empty list in version 0, which has no null."""

    topics: list[MetadataRequestTopic] | None = nullable_array(MetadataRequestTopic, nullable="1+")
    allow_auto_topic_creation: bool = boolean("4+", default=True)
    include_cluster_authorized_operations: bool = boolean("8-10")
    include_topic_authorized_operations: bool = boolean("8+")


@struct
class MetadataResponseBroker:
    node_id: int = int32()
    host: str = string()
    port: int = int32()
    rack: str | None = nullable_string("1+", nullable="1+")


@struct
class MetadataResponsePartition:
    error_code: int = int16()
    partition_index: int = int32()
    leader_id: int = int32()
    leader_epoch: int = int32("7+", default=-1)
    replica_nodes: list[int] = int32_array()
    isr_nodes: list[int] = int32_array()
    offline_replicas: list[int] = int32_array("5+")


@struct
class MetadataResponseTopic:
    error_code: int = int16()
    name: str | None = nullable_string(nullable="12+")
    topic_id: bytes = uuid("10+")
    is_internal: bool = boolean("1+")
    partitions: list[MetadataResponsePartition] = array(MetadataResponsePartition)
    topic_authorized_operations: int = int32("8+", default=NO_AUTHORIZED_OPERATIONS)


@message(flexible_from=9)
class MetadataResponse:
    throttle_time_ms: int = int32("3+")
    brokers: list[MetadataResponseBroker] = array(MetadataResponseBroker)
    cluster_id: str | None = nullable_string("2+")
    controller_id: int = int32("1+", default=-1)
    topics: list[MetadataResponseTopic] = array(MetadataResponseTopic)
    cluster_authorized_operations: int = int32("8-10", default=NO_AUTHORIZED_OPERATIONS)
    error_code: int = int16("13+")
