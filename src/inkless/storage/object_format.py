"""What an object looks like: a head, record batches sorted by topic id and partition, an index, and a footer.

The control plane alone knows offsets. The index says what an object holds, so that one can be dumped, verified and
salvaged without the plane.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from struct import Struct
from typing import NamedTuple

from crc32c import crc32c

from inkless.core.errors import InklessError
from inkless.core.ids import TopicId
from inkless.records.batch import HEADER_BYTES, MAGIC, BatchHeader, crc_of, read_header

FORMAT_VERSION = 1

_OBJECT_MAGIC = b"INKLESS\x1a"
_HEAD = Struct(">8sH6x")  # magic, format version
_ENTRY = Struct(">16siQQIQ")
_FOOTER = Struct(">QQIH2x8s")  # index position, index length, index checksum, format version, magic

HEAD: bytes = _HEAD.pack(_OBJECT_MAGIC, FORMAT_VERSION)
ENTRY_BYTES = _ENTRY.size
FOOTER_BYTES = _FOOTER.size

_BATCH_MAGIC_AT = 16
_BATCH_MAGIC = re.compile(bytes([MAGIC]))


class ObjectFormatError(InklessError):
    """Bytes that are no object of this system, or a damaged one."""


class IndexEntry(NamedTuple):
    """One partition's byte range in an object; its batches lie in it one behind the other."""

    topic_id: TopicId
    partition: int
    position: int
    size: int
    batches: int
    records: int


@dataclass(frozen=True, slots=True)
class SalvagedBatch:
    position: int
    header: BatchHeader


@dataclass(frozen=True, slots=True)
class Salvage:
    """The batches with a right checksum, and the byte ranges (start, end) between them that are something else."""

    batches: tuple[SalvagedBatch, ...]
    gaps: tuple[tuple[int, int], ...]


def encode_tail(entries: Sequence[IndexEntry], tail_position: int) -> bytes:
    """What follows the last batch: the index, which starts at `tail_position`, and the footer."""
    pack = _ENTRY.pack
    index = b"".join([pack(*entry) for entry in entries])
    return index + _FOOTER.pack(tail_position, len(index), crc32c(index), FORMAT_VERSION, _OBJECT_MAGIC)


def tail_bytes(end_of_object: memoryview) -> int:
    """How many bytes index and footer take, told by the object's last FOOTER_BYTES or more."""
    return _read_footer(end_of_object)[1] + FOOTER_BYTES


def decode_tail(view: memoryview, object_size: int) -> list[IndexEntry]:
    """The index of a whole object, or of as many of its last bytes as `tail_bytes` says at least."""
    position, length, checksum = _read_footer(view)
    if position + length + FOOTER_BYTES != object_size or position < len(HEAD):
        raise ObjectFormatError(f"an index of {length} bytes at {position} in an object of {object_size}")
    start = len(view) - FOOTER_BYTES - length
    if start < 0:
        raise ObjectFormatError(f"{length + FOOTER_BYTES} bytes of tail, {len(view)} were given")
    if len(view) == object_size:
        _check_head(view)
    index = view[start : start + length]
    if crc32c(index) != checksum:
        raise ObjectFormatError("the checksum of the index is wrong")
    if length % ENTRY_BYTES:
        raise ObjectFormatError(f"an index of {length} bytes is not made of entries of {ENTRY_BYTES}")
    entries = [IndexEntry._make(fields) for fields in _ENTRY.iter_unpack(index)]
    _check_order(entries, position)
    return entries


def salvage(view: memoryview) -> Salvage:
    """Find the batches of an object, whole or cut off, without its index.

    Where the bytes are no batch the search goes on behind them, at the next batch whose checksum is right; a sound
    object's index and footer are its only gap.
    """
    batches, gaps = [], []
    position = gap_start = len(HEAD) if view[: len(HEAD)] == HEAD else 0
    while position < len(view):
        header = _sound_batch(view, position)
        if header is None:
            position = _next_candidate(view, position + 1)
            continue
        if gap_start < position:
            gaps.append((gap_start, position))
        batches.append(SalvagedBatch(position, header))
        position += header.size
        gap_start = position
    if gap_start < len(view):
        gaps.append((gap_start, len(view)))
    return Salvage(tuple(batches), tuple(gaps))


def _read_footer(view: memoryview) -> tuple[int, int, int]:
    """Index position, index length, index checksum."""
    if len(view) < FOOTER_BYTES:
        raise ObjectFormatError(f"{len(view)} bytes are too few for an object")
    position, length, checksum, version, magic = _FOOTER.unpack_from(view, len(view) - FOOTER_BYTES)
    if magic != _OBJECT_MAGIC:
        raise ObjectFormatError("the object has no footer: it is cut off, or no Inkless object")
    _check_version(version)
    return position, length, checksum


def _check_head(view: memoryview) -> None:
    magic, version = _HEAD.unpack_from(view)
    if magic != _OBJECT_MAGIC:
        raise ObjectFormatError("the object has no head: it is no Inkless object")
    _check_version(version)


def _check_version(version: int) -> None:
    if version != FORMAT_VERSION:
        raise ObjectFormatError(f"object format {version}, this release knows {FORMAT_VERSION}")


def _check_order(entries: Sequence[IndexEntry], index_position: int) -> None:
    end = len(HEAD)
    last = (b"", 0)
    for entry in entries:
        if entry.position < end or entry.partition < 0 or (entry.topic_id, entry.partition) < last:
            raise ObjectFormatError(f"the index is out of order at {entry}")
        end = entry.position + entry.size
        last = (entry.topic_id, entry.partition)
    if end > index_position:
        raise ObjectFormatError(f"the index says batches up to {end}, but itself starts at {index_position}")


def _sound_batch(view: memoryview, position: int) -> BatchHeader | None:
    if len(view) - position < HEADER_BYTES or view[position + _BATCH_MAGIC_AT] != MAGIC:
        return None
    header = read_header(view, position)
    if header.size < HEADER_BYTES or header.size > len(view) - position:
        return None
    return header if crc_of(view[position : position + header.size]) == header.crc else None


def _next_candidate(view: memoryview, position: int) -> int:
    """The next position whose magic byte would be right."""
    found = _BATCH_MAGIC.search(view, position + _BATCH_MAGIC_AT)
    return found.start() - _BATCH_MAGIC_AT if found else len(view)
