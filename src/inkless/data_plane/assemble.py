"""From stored bytes to an answer: whole batches with their real offsets, cut to a budget. Pure.

Base offset and leader epoch lie outside the CRC, so stamping costs 16 bytes a batch and no checksum.
"""

from collections.abc import Sequence
from typing import NamedTuple

from inkless.control_plane.values import Coordinate
from inkless.records.batch import BatchError, spans, spans_real, stamp, stamp_prefix

PREFIX_BYTES = 16
JOIN_BELOW_BYTES = 16 * 1024

Buffer = bytes | bytearray | memoryview


class Assembled(NamedTuple):
    buffers: list[Buffer]
    size: int
    full: bool  # the budget is used up


class _Batch(NamedTuple):
    piece: memoryview
    position: int
    size: int
    base_offset: int
    last_offset: int


def assemble(
    pieces: Sequence[memoryview], coordinate: Coordinate, offset: int, budget: int, at_least_one: bool
) -> Assembled:
    """The batches of a coordinate from the one that holds the offset on, as many as fit.

    Raises BatchError where the bytes are not batches.
    """
    chosen: list[_Batch] = []
    size = 0
    full = False
    for batch in _batches(pieces, coordinate):
        if batch.last_offset < offset:
            continue
        if size + batch.size > budget and not (at_least_one and not chosen):
            full = True
            break
        chosen.append(batch)
        size += batch.size
    if not chosen:
        return Assembled([], 0, full)
    buffers = _as_they_are(chosen) if coordinate.real_offsets else _stamped(chosen, size)
    return Assembled(buffers, size, full)


def _batches(pieces: Sequence[memoryview], coordinate: Coordinate) -> list[_Batch]:
    """Batches lie whole in the pieces that a writer made; those of a loaded block may cross into the next."""
    try:
        return _batches_of(pieces, coordinate)
    except BatchError:
        if len(pieces) == 1:
            raise
    return _batches_of([memoryview(b"".join(pieces))], coordinate)


def _batches_of(pieces: Sequence[memoryview], coordinate: Coordinate) -> list[_Batch]:
    found: list[_Batch] = []
    next_offset = coordinate.base_offset
    for piece in pieces:
        for span in spans_real(piece) if coordinate.real_offsets else spans(piece, next_offset):
            found.append(_Batch(piece, *span))
            next_offset = span[3] + 1
    return found


def _as_they_are(chosen: Sequence[_Batch]) -> list[Buffer]:
    """Neighbours in one piece go out as one view."""
    buffers: list[Buffer] = []
    start, end, held = 0, 0, chosen[0].piece
    for batch in chosen:
        if batch.piece is not held or batch.position != end:
            if end > start:
                buffers.append(held[start:end])
            held, start = batch.piece, batch.position
        end = batch.position + batch.size
    buffers.append(held[start:end])
    return buffers


def _stamped(chosen: Sequence[_Batch], size: int) -> list[Buffer]:
    """Small batches are copied together and stamped in place; large ones stay where they are."""
    if size < JOIN_BELOW_BYTES * len(chosen):
        copy = bytearray().join([b.piece[b.position : b.position + b.size] for b in chosen])
        position = 0
        for batch in chosen:
            stamp(copy, position, batch.base_offset)
            position += batch.size
        return [copy]
    buffers: list[Buffer] = []
    for piece, position, batch_size, base_offset, _ in chosen:
        buffers.append(stamp_prefix(base_offset, batch_size - 12))
        buffers.append(piece[position + PREFIX_BYTES : position + batch_size])
    return buffers
