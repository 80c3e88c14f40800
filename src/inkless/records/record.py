"""Records one by one: for the command line, lookups by time, jobs and tests; never on the way of a produce."""

from collections.abc import Sequence
from dataclasses import dataclass

from inkless.core.errors import ErrorKind
from inkless.records.batch import (
    COMPRESSION_MASK,
    CONTROL_BIT,
    HEADER,
    HEADER_BYTES,
    LENGTH_END,
    LOG_APPEND_TIME_BIT,
    MAGIC,
    TRANSACTIONAL_BIT,
    BatchError,
    BatchHeader,
    crc_of,
    read_header,
)
from inkless.records.compression import Compression, compress, decompress

NO_TIMESTAMP = -1
NO_PRODUCER = -1

_LEAST_RECORD_BYTES = 7  # length, attributes, two deltas, two lengths, header count
_LEAST_HEADER_BYTES = 2
_INT_BITS = 32
_LONG_BITS = 64


@dataclass(frozen=True, slots=True)
class Record:
    """One record; a header's name that is not UTF-8 keeps its bytes as lone surrogates (PEP 383)."""

    offset: int
    timestamp: int
    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()


def decode_records(batch: memoryview, max_bytes: int) -> list[Record]:
    """The records of one batch, control batches included; `max_bytes` bounds them when unpacked."""
    header = check_batch(batch)
    if header.compression > max(Compression):
        raise _corrupt(f"compression {header.compression} is unknown")
    data = decompress(Compression(header.compression), batch[HEADER_BYTES:], max_bytes)
    if not 0 <= header.record_count * _LEAST_RECORD_BYTES <= len(data):
        raise _corrupt(f"{header.record_count} records in {len(data)} bytes")
    reader = _Reader(data)
    records = []
    least_delta = 0
    for _ in range(header.record_count):
        record, delta = reader.record(header)
        if not least_delta <= delta <= header.last_offset_delta:
            raise _corrupt(f"offset delta {delta} outside of {least_delta} to {header.last_offset_delta}")
        least_delta = delta + 1
        records.append(record)
    if reader.position != len(data):
        raise _corrupt(f"{len(data) - reader.position} bytes behind the last record")
    return records


def check_batch(batch: memoryview) -> BatchHeader:
    """The header of a view that is exactly one batch of format 2 with a right checksum."""
    header = read_header(batch)
    if header.magic != MAGIC:
        raise _corrupt(f"a batch of format {header.magic}, only format {MAGIC} is known")
    if header.size != len(batch):
        raise _corrupt(f"a batch says {header.size} bytes, {len(batch)} are there")
    if crc_of(batch) != header.crc:
        raise _corrupt(f"the checksum of the batch at offset {header.base_offset} is wrong")
    return header


def encode_batch(
    records: Sequence[Record],
    *,
    codec: Compression = Compression.NONE,
    producer_id: int = NO_PRODUCER,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    base_offset: int = 0,
    last_offset_delta: int | None = None,
    base_timestamp: int | None = None,
    append_time: int | None = None,
    is_transactional: bool = False,
    is_control: bool = False,
) -> bytes:
    """A whole batch with a right checksum.

    A record's delta is its offset less `base_offset`, so a producer numbers its records from 0. `append_time` makes
    it a batch of LogAppendTime. A compacted batch keeps its `last_offset_delta` beyond its last record.
    """
    if base_timestamp is None:
        base_timestamp = records[0].timestamp if records else NO_TIMESTAMP
    if last_offset_delta is None:
        last_offset_delta = records[-1].offset - base_offset
    attributes = codec & COMPRESSION_MASK
    attributes |= TRANSACTIONAL_BIT if is_transactional else 0
    attributes |= CONTROL_BIT if is_control else 0
    max_timestamp = max((record.timestamp for record in records), default=NO_TIMESTAMP)
    if append_time is not None:
        attributes |= LOG_APPEND_TIME_BIT
        max_timestamp = append_time
    data = compress(codec, _encode_records(records, base_offset, base_timestamp))
    header = BatchHeader(
        base_offset=base_offset,
        length=HEADER_BYTES - LENGTH_END + len(data),
        leader_epoch=0,
        magic=MAGIC,
        crc=0,
        attributes=attributes,
        last_offset_delta=last_offset_delta,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        record_count=len(records),
    )
    batch = HEADER.pack(*header) + data
    return HEADER.pack(*header._replace(crc=crc_of(memoryview(batch)))) + data


