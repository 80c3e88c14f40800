"""Kafka's APIs by key, and those spoken here: their messages and version ranges (Apache Kafka 4.2's)."""

from dataclasses import dataclass
from enum import IntEnum
from types import ModuleType
from typing import Any

from inkless.wire import (
    alter_configs,
    api_versions,
    consumer_group_describe,
    consumer_group_heartbeat,
    create_partitions,
    create_topics,
    delete_groups,
    delete_records,
    delete_topics,
    describe_acls,
    describe_client_quotas,
    describe_cluster,
    describe_configs,
    describe_groups,
    describe_log_dirs,
    describe_producers,
    describe_topic_partitions,
    describe_transactions,
    describe_user_scram_credentials,
    elect_leaders,
    fetch,
    find_coordinator,
    get_telemetry_subscriptions,
    heartbeat,
    incremental_alter_configs,
    init_producer_id,
    join_group,
    leave_group,
    list_config_resources,
    list_groups,
    list_offsets,
    list_partition_reassignments,
    list_transactions,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
    push_telemetry,
    sasl_authenticate,
    sasl_handshake,
    sync_group,
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
    """One API as spoken here; which of them a broker serves is for its routes to say."""

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


def _api(key: ApiKey, module: ModuleType, min_version: int, max_version: int) -> Api:
    """The API's name is that of its key, and its module has the two messages by that name."""
    name = "".join(word.capitalize() for word in key.name.split("_"))
    request, response = vars(module)[f"{name}Request"], vars(module)[f"{name}Response"]
    flexible_from = shape_of(request).flexible_from
    assert flexible_from is not None
    assert flexible_from == shape_of(response).flexible_from
    return Api(key, name, request, response, min_version, max_version, flexible_from)


APIS: dict[int, Api] = {
    api.key: api
    for api in (
        _api(ApiKey.PRODUCE, produce, 3, 13),
        _api(ApiKey.FETCH, fetch, 4, 18),
        _api(ApiKey.LIST_OFFSETS, list_offsets, 1, 11),
        _api(ApiKey.METADATA, metadata, 0, 13),
        _api(ApiKey.OFFSET_COMMIT, offset_commit, 2, 10),
        _api(ApiKey.OFFSET_FETCH, offset_fetch, 1, 10),
        _api(ApiKey.FIND_COORDINATOR, find_coordinator, 0, 6),
        _api(ApiKey.JOIN_GROUP, join_group, 0, 9),
        _api(ApiKey.HEARTBEAT, heartbeat, 0, 4),
        _api(ApiKey.LEAVE_GROUP, leave_group, 0, 5),
        _api(ApiKey.SYNC_GROUP, sync_group, 0, 5),
        _api(ApiKey.DESCRIBE_GROUPS, describe_groups, 0, 6),
        _api(ApiKey.LIST_GROUPS, list_groups, 0, 5),
        _api(ApiKey.SASL_HANDSHAKE, sasl_handshake, 0, 1),
        _api(ApiKey.API_VERSIONS, api_versions, 0, 4),
        _api(ApiKey.CREATE_TOPICS, create_topics, 2, 7),
        _api(ApiKey.DELETE_TOPICS, delete_topics, 1, 6),
        _api(ApiKey.DELETE_RECORDS, delete_records, 0, 2),
        _api(ApiKey.INIT_PRODUCER_ID, init_producer_id, 0, 5),
        _api(ApiKey.OFFSET_FOR_LEADER_EPOCH, offset_for_leader_epoch, 2, 4),
        _api(ApiKey.DESCRIBE_ACLS, describe_acls, 1, 3),
        _api(ApiKey.DESCRIBE_CONFIGS, describe_configs, 1, 4),
        _api(ApiKey.ALTER_CONFIGS, alter_configs, 0, 2),
        _api(ApiKey.DESCRIBE_LOG_DIRS, describe_log_dirs, 1, 4),
        _api(ApiKey.SASL_AUTHENTICATE, sasl_authenticate, 0, 2),
        _api(ApiKey.CREATE_PARTITIONS, create_partitions, 0, 3),
        _api(ApiKey.DELETE_GROUPS, delete_groups, 0, 2),
        _api(ApiKey.ELECT_LEADERS, elect_leaders, 0, 2),
        _api(ApiKey.INCREMENTAL_ALTER_CONFIGS, incremental_alter_configs, 0, 1),
        _api(ApiKey.LIST_PARTITION_REASSIGNMENTS, list_partition_reassignments, 0, 0),
        _api(ApiKey.OFFSET_DELETE, offset_delete, 0, 0),
        _api(ApiKey.DESCRIBE_CLIENT_QUOTAS, describe_client_quotas, 0, 1),
        _api(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, describe_user_scram_credentials, 0, 0),
        _api(ApiKey.DESCRIBE_CLUSTER, describe_cluster, 0, 2),
        _api(ApiKey.DESCRIBE_PRODUCERS, describe_producers, 0, 0),
        _api(ApiKey.DESCRIBE_TRANSACTIONS, describe_transactions, 0, 0),
        _api(ApiKey.LIST_TRANSACTIONS, list_transactions, 0, 1),
        _api(ApiKey.CONSUMER_GROUP_HEARTBEAT, consumer_group_heartbeat, 0, 1),
        _api(ApiKey.CONSUMER_GROUP_DESCRIBE, consumer_group_describe, 0, 1),
        _api(ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, get_telemetry_subscriptions, 0, 0),
        _api(ApiKey.PUSH_TELEMETRY, push_telemetry, 0, 0),
        _api(ApiKey.LIST_CONFIG_RESOURCES, list_config_resources, 0, 1),
        _api(ApiKey.DESCRIBE_TOPIC_PARTITIONS, describe_topic_partitions, 0, 0),
    )
}
