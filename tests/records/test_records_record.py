"""Records: round trips, two other clients' builders and readers as oracles, and hostile bytes."""

from contextlib import suppress

import pytest
from aiokafka.record.default_records import DefaultRecordBatch as AiokafkaBatch
from aiokafka.record.default_records import DefaultRecordBatchBuilder as AiokafkaBuilder
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatch as KafkaPythonBatch
from kafka.record.default_records import DefaultRecordBatchBuilder as KafkaPythonBuilder

from inkless.core.errors import ErrorKind
from inkless.records.batch import HEADER, BatchError, check_produced, crc_of, read_header
from inkless.records.compression import Compression, compress
from inkless.records.record import Record, decode_records, encode_batch

MIB = 1 << 20
OTHERS = {
    "kafka-python": (KafkaPythonBuilder, KafkaPythonBatch),
    "aiokafka": (AiokafkaBuilder, AiokafkaBatch),
}

SAMPLE = [
    Record(0, 1_700_000_000_000, b"key", b"value" * 300, (("trace", b"abc"), ("empty", None), ("", b""))),
    Record(1, 1_700_000_000_500, None, b""),
    Record(2, 1_699_999_999_000, b"", None, (("größe", b"\xff\x00"),)),
    Record(3, 1_700_000_123_456, b"k" * 200, bytes(100_000)),
]

optional_bytes = st.none() | st.binary(max_size=200)
header_names = st.binary(max_size=20).map(lambda raw: raw.decode("utf-8", "surrogateescape"))


@st.composite
def record_lists(draw: st.DrawFn) -> list[Record]:
    offset = 0
    records = []
    for _ in range(draw(st.integers(1, 12))):
        records.append(
            Record(
                offset,
                draw(st.integers(-1, 2**62)),
                draw(optional_bytes),
                draw(optional_bytes),
                tuple(draw(st.lists(st.tuples(header_names, optional_bytes), max_size=4))),
            )
        )
        offset += draw(st.integers(1, 3))
    return records


def with_records(data: bytes, count: int, last_delta: int | None = None, attributes: int = 0) -> memoryview:
    """A batch of any bytes as its records, with a right checksum."""
    header = read_header(encode_batch([Record(0, 0)]))._replace(
        length=49 + len(data),
        record_count=count,
        last_offset_delta=count - 1 if last_delta is None else last_delta,
        attributes=attributes,
    )
    crc = crc_of(memoryview(HEADER.pack(*header) + data))
    return memoryview(HEADER.pack(*header._replace(crc=crc)) + data)


@given(record_lists(), st.sampled_from(list(Compression)), st.integers(0, 2**40))
@settings(max_examples=150, deadline=None)
def test_records_come_back_as_they_were(records: list[Record], codec: Compression, base: int) -> None:
    batch = memoryview(encode_batch(records, codec=codec))
    assert decode_records(batch, MIB) == records
    header = read_header(batch)
    assert header.max_timestamp == max(record.timestamp for record in records)
    assert header.last_offset == records[-1].offset


def test_a_producers_fields_are_kept() -> None:
    batch = encode_batch(SAMPLE, producer_id=9, producer_epoch=3, base_sequence=77, is_transactional=True)
    header = check_produced(memoryview(batch), MIB)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (9, 3, 77)
    assert header.is_transactional
    assert header.base_timestamp == SAMPLE[0].timestamp


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("codec", list(Compression))
def test_batches_of_other_clients_decode(other: str, codec: Compression) -> None:
    builder = OTHERS[other][0](
        magic=2,
        compression_type=int(codec),
        is_transactional=0,
        producer_id=5,
        producer_epoch=2,
        base_sequence=40,
        batch_size=10 * MIB,
    )
    for record in SAMPLE:
        builder.append(record.offset, record.timestamp, record.key, record.value, list(record.headers))
    batch = memoryview(bytes(builder.build()))
    header = check_produced(batch, MIB)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (5, 2, 40)
    assert header.compression == codec
    assert decode_records(batch, MIB) == SAMPLE


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("codec", list(Compression))
def test_other_clients_decode_our_batches(other: str, codec: Compression) -> None:
    theirs = OTHERS[other][1](encode_batch(SAMPLE, codec=codec))
    assert theirs.validate_crc()
    assert [
        Record(r.offset, r.timestamp, r.key, r.value, tuple((name, value) for name, value in r.headers))
        for r in theirs
    ] == SAMPLE


def test_uncompressed_bytes_equal_other_clients() -> None:
    for make, _ in OTHERS.values():
        builder = make(
            magic=2,
            compression_type=0,
            is_transactional=0,
            producer_id=-1,
            producer_epoch=-1,
            base_sequence=-1,
            batch_size=10 * MIB,
        )
        for record in SAMPLE:
            builder.append(record.offset, record.timestamp, record.key, record.value, list(record.headers))
        theirs = bytes(builder.build())
        assert encode_batch(SAMPLE)[16:] == theirs[16:]  # they differ in the leader epoch, -1 there


