"""The header: its layout against hand-made bytes, a producer's batch checked, batches walked and stamped."""

import struct

import pytest

from inkless.core.errors import ErrorKind
from inkless.records.batch import (
    HEADER,
    BatchError,
    BatchHeader,
    check_produced,
    crc_of,
    read_header,
    spans,
    spans_real,
    stamp,
    stamp_log_append_time,
    stamp_prefix,
    verify_crc,
    walk,
)
from inkless.records.compression import Compression
from inkless.records.record import Record, decode_records, encode_batch

MIB = 1 << 20


def a_batch(count: int = 3, **how: int) -> bytes:
    return encode_batch([Record(i, 1_000 + i, b"key", b"value") for i in range(count)], **how)


def changed(batch: bytes, **fields: int) -> memoryview:
    """The batch with other header fields and, unless it is among them, the checksum made right again."""
    header = read_header(batch)._replace(**fields)
    whole = HEADER.pack(*header) + batch[61:]
    if "crc" not in fields:
        whole = HEADER.pack(*header._replace(crc=crc_of(memoryview(whole)))) + batch[61:]
    return memoryview(whole)


def kind_of(view: memoryview, max_bytes: int = MIB) -> ErrorKind:
    with pytest.raises(BatchError) as caught:
        check_produced(view, max_bytes)
    assert str(caught.value)
    return caught.value.kind


def test_the_fields_lie_where_kafka_puts_them() -> None:
    wire = b"".join(
        (
            struct.pack(">q", 7),
            struct.pack(">i", 49),
            struct.pack(">i", 3),
            b"\x02",
            struct.pack(">I", 0xDEADBEEF),
            struct.pack(">h", 0b111011),
            struct.pack(">i", 9),
            struct.pack(">q", 100),
            struct.pack(">q", 200),
            struct.pack(">q", 55),
            struct.pack(">h", 5),
            struct.pack(">i", 66),
            struct.pack(">i", 10),
        )
    )
    assert len(wire) == 61
    header = read_header(b"xx" + wire, 2)
    assert header == BatchHeader(7, 49, 3, 2, 0xDEADBEEF, 0b111011, 9, 100, 200, 55, 5, 66, 10)
    assert header.size == 61
    assert header.last_offset == 16
    assert header.compression == Compression.LZ4
    assert header.has_log_append_time
    assert header.is_transactional
    assert header.is_control


@pytest.mark.parametrize("codec", list(Compression))
def test_a_producers_batch_is_taken(codec: Compression) -> None:
    batch = a_batch(codec=codec, producer_id=4, producer_epoch=0, base_sequence=0)
    header = check_produced(memoryview(batch), len(batch))
    assert header.record_count == 3
    assert header.compression == codec
    assert header.size == len(batch)


def test_a_transactional_batch_is_only_reported() -> None:
    batch = encode_batch([Record(0, 1)], producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True)
    assert check_produced(memoryview(batch), MIB).is_transactional


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"crc": 1}, ErrorKind.CORRUPT_BATCH),
        ({"length": 48}, ErrorKind.CORRUPT_BATCH),
        ({"length": -1}, ErrorKind.CORRUPT_BATCH),
        ({"length": 2**31 - 1}, ErrorKind.CORRUPT_BATCH),
        ({"length": 60}, ErrorKind.CORRUPT_BATCH),
        ({"magic": 0}, ErrorKind.INVALID_RECORD),
        ({"magic": 1}, ErrorKind.INVALID_RECORD),
        ({"magic": 3}, ErrorKind.INVALID_RECORD),
        ({"magic": -1}, ErrorKind.INVALID_RECORD),
        ({"attributes": 0x08}, ErrorKind.INVALID_TIMESTAMP),
        ({"record_count": 0}, ErrorKind.INVALID_RECORD),
        ({"record_count": 2}, ErrorKind.INVALID_RECORD),
        ({"record_count": 0, "last_offset_delta": -1}, ErrorKind.INVALID_RECORD),
        ({"record_count": -5, "last_offset_delta": -6}, ErrorKind.INVALID_RECORD),
        ({"last_offset_delta": 2**31 - 1}, ErrorKind.INVALID_RECORD),
        ({"attributes": 0x20}, ErrorKind.INVALID_RECORD),
        ({"attributes": 5}, ErrorKind.INVALID_RECORD),
        ({"attributes": 7}, ErrorKind.INVALID_RECORD),
        ({"producer_id": 1, "producer_epoch": 0, "base_sequence": -1}, ErrorKind.INVALID_RECORD),
        ({"producer_id": 1, "producer_epoch": -1, "base_sequence": 0}, ErrorKind.INVALID_RECORD),
    ],
)
def test_what_a_producer_may_not_send(fields: dict[str, int], kind: ErrorKind) -> None:
    assert kind_of(changed(a_batch(), **fields)) is kind


