"""Kafka's APIs by key, and those served here: their messages and version ranges (Apache Kafka 4.2's)."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from inkless.wire import (
    api_versions,
    create_partitions,
    create_topics,
    delete_topics,
    describe_cluster,
    describe_topic_partitions,
    fetch,
    find_coordinator,
    init_producer_id,
    list_offsets,
    metadata,
    offset_for_leader_epoch,
    produce,
)
from inkless.wire.shape import shape_of


class ApiKey(IntEnum):
    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    LEADER_AND_ISR = 4
    STOP_REPLICA = 5
    UPDATE_METADATA = 6
    CONTROLLED_SHUTDOWN = 7
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    DELETE_RECORDS = 21
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    WRITE_TXN_MARKERS = 27
    TXN_OFFSET_COMMIT = 28
    DESCRIBE_ACLS = 29
    CREATE_ACLS = 30
    DELETE_ACLS = 31
    DESCRIBE_CONFIGS = 32
    ALTER_CONFIGS = 33
    ALTER_REPLICA_LOG_DIRS = 34
    DESCRIBE_LOG_DIRS = 35
    SASL_AUTHENTICATE = 36
    CREATE_PARTITIONS = 37
    CREATE_DELEGATION_TOKEN = 38
    RENEW_DELEGATION_TOKEN = 39
    EXPIRE_DELEGATION_TOKEN = 40
    DESCRIBE_DELEGATION_TOKEN = 41
    DELETE_GROUPS = 42
    ELECT_LEADERS = 43
    INCREMENTAL_ALTER_CONFIGS = 44
    ALTER_PARTITION_REASSIGNMENTS = 45
    LIST_PARTITION_REASSIGNMENTS = 46
    OFFSET_DELETE = 47
    DESCRIBE_CLIENT_QUOTAS = 48
    ALTER_CLIENT_QUOTAS = 49
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50
    ALTER_USER_SCRAM_CREDENTIALS = 51
    VOTE = 52
    BEGIN_QUORUM_EPOCH = 53
    END_QUORUM_EPOCH = 54
    DESCRIBE_QUORUM = 55
    ALTER_PARTITION = 56
    UPDATE_FEATURES = 57
    ENVELOPE = 58
    FETCH_SNAPSHOT = 59
    DESCRIBE_CLUSTER = 60
    DESCRIBE_PRODUCERS = 61
    BROKER_REGISTRATION = 62
    BROKER_HEARTBEAT = 63
    UNREGISTER_BROKER = 64
    DESCRIBE_TRANSACTIONS = 65
    LIST_TRANSACTIONS = 66
    ALLOCATE_PRODUCER_IDS = 67
    CONSUMER_GROUP_HEARTBEAT = 68
    CONSUMER_GROUP_DESCRIBE = 69
    CONTROLLER_REGISTRATION = 70
    GET_TELEMETRY_SUBSCRIPTIONS = 71
    PUSH_TELEMETRY = 72
    ASSIGN_REPLICAS_TO_DIRS = 73
    LIST_CONFIG_RESOURCES = 74
    DESCRIBE_TOPIC_PARTITIONS = 75
    SHARE_GROUP_HEARTBEAT = 76
    SHARE_GROUP_DESCRIBE = 77
    SHARE_FETCH = 78
    SHARE_ACKNOWLEDGE = 79
    ADD_RAFT_VOTER = 80
    REMOVE_RAFT_VOTER = 81
    UPDATE_RAFT_VOTER = 82
    INITIALIZE_SHARE_GROUP_STATE = 83
    READ_SHARE_GROUP_STATE = 84
    WRITE_SHARE_GROUP_STATE = 85
    DELETE_SHARE_GROUP_STATE = 86
    READ_SHARE_GROUP_STATE_SUMMARY = 87
    STREAMS_GROUP_HEARTBEAT = 88
    STREAMS_GROUP_DESCRIBE = 89
    DESCRIBE_SHARE_GROUP_OFFSETS = 90
    ALTER_SHARE_GROUP_OFFSETS = 91
    DELETE_SHARE_GROUP_OFFSETS = 92


@dataclass(frozen=True, slots=True)
class Api:
    """One API as served here."""

    key: ApiKey
    name: str
    request: type[Any]
    response: type[Any]
    min_version: int
    max_version: int
    flexible_from: int

    def serves(self, version: int) -> bool:
        return self.min_version <= version <= self.max_version

    def flexible(self, version: int) -> bool:
        return version >= self.flexible_from


def _api(key: ApiKey, request: type[Any], response: type[Any], min_version: int, max_version: int) -> Api:
    flexible_from = shape_of(request).flexible_from
    assert flexible_from is not None
    assert flexible_from == shape_of(response).flexible_from
    name = request.__name__.removesuffix("Request")
    return Api(key, name, request, response, min_version, max_version, flexible_from)


APIS: dict[int, Api] = {
    api.key: api
    for api in (
        _api(ApiKey.PRODUCE, produce.ProduceRequest, produce.ProduceResponse, 3, 13),
        _api(ApiKey.FETCH, fetch.FetchRequest, fetch.FetchResponse, 4, 18),
        _api(ApiKey.LIST_OFFSETS, list_offsets.ListOffsetsRequest, list_offsets.ListOffsetsResponse, 1, 11),
        _api(ApiKey.METADATA, metadata.MetadataRequest, metadata.MetadataResponse, 0, 13),
        _api(
            ApiKey.FIND_COORDINATOR,
            find_coordinator.FindCoordinatorRequest,
            find_coordinator.FindCoordinatorResponse,
            0,
            6,
        ),
        _api(ApiKey.API_VERSIONS, api_versions.ApiVersionsRequest, api_versions.ApiVersionsResponse, 0, 4),
        _api(ApiKey.CREATE_TOPICS, create_topics.CreateTopicsRequest, create_topics.CreateTopicsResponse, 2, 7),
        _api(ApiKey.DELETE_TOPICS, delete_topics.DeleteTopicsRequest, delete_topics.DeleteTopicsResponse, 1, 6),
        _api(
            ApiKey.INIT_PRODUCER_ID,
            init_producer_id.InitProducerIdRequest,
            init_producer_id.InitProducerIdResponse,
            0,
            5,
        ),
        _api(
            ApiKey.OFFSET_FOR_LEADER_EPOCH,
            offset_for_leader_epoch.OffsetForLeaderEpochRequest,
            offset_for_leader_epoch.OffsetForLeaderEpochResponse,
            2,
            4,
        ),
        _api(
            ApiKey.CREATE_PARTITIONS,
            create_partitions.CreatePartitionsRequest,
            create_partitions.CreatePartitionsResponse,
            0,
            3,
        ),
        _api(
            ApiKey.DESCRIBE_CLUSTER,
            describe_cluster.DescribeClusterRequest,
            describe_cluster.DescribeClusterResponse,
            0,
            2,
        ),
        _api(
            ApiKey.DESCRIBE_TOPIC_PARTITIONS,
            describe_topic_partitions.DescribeTopicPartitionsRequest,
            describe_topic_partitions.DescribeTopicPartitionsResponse,
            0,
            0,
        ),
    )
}
