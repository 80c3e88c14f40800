"""Sizes and headers around messages, against kio's header schemas; and which buffers a frame is made of."""

import io
import struct
from dataclasses import fields

import pytest
from kio.index import load_request_schema, load_response_schema
from kio.schema.request_header.v1.header import RequestHeader as HeaderV1
from kio.schema.request_header.v2.header import RequestHeader as HeaderV2
from kio.serial import entity_writer
from wire_oracles import kafka_python_class

from inkless.wire.api import APIS, ApiKey
from inkless.wire.api_versions import ApiVersionsRequest, ApiVersionsResponse
from inkless.wire.codec import encoder
from inkless.wire.errors import WireError
from inkless.wire.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from inkless.wire.frames import (
    decode_request_header,
    decode_response,
    encode_request,
    encode_response,
)
from inkless.wire.metadata import MetadataRequest, MetadataRequestTopic
from inkless.wire.produce import PartitionProduceData, ProduceRequest, TopicProduceData

SERVED = [(api, version) for api in APIS.values() for version in range(api.min_version, api.max_version + 1)]
of_every_version = pytest.mark.parametrize(
    ("api", "version"), SERVED, ids=[f"{api.name}-v{version}" for api, version in SERVED]
)
PRODUCE = APIS[ApiKey.PRODUCE]
FETCH = APIS[ApiKey.FETCH]
METADATA = APIS[ApiKey.METADATA]
API_VERSIONS = APIS[ApiKey.API_VERSIONS]


def kio_bytes(entity) -> bytes:
    out = io.BytesIO()
    entity_writer(type(entity))(out, entity)
    return out.getvalue()


def kio_request_header(cls, api_key: int, version: int, correlation_id: int, client_id: str | None) -> bytes:
    values = {
        "request_api_key": api_key,
        "request_api_version": version,
        "correlation_id": correlation_id,
        "client_id": client_id,
    }
    return kio_bytes(cls(**{field.name: values[field.name] for field in fields(cls)}))


def some_request(api):
    return MetadataRequest(topics=[MetadataRequestTopic(name="t")]) if api is METADATA else api.request()


@of_every_version
def test_request_headers_are_kios(api, version):
    header_class = load_request_schema(api.key, version).__header_schema__
    body = b"".join(encoder(api.request, version)(some_request(api)))
    for client_id in (None, "", "client-é"):
        header = kio_request_header(header_class, api.key, version, 77, client_id)
        frame = b"".join(encode_request(api, version, 77, client_id, some_request(api)))
        assert frame == struct.pack(">i", len(header) + len(body)) + header + body
        decoded, position = decode_request_header(memoryview(frame)[4:])
        assert position == len(header)
        assert (decoded.api_key, decoded.api_version, decoded.correlation_id) == (api.key, version, 77)
        assert decoded.client_id == client_id


@of_every_version
def test_response_headers_are_kios(api, version):
    header = kio_bytes(load_response_schema(api.key, version).__header_schema__(correlation_id=-5))
    body = b"".join(encoder(api.response, version)(some_response(api)))
    chunks = encode_response(-5, some_response(api), version, api)
    assert chunks == [struct.pack(">i", len(header) + len(body)) + header + body]
    correlation_id, message = decode_response(api, version, memoryview(chunks[0])[4:])
    assert correlation_id == -5
    assert b"".join(encoder(api.response, version)(message)) == body


def some_response(api):
    return api.response()


def test_flexible_versions_are_kios():
    for api, version in SERVED:
        assert api.flexible(version) == load_request_schema(api.key, version).__flexible__, api
        assert api.flexible(version) == load_response_schema(api.key, version).__flexible__, api


def test_kafka_python_reads_our_frames():
    frame = b"".join(encode_response(9, ApiVersionsResponse(throttle_time_ms=3), 3, API_VERSIONS))
    theirs = kafka_python_class("ApiVersionsResponse")[3].decode(frame, header=True, framed=True)
    assert theirs.header.correlation_id == 9
    assert theirs.throttle_time_ms == 3


