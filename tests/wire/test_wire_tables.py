"""The tables of APIs and error codes, against kio's, kafka-python's and the ranges of Apache Kafka 4.2."""

from kio.schema.errors import ErrorCode as KioErrorCode
from kio.schema.index import api_key_map
from wire_oracles import kafka_python_class

from inkless.wire.api import APIS, ApiKey
from inkless.wire.error_codes import RETRIABLE, ErrorCode

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
}


def test_the_served_ranges_are_kafkas():
    assert {api.name: (api.min_version, api.max_version, api.flexible_from) for api in APIS.values()} == RANGES


def test_keys_names_and_messages_belong_together():
    for key, api in APIS.items():
        assert key == api.key
        assert api.request.__name__ == f"{api.name}Request"
        assert api.response.__name__ == f"{api.name}Response"
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
