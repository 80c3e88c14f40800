"""The tables of APIs and error codes, against kio's, kafka-python's and the ranges of Apache Kafka 4.2."""

from kio.index import load_request_schema
from kio.schema.errors import ErrorCode as KioErrorCode
from kio.schema.index import api_key_map
from wire_oracles import KAFKA_PYTHON_HAS_NO_API, kafka_python_class

from inkless.wire.api import APIS, ApiKey
from inkless.wire.error_codes import RETRIABLE, ErrorCode
from inkless.wire.shape import NEVER_FLEXIBLE

RANGES = {
    "Produce": (3, 13, 9),
    "Fetch": (4, 18, 12),
    "ListOffsets": (1, 11, 6),
    "Metadata": (0, 13, 9),
    "ApiVersions": (0, 4, 3),
    "CreateTopics": (2, 7, 5),
    "DeleteTopics": (1, 6, 4),
    "CreatePartitions": (0, 3, 2),
    "InitProducerId": (0, 5, 2),
    "OffsetForLeaderEpoch": (2, 4, 4),
    "DescribeCluster": (0, 2, 0),
    "DescribeTopicPartitions": (0, 0, 0),
    "FindCoordinator": (0, 6, 3),
    "OffsetCommit": (2, 10, 8),
    "OffsetFetch": (1, 10, 6),
    "JoinGroup": (0, 9, 6),
    "Heartbeat": (0, 4, 4),
    "LeaveGroup": (0, 5, 4),
    "SyncGroup": (0, 5, 4),
    "DescribeGroups": (0, 6, 5),
    "ListGroups": (0, 5, 3),
    "SaslHandshake": (0, 1, NEVER_FLEXIBLE),
    "DeleteRecords": (0, 2, 2),
    "DescribeAcls": (1, 3, 2),
    "DescribeConfigs": (1, 4, 4),
    "AlterConfigs": (0, 2, 2),
    "DescribeLogDirs": (1, 4, 2),
    "SaslAuthenticate": (0, 2, 2),
    "DeleteGroups": (0, 2, 2),
    "ElectLeaders": (0, 2, 2),
    "IncrementalAlterConfigs": (0, 1, 1),
    "ListPartitionReassignments": (0, 0, 0),
    "OffsetDelete": (0, 0, NEVER_FLEXIBLE),
    "DescribeClientQuotas": (0, 1, 1),
    "DescribeUserScramCredentials": (0, 0, 0),
    "DescribeProducers": (0, 0, 0),
    "DescribeTransactions": (0, 0, 0),
    "ListTransactions": (0, 1, 0),
    "ConsumerGroupHeartbeat": (0, 1, 0),
    "ConsumerGroupDescribe": (0, 1, 0),
    "GetTelemetrySubscriptions": (0, 0, 0),
    "PushTelemetry": (0, 0, 0),
    "ListConfigResources": (0, 1, 0),
}


def test_the_served_ranges_are_kafkas():
    assert {api.name: (api.min_version, api.max_version, api.flexible_from) for api in APIS.values()} == RANGES


def test_keys_names_and_messages_belong_together():
    for key, api in APIS.items():
        assert key == api.key
        assert api.request.__name__ == f"{api.name}Request"
        assert api.response.__name__ == f"{api.name}Response"
        assert key == load_request_schema(key, api.max_version).__api_key__
        assert load_request_schema(key, api.max_version).__name__ == api.request.__name__
        if api.name not in KAFKA_PYTHON_HAS_NO_API:
            assert key == kafka_python_class(api.request.__name__).API_KEY


def test_served_versions_are_those_of_the_range():
    fetch = APIS[ApiKey.FETCH]
    assert [version for version in range(-1, 25) if fetch.serves(version)] == list(range(4, 19))


def test_api_keys_are_kafkas():
    for key, name in api_key_map.items():
        assert ApiKey(key).name.lower() == name


def test_error_codes_are_kafkas():
    assert {code.name: int(code) for code in ErrorCode} == {code.name.upper(): int(code) for code in KioErrorCode}


def test_retriable_errors_are_kafkas():
    assert {int(code) for code in RETRIABLE} == {int(code) for code in KioErrorCode if code.retriable}
    assert all(code.retriable == (code in RETRIABLE) for code in ErrorCode)