def test_log_append_time_replaces_the_records_times() -> None:
    batch = memoryview(encode_batch(SAMPLE, append_time=42))
    assert {record.timestamp for record in decode_records(batch, MIB)} == {42}
    assert KafkaPythonBatch(bytes(batch)).timestamp_type == 1


def test_a_compacted_batch_keeps_its_range() -> None:
    batch = memoryview(encode_batch([Record(102, 5, b"k")], base_offset=100, last_offset_delta=9))
    assert read_header(batch).last_offset == 109
    assert decode_records(batch, MIB) == [Record(102, 5, b"k")]
    assert decode_records(memoryview(encode_batch([], base_offset=100, last_offset_delta=9)), MIB) == []


@pytest.mark.parametrize("codec", list(Compression))
def test_records_are_bounded_when_unpacked(codec: Compression) -> None:
    batch = memoryview(encode_batch([Record(0, 0, None, bytes(100_000))], codec=codec))
    assert len(decode_records(batch, 100_100)) == 1
    with pytest.raises(BatchError) as caught:
        decode_records(batch, 100_000)
    assert caught.value.kind is ErrorKind.BATCH_TOO_LARGE


@pytest.mark.parametrize("codec", list(Compression))
def test_a_batch_cut_off_at_any_byte_does_not_decode(codec: Compression) -> None:
    batch = memoryview(encode_batch(SAMPLE[:3], codec=codec))
    for end in range(len(batch)):
        with pytest.raises(BatchError):
            decode_records(batch[:end], MIB)


@pytest.mark.parametrize("codec", list(Compression))
def test_records_cut_off_at_any_byte_do_not_decode(codec: Compression) -> None:
    data = encode_batch(SAMPLE[:3])[61:]
    for end in range(len(data)):
        with pytest.raises(BatchError):
            decode_records(with_records(compress(codec, data[:end]), 3, attributes=codec), MIB)


@pytest.mark.parametrize(
    ("data", "count"),
    [
        (b"", 1),
        (b"", 2**31 - 1),
        (b"", -1),
        (b"\x0c\0\0\0\x01\x01\0" + b"x", 1),  # a byte behind the last record
        (b"\x0a\0\0\0\x01\x01\0", 1),  # a record's length too small
        (b"\x0e\0\0\0\x01\x01\0", 1),  # too large
        (b"\x01\0\0\0\x01\x01\0", 1),  # negative
        (b"\x0c\0\0\0\x03\x01\0", 1),  # a key of length -2
        (b"\x0c\0\0\0\x7f\x01\0", 1),
        (b"\x0c\0\0\0\x01\x01\x01", 1),  # -1 headers
        (b"\x0c\0\0\0\x01\x01\x7e", 1),  # 63 headers
        (b"\x10\0\0\0\x01\x01\x02\x01\x01", 1),  # a header without a name
        (b"\x0c\0\0\x02\x01\x01\0", 1),  # offset delta 1 of 1 record
        (b"\x0c\0\0\x01\x01\x01\0", 1),  # offset delta -1
        (b"\x0c\0\0\0\x01\x01\0" * 2, 2),  # the same offset twice
        (b"\xff" * 20, 1),  # a number without an end
        (b"\xff\xff\xff\xff\x7f" + b"\0" * 20, 1),  # a number of more than 32 bits
    ],
)
def test_hostile_records(data: bytes, count: int) -> None:
    with pytest.raises(BatchError) as caught:
        decode_records(with_records(data, count), MIB)
    assert caught.value.kind is ErrorKind.CORRUPT_BATCH


def test_the_least_record_is_taken() -> None:
    assert decode_records(with_records(b"\x0c\0\0\0\x01\x01\0", 1), MIB) == [Record(0, 0)]


@given(st.binary(max_size=120), st.integers(-3, 40), st.integers(-1, 40), st.integers(0, 7))
@settings(max_examples=400, deadline=None)
def test_rubbish_raises_batch_errors_only(data: bytes, count: int, last_delta: int, attributes: int) -> None:
    with suppress(BatchError):
        decode_records(with_records(data, count, last_delta, attributes), MIB)


def test_unknown_formats_and_codecs() -> None:
    with pytest.raises(BatchError):
        decode_records(with_records(b"", 0, attributes=6), MIB)
    old = bytearray(encode_batch(SAMPLE))
    old[16] = 1
    with pytest.raises(BatchError):
        decode_records(memoryview(old), MIB)
