"""How shapes are declared and read, and values that random messages don't reach."""

import io
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.sasl_authenticate.v0 import response as sasl_v0
from kio.schema.sasl_authenticate.v2 import response as sasl_v2
from kio.serial import entity_writer
from kio.serial.writers import write_unsigned_varint

from inkless.wire.codec import decoder, encoder
from inkless.wire.consumer_group_describe import Member
from inkless.wire.describe_client_quotas import DescribeClientQuotasResponse, EntryData, ValueData
from inkless.wire.fetch import PartitionData
from inkless.wire.join_group import JoinGroupResponse
from inkless.wire.offset_fetch import OffsetFetchRequest
from inkless.wire.primitives import decode_uvarint, encode_uvarint
from inkless.wire.sasl_authenticate import SaslAuthenticateResponse
from inkless.wire.shape import parse_versions


@pytest.mark.parametrize("size", [0, 1, 126, 127, 16_383, 70_000])
@pytest.mark.parametrize(("version", "module"), [(0, sasl_v0), (2, sasl_v2)])
def test_bytes_fields_are_kios(version, module, size):
    out = io.BytesIO()
    theirs = module.SaslAuthenticateResponse
    lifetime = {} if version == 0 else {"session_lifetime": 0 * module.i64Timedelta.resolution}
    entity_writer(theirs)(
        out,
        theirs(error_code=module.ErrorCode.none, error_message=None, auth_bytes=b"s" * size, **lifetime),
    )
    ours = SaslAuthenticateResponse(auth_bytes=b"s" * size)
    assert b"".join(encoder(SaslAuthenticateResponse, version)(ours)) == out.getvalue()
    decoded, _ = decoder(SaslAuthenticateResponse, version)(memoryview(out.getvalue()), 0)
    assert decoded == ours
    assert isinstance(decoded.auth_bytes, bytes)


@given(st.integers(min_value=0, max_value=2**32 - 1))
def test_varints_are_kios(value):
    out = io.BytesIO()
    write_unsigned_varint(out, value)
    assert encode_uvarint(value) == out.getvalue()
    assert decode_uvarint(memoryview(b"?" + out.getvalue() + b"?"), 1) == (value, 1 + len(out.getvalue()))


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [("0+", [0, 1, 99], [-1]), ("3-12", [3, 12], [2, 13]), ("7", [7], [6, 8]), ("10+", [10, 32767], [9])],
)
def test_versions_are_read_as_kafka_writes_them(text, inside, outside):
    versions = parse_versions(text)
    assert all(version in versions for version in inside)
    assert not any(version in versions for version in outside)


def test_messages_are_slotted_and_keep_their_lists_apart():
    one, two = PartitionData(), PartitionData()
    assert not hasattr(one, "__dict__")
    assert one == two
    with pytest.raises(AttributeError):
        one.partition = 1
    with pytest.raises(TypeError):
        PartitionData(1)


def test_functions_are_compiled_once():
    assert decoder(SaslAuthenticateResponse, 1) is decoder(SaslAuthenticateResponse, 1)
    assert encoder(SaslAuthenticateResponse, 1) is encoder(SaslAuthenticateResponse, 1)


def test_inner_structs_are_there_from_the_start_and_kept_apart():
    one, two = Member(), Member()
    assert one == two
    assert one.assignment is not one.target_assignment
    assert one.assignment is not two.assignment


@pytest.mark.parametrize("version", [0, 1])
def test_a_quota_that_is_not_a_number_stays_one(version):
    entry = EntryData(values=[ValueData(key="k", value=math.nan)])
    encoded = b"".join(encoder(DescribeClientQuotasResponse, version)(DescribeClientQuotasResponse(entries=[entry])))
    decoded, _ = decoder(DescribeClientQuotasResponse, version)(memoryview(encoded), 0)
    assert math.isnan(decoded.entries[0].values[0].value)


def test_defaults_can_be_sent_in_versions_without_null():
    assert b"".join(encoder(OffsetFetchRequest, 1)(OffsetFetchRequest())) == bytes(6)
    assert JoinGroupResponse().protocol_name == ""
    assert OffsetFetchRequest().topics is not OffsetFetchRequest().topics
