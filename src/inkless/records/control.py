"""Control batches: the one-record markers that end a transaction in a partition."""

from dataclasses import dataclass
from enum import IntEnum
from struct import Struct

from inkless.core.errors import ErrorKind
from inkless.records.batch import BatchError
from inkless.records.record import Record, check_batch, decode_records, encode_batch

CONTROL_OFFSETS = 1  # a marker takes one offset

_KEY = Struct(">hh")  # version, kind
_VALUE = Struct(">hi")  # version, coordinator epoch
_VERSION = 0
_MAX_MARKER_BYTES = 1024


class MarkerKind(IntEnum):
    ABORT = 0
    COMMIT = 1


@dataclass(frozen=True, slots=True)
class Marker:
    kind: MarkerKind
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    timestamp: int


def encode_marker(marker: Marker) -> bytes:
    """A whole control batch at offset 0, to be stamped as any other."""
    record = Record(
        offset=0,
        timestamp=marker.timestamp,
        key=_KEY.pack(_VERSION, marker.kind),
        value=_VALUE.pack(_VERSION, marker.coordinator_epoch),
    )
    return encode_batch(
        [record],
        producer_id=marker.producer_id,
        producer_epoch=marker.producer_epoch,
        is_transactional=True,
        is_control=True,
    )


def decode_marker(batch: memoryview) -> Marker:
    """The marker in a control batch; newer versions may carry more behind the fields known here."""
    header = check_batch(batch)
    if not header.is_control:
        raise _corrupt("the batch is no control batch")
    records = decode_records(batch, _MAX_MARKER_BYTES)
    if len(records) != 1:
        raise _corrupt(f"a control batch of {len(records)} records")
    key, value = records[0].key or b"", records[0].value or b""
    if len(key) < _KEY.size or len(value) < _VALUE.size:
        raise _corrupt("a control record is cut off")
    _, kind = _KEY.unpack_from(key)
    _, coordinator_epoch = _VALUE.unpack_from(value)
    if kind not in tuple(MarkerKind):
        raise _corrupt(f"a control record of kind {kind}")
    return Marker(
        kind=MarkerKind(kind),
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        coordinator_epoch=coordinator_epoch,
        timestamp=records[0].timestamp,
    )


def _corrupt(message: str) -> BatchError:
    return BatchError(ErrorKind.CORRUPT_BATCH, message)
