"""Record batch bytes as the broker sees them: the 61-byte v2 header, its checks, and stamping offsets into it.

Base offset, length and leader epoch lie before the CRC, so a batch gets its offset without a new checksum. Python
runs here once per batch and never per record.
"""

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple, TypeAlias

from crc32c import crc32c

from inkless.core.errors import ErrorKind, InklessError

Buffer: TypeAlias = bytes | bytearray | memoryview

HEADER = Struct(">qiibIhiqqqhii")
HEADER_BYTES = HEADER.size
LENGTH_END = 12  # the length field counts what follows it
MAGIC = 2

COMPRESSION_MASK = 0x07
LOG_APPEND_TIME_BIT = 0x08
TRANSACTIONAL_BIT = 0x10
CONTROL_BIT = 0x20

_MAGIC_AT = 16
_ATTRIBUTES_AT = 21
_LAST_COMPRESSION = 4
_PREFIX = Struct(">qii")
_OFFSET = Struct(">q")
_CRC_AND_ATTRIBUTES = Struct(">Ih")
_CRC_AT = 17
_MAX_TIMESTAMP_AT = 35
_SPAN = Struct(">8xi11xi")  # length and last offset delta
_REAL_SPAN = Struct(">qi11xi")  # base offset too


class BatchError(InklessError):
    """Bytes that are no batch that this system takes; the kind says how a client is told."""

    def __init__(self, kind: ErrorKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class BatchHeader(NamedTuple):
    """The header's fields in their order on the wire; `length` counts what follows the length field."""

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size(self) -> int:
        return self.length + LENGTH_END

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def compression(self) -> int:
        return self.attributes & COMPRESSION_MASK

    @property
    def has_log_append_time(self) -> bool:
        return self.attributes & LOG_APPEND_TIME_BIT != 0

    @property
    def is_transactional(self) -> bool:
        return self.attributes & TRANSACTIONAL_BIT != 0

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL_BIT != 0


class Span(NamedTuple):
    """Where a batch lies in a buffer, and the offsets that it holds."""

    position: int
    size: int
    base_offset: int
    last_offset: int


def read_header(view: Buffer, position: int = 0) -> BatchHeader:
    """The fields as they stand; only their being there is checked."""
    if position < 0 or len(view) - position < HEADER_BYTES:
        raise _corrupt(f"{len(view) - position} bytes at {position} are too few for a batch header")
    return BatchHeader._make(HEADER.unpack_from(view, position))


def check_produced(view: memoryview, max_bytes: int) -> BatchHeader:
    """Check what a producer sent for one partition, in the order in which Kafka does; records stay unread.

    Transactions are only reported by the header: the caller decides.
    """
    size = len(view)
    if size < HEADER_BYTES or view[_MAGIC_AT] != MAGIC:
        raise _not_a_batch(view)
    header = BatchHeader._make(HEADER.unpack_from(view))
    (_, length, _, _, crc, attributes, last_delta, _, _, producer_id, epoch, sequence, count) = header
    if length + LENGTH_END != size:
        raise _wrong_length(view, length)
    if size > max_bytes:
        raise BatchError(ErrorKind.BATCH_TOO_LARGE, f"a batch of {size} bytes, the limit is {max_bytes}")
    if crc32c(view[_ATTRIBUTES_AT:]) != crc:
        raise _corrupt(f"the checksum of a batch of {size} bytes is wrong")
    if (
        count != last_delta + 1
        or count < 1
        or attributes & CONTROL_BIT
        or attributes & COMPRESSION_MASK > _LAST_COMPRESSION
        or (producer_id >= 0 and (sequence < 0 or epoch < 0))
    ):
        raise _invalid(_what_is_invalid(header))
    if attributes & LOG_APPEND_TIME_BIT:
        raise BatchError(ErrorKind.INVALID_TIMESTAMP, "only the broker may stamp the time of appending")
    return header


def walk(view: Buffer) -> Iterator[tuple[int, BatchHeader]]:
    """Every batch's position and whole header, for bytes that hold batches and nothing else."""
    position, end = 0, len(view)
    while position < end:
        header = read_header(view, position)
        _check_fit(position, header.length, header.last_offset_delta, end)
        yield position, header
        position += header.size


def spans(view: Buffer, base_offset: int) -> list[Span]:
    """The batches of bytes that don't carry real offsets: numbered from `base_offset` without gaps."""
    found = []
    position, end = 0, len(view)
    read = _SPAN.unpack_from
    while position < end:
        if end - position < HEADER_BYTES:
            raise _corrupt(f"{end - position} bytes at {position} are too few for a batch header")
        length, last_delta = read(view, position)
        size = length + LENGTH_END
        if size < HEADER_BYTES or size > end - position or last_delta < 0:
            _check_fit(position, length, last_delta, end)
        last_offset = base_offset + last_delta
        found.append(Span(position, size, base_offset, last_offset))
        base_offset = last_offset + 1
        position += size
    return found


def spans_real(view: Buffer) -> list[Span]:
    """The batches of bytes whose headers carry the real offsets (merged and compacted objects)."""
    found = []
    position, end = 0, len(view)
    read = _REAL_SPAN.unpack_from
    while position < end:
        if end - position < HEADER_BYTES:
            raise _corrupt(f"{end - position} bytes at {position} are too few for a batch header")
        base_offset, length, last_delta = read(view, position)
        size = length + LENGTH_END
        if size < HEADER_BYTES or size > end - position or last_delta < 0:
            _check_fit(position, length, last_delta, end)
        found.append(Span(position, size, base_offset, base_offset + last_delta))
        position += size
    return found


def stamp_prefix(base_offset: int, batch_length: int) -> bytes:
    """The first 16 bytes of a stamped batch; `batch_length` is the header's length field, the epoch is 0."""
    return _PREFIX.pack(base_offset, batch_length, 0)


def stamp(buffer: bytearray | memoryview, position: int, base_offset: int) -> None:
    """Give the batch at `position` its offset and leader epoch 0, in place."""
    _OFFSET.pack_into(buffer, position, base_offset)
    buffer[position + 12 : position + 16] = b"\0\0\0\0"


def stamp_log_append_time(buffer: bytearray | memoryview, position: int, timestamp_ms: int) -> None:
    """Mark the batch at `position` as appended at that time, in place; this one needs a new checksum."""
    header = read_header(buffer, position)
    _OFFSET.pack_into(buffer, position + _MAX_TIMESTAMP_AT, timestamp_ms)
    attributes = header.attributes | LOG_APPEND_TIME_BIT
    _CRC_AND_ATTRIBUTES.pack_into(buffer, position + _CRC_AT, 0, attributes)
    crc = crc_of(memoryview(buffer)[position : position + header.size])
    _CRC_AND_ATTRIBUTES.pack_into(buffer, position + _CRC_AT, crc, attributes)


def crc_of(view: memoryview) -> int:
    """The checksum that the header of this one batch should carry."""
    return int(crc32c(view[_ATTRIBUTES_AT:]))


def verify_crc(view: memoryview) -> bool:
    """Whether the view, exactly one batch, has the checksum that its header says."""
    return read_header(view).crc == crc32c(view[_ATTRIBUTES_AT:])


def _check_fit(position: int, length: int, last_delta: int, end: int) -> None:
    size = length + LENGTH_END
    if size < HEADER_BYTES or size > end - position:
        raise _corrupt(f"the batch at {position} says {size} bytes, {end - position} are there")
    if last_delta < 0:
        raise _corrupt(f"the batch at {position} says that its last offset delta is {last_delta}")


def _not_a_batch(view: memoryview) -> BatchError:
    if len(view) == 0:
        return _invalid("no batch was sent for the partition")
    if len(view) > _MAGIC_AT and view[_MAGIC_AT] != MAGIC:
        return _invalid(f"a batch of format {view[_MAGIC_AT]}, only format {MAGIC} is taken")
    return _corrupt(f"{len(view)} bytes are too few for a batch")


def _wrong_length(view: memoryview, length: int) -> BatchError:
    size = length + LENGTH_END
    if size < HEADER_BYTES or size > len(view):
        return _corrupt(f"a batch says {size} bytes, {len(view)} were sent")
    try:
        spans(view[size:], 0)
    except BatchError:
        return _corrupt(f"{len(view) - size} bytes behind the batch are no batch")
    return _invalid("more than one batch was sent for the partition")


def _what_is_invalid(header: BatchHeader) -> str:
    if header.is_control:
        return "clients may not write control batches"
    if header.compression > _LAST_COMPRESSION:
        return f"compression {header.compression} is unknown"
    if header.record_count < 1 or header.record_count != header.last_offset_delta + 1:
        return f"{header.record_count} records with a last offset delta of {header.last_offset_delta}"
    return f"producer {header.producer_id} with epoch {header.producer_epoch} and sequence {header.base_sequence}"


def _corrupt(message: str) -> BatchError:
    return BatchError(ErrorKind.CORRUPT_BATCH, message)


def _invalid(message: str) -> BatchError:
    return BatchError(ErrorKind.INVALID_RECORD, message)