@pytest.mark.parametrize("header_class", [HeaderV1, HeaderV2])
@pytest.mark.parametrize(("api_key", "version"), [(18, 5), (18, 32767), (0, 99), (58, 0), (999, 0), (-3, -3)])
def test_headers_of_what_is_not_served_are_read_up_to_the_client(header_class, api_key, version):
    header = kio_request_header(header_class, api_key, version, 12, "client")
    decoded, _ = decode_request_header(memoryview(header))
    assert (decoded.api_key, decoded.api_version) == (api_key, version)
    assert (decoded.correlation_id, decoded.client_id) == (12, "client")


def test_tagged_fields_of_a_request_header_are_skipped():
    start = struct.pack(">hhih", 18, 3, 1, -1)
    header, position = decode_request_header(memoryview(start + b"\x02\x00\x01a\x07\x02bc" + b"body"))
    assert header.client_id is None
    assert position == len(start) + 8


@pytest.mark.parametrize("version", [0, 3])
def test_a_request_header_cut_short_is_refused(version):
    header_class = load_request_schema(18, version).__header_schema__
    header = kio_request_header(header_class, 18, version, 1, "client")
    for size in range(len(header)):
        with pytest.raises(WireError):
            decode_request_header(memoryview(header[:size]))


@pytest.mark.parametrize("length", [-2, 7, 32767])
def test_a_client_id_outside_the_frame_is_refused(length):
    with pytest.raises(WireError):
        decode_request_header(memoryview(struct.pack(">hhih", 18, 0, 1, length) + b"client"))


def test_a_client_id_that_is_not_utf_8_is_refused():
    with pytest.raises(WireError):
        decode_request_header(memoryview(struct.pack(">hhih", 18, 0, 1, 1) + b"\xff"))


def test_a_response_cut_short_or_too_long_is_refused():
    frame = encode_response(1, FetchResponse(session_id=4), 12, FETCH)[0][4:]
    for size in range(len(frame)):
        with pytest.raises(WireError):
            decode_response(FETCH, 12, memoryview(frame)[:size])
    with pytest.raises(WireError):
        decode_response(FETCH, 12, memoryview(frame + b"\x00"))


def fetched(*records):
    partitions = [PartitionData(partition_index=i, records=each) for i, each in enumerate(records)]
    return FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=partitions)])


@pytest.mark.parametrize("version", [4, 12, 18])
def test_records_stand_in_the_frame_as_they_are(version):
    one, two, three = b"x" * 5000, bytearray(b"y" * 200), memoryview(b"z" * 20_000)
    chunks = encode_response(1, fetched(one, [two, three], None, b"", []), version, FETCH)
    assert len(chunks) == 6
    assert chunks[1] is one
    assert chunks[3] is two
    assert chunks[4] is three
    (size,) = struct.unpack_from(">i", chunks[0])
    assert size == sum(map(len, chunks)) - 4
    joined = encode_response(1, fetched(one, bytes(two) + bytes(three), None, b"", b""), version, FETCH)
    assert b"".join(chunks) == b"".join(joined)


@pytest.mark.parametrize("version", [4, 12, 18])
def test_a_response_without_records_is_one_buffer(version):
    assert len(encode_response(1, fetched(b"", None, [], [b""]), version, FETCH)) == 1


def test_a_request_keeps_its_records_too():
    batch = memoryview(b"b" * 3000)
    partition = PartitionProduceData(index=1, records=batch)
    request = ProduceRequest(acks=1, topic_data=[TopicProduceData(name="t", partition_data=[partition])])
    chunks = encode_request(PRODUCE, 9, 1, None, request)
    assert chunks[1] is batch


def test_an_empty_message_still_makes_a_frame():
    assert encode_request(API_VERSIONS, 0, 1, None, ApiVersionsRequest()) == [struct.pack(">ihhih", 10, 18, 0, 1, -1)]
