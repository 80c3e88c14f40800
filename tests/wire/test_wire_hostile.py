"""Bytes that no honest client sends: they are refused with WireError, and nothing large is made from them."""

import contextlib
import random
import struct
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wire_oracles import CASES, draw_tree, kio_encode

from inkless.wire.api import APIS, ApiKey
from inkless.wire.api_versions import ApiVersionsRequest, ApiVersionsResponse
from inkless.wire.codec import decoder
from inkless.wire.describe_topic_partitions import DescribeTopicPartitionsRequest
from inkless.wire.errors import WireError
from inkless.wire.fetch import FetchRequest, FetchResponse
from inkless.wire.find_coordinator import FindCoordinatorRequest
from inkless.wire.frames import decode_request_header
from inkless.wire.list_config_resources import ListConfigResourcesRequest
from inkless.wire.list_transactions import ListTransactionsRequest
from inkless.wire.metadata import MetadataRequest
from inkless.wire.offset_fetch import OffsetFetchRequest
from inkless.wire.primitives import encode_uvarint
from inkless.wire.produce import ProduceRequest
from inkless.wire.sasl_authenticate import SaslAuthenticateRequest

MUTATIONS = 60
TRUNCATIONS = 150


def decode(cls, version: int, data: bytes):
    return decoder(cls, version)(memoryview(data), 0)[0]


def refused(cls, version: int, data: bytes) -> str:
    with pytest.raises(WireError) as caught:
        decode(cls, version, data)
    return str(caught.value)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_message_cut_short_is_refused(case):
    rng = random.Random(f"cut {case}")
    encoded = kio_encode(case, draw_tree(case.theirs, rng, small=True))
    cuts = range(len(encoded))
    for size in cuts if len(encoded) <= TRUNCATIONS else rng.sample(cuts, TRUNCATIONS):
        refused(case.ours, case.version, encoded[:size])


def test_one_large_message_cut_at_every_byte_is_refused():
    case = next(case for case in CASES if case.name == "FetchResponse" and case.version == 18)
    rng = random.Random(1)
    encoded = max((kio_encode(case, draw_tree(case.theirs, rng, small=True)) for _ in range(20)), key=len)
    assert len(encoded) > 500
    for size in range(len(encoded)):
        refused(case.ours, case.version, encoded[:size])