def _encode_records(records: Sequence[Record], base_offset: int, base_timestamp: int) -> bytearray:
    out = bytearray()
    for record in records:
        body = bytearray(1)  # attributes, unused
        _write_varint(body, record.timestamp - base_timestamp)
        _write_varint(body, record.offset - base_offset)
        _write_bytes(body, record.key)
        _write_bytes(body, record.value)
        _write_varint(body, len(record.headers))
        for name, value in record.headers:
            _write_bytes(body, name.encode("utf-8", "surrogateescape"))
            _write_bytes(body, value)
        _write_varint(out, len(body))
        out += body
    return out


def _write_varint(out: bytearray, value: int) -> None:
    """Zigzag, so that small negative numbers stay short."""
    value = value << 1 if value >= 0 else (-value << 1) - 1
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def _write_bytes(out: bytearray, value: bytes | None) -> None:
    if value is None:
        _write_varint(out, -1)
    else:
        _write_varint(out, len(value))
        out += value


class _Reader:
    """Reads records off unpacked bytes; every length is checked against what is left."""

    __slots__ = ("_data", "position")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.position = 0

    def record(self, header: BatchHeader) -> tuple[Record, int]:
        """The next record, and its offset delta."""
        length = self._varint(_INT_BITS)
        end = self.position + length
        if length < 0 or end > len(self._data):
            raise _corrupt(f"a record says {length} bytes, {len(self._data) - self.position} are there")
        self.position += 1  # attributes, unused
        timestamp = header.base_timestamp + self._varint(_LONG_BITS)
        delta = self._varint(_INT_BITS)
        key = self._nullable_bytes()
        value = self._nullable_bytes()
        headers = self._headers()
        if self.position != end:
            raise _corrupt(f"a record of {length} bytes ends {abs(self.position - end)} bytes off")
        if header.has_log_append_time:
            timestamp = header.max_timestamp
        return Record(header.base_offset + delta, timestamp, key, value, headers), delta

    def _headers(self) -> tuple[tuple[str, bytes | None], ...]:
        count = self._varint(_INT_BITS)
        if not 0 <= count * _LEAST_HEADER_BYTES <= len(self._data) - self.position:
            raise _corrupt(f"{count} headers in {len(self._data) - self.position} bytes")
        return tuple([(self._header_name(), self._nullable_bytes()) for _ in range(count)])

    def _header_name(self) -> str:
        name = self._nullable_bytes()
        if name is None:
            raise _corrupt("a header has no name")
        return name.decode("utf-8", "surrogateescape")

    def _nullable_bytes(self) -> bytes | None:
        length = self._varint(_INT_BITS)
        if length == -1:
            return None
        start = self.position
        if length < 0 or length > len(self._data) - start:
            raise _corrupt(f"a field says {length} bytes, {len(self._data) - start} are there")
        self.position = start + length
        return self._data[start : self.position]

    def _varint(self, bits: int) -> int:
        value = shift = 0
        for byte in self._data[self.position : self.position + bits // 7 + 1]:
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                if value >> bits:
                    break
                self.position += shift // 7
                return value >> 1 ^ -(value & 1)
        raise _corrupt(f"no number of {bits} bits at {self.position}")


def _corrupt(message: str) -> BatchError:
    return BatchError(ErrorKind.CORRUPT_BATCH, message)