def test_no_batch_and_several_batches_are_invalid() -> None:
    assert kind_of(memoryview(b"")) is ErrorKind.INVALID_RECORD
    assert kind_of(memoryview(a_batch() + a_batch())) is ErrorKind.INVALID_RECORD


def test_bytes_behind_a_batch_are_corrupt() -> None:
    assert kind_of(memoryview(a_batch() + b"x")) is ErrorKind.CORRUPT_BATCH


def test_the_size_limit_counts_the_whole_batch() -> None:
    batch = a_batch()
    assert check_produced(memoryview(batch), len(batch))
    assert kind_of(memoryview(batch), len(batch) - 1) is ErrorKind.BATCH_TOO_LARGE


def test_a_batch_cut_off_at_any_byte_is_refused() -> None:
    batch = memoryview(a_batch())
    for end in range(1, len(batch)):
        assert kind_of(batch[:end]) is ErrorKind.CORRUPT_BATCH


def test_every_flipped_bit_behind_the_leader_epoch_is_found() -> None:
    batch = a_batch()
    for at in (*range(8, 12), *range(16, len(batch))):
        for bit in range(8):
            flipped = bytearray(batch)
            flipped[at] ^= 1 << bit
            assert kind_of(memoryview(flipped)) in (ErrorKind.CORRUPT_BATCH, ErrorKind.INVALID_RECORD)


def test_spans_number_batches_from_a_base() -> None:
    one, two = a_batch(3), a_batch(5)
    assert spans(memoryview(one + two), 100) == [
        (0, len(one), 100, 102),
        (len(one), len(two), 103, 107),
    ]
    assert spans(b"", 100) == []


def test_spans_of_real_offsets_keep_gaps() -> None:
    one = encode_batch([Record(10, 1), Record(14, 1)], base_offset=10)
    two = encode_batch([], base_offset=20, last_offset_delta=3)
    both = memoryview(one + two)
    assert spans_real(both) == [(0, len(one), 10, 14), (len(one), len(two), 20, 23)]
    assert [(position, header.base_offset) for position, header in walk(both)] == [(0, 10), (len(one), 20)]


@pytest.mark.parametrize("read", [lambda v: spans(v, 0), spans_real, lambda v: list(walk(v))])
def test_batches_that_do_not_fit_are_corrupt(read) -> None:
    whole = memoryview(a_batch() + a_batch())
    for end in range(1, len(whole)):
        if end != len(whole) // 2:
            with pytest.raises(BatchError) as caught:
                read(whole[:end])
            assert caught.value.kind is ErrorKind.CORRUPT_BATCH
    for fields in ({"length": 48}, {"length": -2147483648}, {"length": 2147483647}, {"last_offset_delta": -1}):
        with pytest.raises(BatchError):
            read(changed(a_batch(), **fields))


def test_stamping_gives_offset_and_epoch_and_keeps_the_checksum() -> None:
    batch = a_batch()
    buffer = bytearray(b"?" + batch)
    buffer[13:17] = b"\xff\xff\xff\xff"
    stamp(buffer, 1, 1 << 40)
    stamped = memoryview(buffer)[1:]
    assert read_header(stamped)._replace(base_offset=0) == read_header(batch)
    assert read_header(stamped).base_offset == 1 << 40
    assert verify_crc(stamped)
    assert stamp_prefix(1 << 40, read_header(batch).length) == bytes(stamped[:16])
    assert [record.offset for record in decode_records(stamped, MIB)] == [1 << 40, (1 << 40) + 1, (1 << 40) + 2]


def test_log_append_time_is_one_time_for_all_records() -> None:
    batch = a_batch()
    buffer = bytearray(batch + batch)
    stamp_log_append_time(buffer, len(batch), 5_555)
    assert buffer[: len(batch)] == batch
    view = memoryview(buffer)[len(batch) :]
    assert verify_crc(view)
    assert read_header(view).has_log_append_time
    assert [record.timestamp for record in decode_records(view, MIB)] == [5_555] * 3


def test_a_wrong_checksum_is_seen() -> None:
    assert verify_crc(memoryview(a_batch()))
    assert not verify_crc(changed(a_batch(), crc=0))


def test_a_header_needs_its_61_bytes() -> None:
    for position in (-1, len(a_batch()) - 60, 10_000):
        with pytest.raises(BatchError):
            read_header(a_batch(), position)