@pytest.mark.parametrize("case", CASES, ids=str)
def test_damaged_bytes_decode_or_are_refused(case):
    rng = random.Random(f"damage {case}")
    encoded = kio_encode(case, draw_tree(case.theirs, rng, small=True))
    for _ in range(MUTATIONS):
        damaged = bytearray(encoded or b"\0")
        for _ in range(rng.randint(1, 4)):
            damaged[rng.randrange(len(damaged))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        only_refuses(case.ours, case.version, bytes(damaged))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_random_bytes_decode_or_are_refused(case):
    rng = random.Random(f"noise {case}")
    for _ in range(MUTATIONS):
        only_refuses(case.ours, case.version, rng.randbytes(rng.randrange(80)))


@settings(max_examples=300, deadline=None)
@given(case=st.sampled_from(CASES), data=st.binary(max_size=200))
def test_any_bytes_decode_or_are_refused(case, data):
    only_refuses(case.ours, case.version, data)


def only_refuses(cls, version: int, data: bytes) -> None:
    with contextlib.suppress(WireError):
        decode(cls, version, data)


@settings(max_examples=300, deadline=None)
@given(data=st.binary(max_size=60))
def test_any_bytes_are_a_request_header_or_refused(data):
    try:
        header, position = decode_request_header(memoryview(data))
    except WireError:
        return
    assert position <= len(data)
    assert struct.unpack_from(">hhi", data) == (header.api_key, header.api_version, header.correlation_id)


HUGE = 2**31 - 1
HUGE_VARINT = b"\xff\xff\xff\xff\x0f"


@pytest.mark.parametrize(
    ("cls", "version", "data"),
    [
        pytest.param(MetadataRequest, 1, struct.pack(">i", HUGE), id="array"),
        pytest.param(MetadataRequest, 1, struct.pack(">i", HUGE) + bytes(1000), id="array with some bytes"),
        pytest.param(MetadataRequest, 1, struct.pack(">i", -2), id="array below null"),
        pytest.param(MetadataRequest, 9, HUGE_VARINT + bytes(1000), id="compact array"),
        pytest.param(ProduceRequest, 3, struct.pack(">hhii", -1, 1, 1, HUGE), id="nested array"),
        pytest.param(FindCoordinatorRequest, 4, b"\0" + HUGE_VARINT + bytes(1000), id="string array"),
        pytest.param(ListConfigResourcesRequest, 1, HUGE_VARINT + bytes(1000), id="int8 array"),
        pytest.param(ListTransactionsRequest, 0, b"\x01" + HUGE_VARINT + bytes(1000), id="int64 array"),
        pytest.param(SaslAuthenticateRequest, 0, struct.pack(">i", HUGE) + bytes(1000), id="bytes"),
        pytest.param(SaslAuthenticateRequest, 2, HUGE_VARINT + bytes(1000), id="compact bytes"),
        pytest.param(FindCoordinatorRequest, 0, struct.pack(">h", 0x7FFF), id="string"),
        pytest.param(FindCoordinatorRequest, 0, struct.pack(">h", -2), id="string below null"),
        pytest.param(FindCoordinatorRequest, 3, HUGE_VARINT + bytes(1000), id="compact string"),
        pytest.param(
            ProduceRequest,
            3,
            struct.pack(">hhiihiii", -1, 1, 1, 1, 0, 1, 0, HUGE) + bytes(1000),
            id="records",
        ),
        pytest.param(ProduceRequest, 3, struct.pack(">hhiihiii", -1, 1, 1, 1, 0, 1, 0, -2), id="records below null"),
        pytest.param(
            FetchRequest,
            7,
            struct.pack(">iiiibiiii", -1, 0, 0, 0, 0, 0, 0, 0, 1) + struct.pack(">hi", 0, HUGE) + bytes(1000),
            id="integer array",
        ),
        pytest.param(ApiVersionsRequest, 3, b"\x01\x01" + HUGE_VARINT + bytes(1000), id="tagged fields"),
        pytest.param(ApiVersionsRequest, 3, b"\x01\x01\x01\x63" + HUGE_VARINT + bytes(1000), id="tagged field"),
    ],
)
def test_huge_lengths_are_refused_before_anything_is_made(cls, version, data):
    decoder(cls, version)  # compiled outside the measurement
    tracemalloc.start()
    try:
        refused(cls, version, data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100_000


def test_a_count_is_held_against_the_least_size_of_its_elements():
    # 300 topics of at least 2 bytes can't lie in 400 bytes, though the count itself is below 400.
    assert "count" in refused(MetadataRequest, 1, struct.pack(">i", 300) + bytes(400))


@pytest.mark.parametrize(
    "varint",
    [b"\x80\x80\x80\x80\x80\x01", b"\xff\xff\xff\xff\x10", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"],
)
def test_a_varint_of_more_than_32_bits_is_refused(varint):
    assert "varint" in refused(MetadataRequest, 9, varint + bytes(1000))
    assert "varint" in refused(ApiVersionsRequest, 3, b"\x01\x01" + varint + bytes(1000))


@pytest.mark.parametrize(
    ("cls", "version", "data"),
    [
        pytest.param(ProduceRequest, 3, struct.pack(">hhii", -1, 1, 1, -1), id="array"),
        pytest.param(ProduceRequest, 9, b"\0" + struct.pack(">hi", 1, 1) + b"\0\0", id="compact array"),
        pytest.param(MetadataRequest, 0, struct.pack(">i", -1), id="array not nullable yet"),
        pytest.param(FindCoordinatorRequest, 0, struct.pack(">h", -1), id="string"),
        pytest.param(FindCoordinatorRequest, 3, b"\0\0\0", id="compact string"),
        pytest.param(SaslAuthenticateRequest, 0, struct.pack(">i", -1), id="bytes"),
        pytest.param(SaslAuthenticateRequest, 2, b"\0\0", id="compact bytes"),
        pytest.param(ListTransactionsRequest, 0, b"\x01\0\0", id="compact int64 array"),
        pytest.param(OffsetFetchRequest, 1, struct.pack(">hi", 0, -1), id="second array not nullable yet"),
        pytest.param(FindCoordinatorRequest, 4, b"\0\x02\0\0", id="compact string in an array"),
        pytest.param(ApiVersionsResponse, 3, b"\0\0\x01" + bytes(4) + b"\x01\x00\x01\x00", id="tagged array"),
    ],
)
def test_null_where_none_is_allowed_is_refused(cls, version, data):
    refused(cls, version, data)


def test_text_that_is_not_utf_8_is_refused():
    refused(FindCoordinatorRequest, 0, b"\x00\x02\xff\xfe")
    refused(FindCoordinatorRequest, 3, b"\x03\xff\xfe\x00\x00")


def test_a_nullable_struct_is_null_or_there():
    start = b"\x01" + struct.pack(">i", 7)
    there = decode(DescribeTopicPartitionsRequest, 0, start + b"\x01\x02t\x00\x00\x00\x05\x00\x00")
    assert there.cursor.topic_name == "t"
    assert there.cursor.partition_index == 5
    assert decode(DescribeTopicPartitionsRequest, 0, start + b"\xff\x00").cursor is None


def test_unknown_tagged_fields_are_skipped():
    body = b"\x02a\x02b"
    unknown = b"\x03" + b"\x00\x01x" + b"\x63\x00" + b"\xff\xff\xff\xff\x0f\x02yz"
    assert decode(ApiVersionsRequest, 3, body + unknown) == decode(ApiVersionsRequest, 3, body + b"\x00")
    start = b"\x00\x00" + b"\x01" + bytes(4)
    known_among_unknown = b"\x03" + b"\x01" + b"\x08" + struct.pack(">q", 9) + b"\x21\x01?" + b"\x22\x02!!"
    assert decode(ApiVersionsResponse, 3, start + known_among_unknown).finalized_features_epoch == 9


def test_tags_out_of_order_or_twice_are_tolerated_and_the_last_holds():
    start = b"\x00\x00" + b"\x01" + bytes(4)
    tags = b"\x03" + b"\x03\x01\x01" + b"\x01\x08" + struct.pack(">q", 9) + b"\x01\x08" + struct.pack(">q", 10)
    response = decode(ApiVersionsResponse, 3, start + tags)
    assert response.finalized_features_epoch == 10
    assert response.zk_migration_ready is True


@pytest.mark.parametrize("size", [7, 9])
def test_a_tagged_field_of_another_size_than_its_value_is_refused(size):
    start = b"\x00\x00" + b"\x01" + bytes(4)
    assert "tag" in refused(ApiVersionsResponse, 3, start + b"\x01\x01" + bytes((size,)) + bytes(20))


def test_the_densest_frame_costs_a_bounded_multiple_of_its_bytes():
    """Topics of three bytes each: no name, no partitions, no tagged fields."""
    count = 10_000
    body = bytes(25) + encode_uvarint(count + 1) + b"\x01\x01\x00" * count + b"\x01\x01\x00"
    decoder(FetchRequest, 12)  # compiled outside the measurement
    tracemalloc.start()
    try:
        request = decode(FetchRequest, 12, body)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(request.topics) == count
    assert peak < 64 * len(body)


def test_records_are_views_of_the_frame():
    frame = bytearray(struct.pack(">hhiihiii", -1, 1, 1, 1, 0, 1, 0, 4) + b"1234")
    request = decode(ProduceRequest, 3, frame)
    found = request.topic_data[0].partition_data[0].records
    assert isinstance(found, memoryview)
    frame[-4:] = b"5678"
    assert bytes(found) == b"5678"


def test_every_decoder_survives_a_wrong_version():
    """What a client sends under a version number that is not its own."""
    rng = random.Random(7)
    newest = {case.name: case for case in CASES}
    for case in CASES:
        other = newest[case.name]
        only_refuses(case.ours, case.version, kio_encode(other, draw_tree(other.theirs, rng, small=True)))
    assert newest["FetchResponse"].ours is FetchResponse
    assert APIS[ApiKey.FETCH].max_version == newest["FetchResponse"].version
