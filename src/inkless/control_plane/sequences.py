"""Idempotent producers: which batch is next, which is a second copy, which is refused.

Pure, and the same for every plane. The last five batches of a producer and partition are known, as clients keep at
most five requests in flight.
"""

from typing import NamedTuple

from inkless.core.errors import ErrorKind

KNOWN_BATCHES = 5
MAX_SEQUENCE = 2**31 - 1


class KnownBatch(NamedTuple):
    base_sequence: int
    last_sequence: int
    base_offset: int
    append_time_ms: int


class ProducerState(NamedTuple):
    """What a partition remembers of a producer; `known` ends with the newest batch."""

    epoch: int
    known: tuple[KnownBatch, ...]


class Accept(NamedTuple):
    """The batch is next in its sequence."""


class Duplicate(NamedTuple):
    """A second copy; the first one's place is the answer."""

    original: KnownBatch


class Reject(NamedTuple):
    error: ErrorKind


ACCEPT = Accept()
OUT_OF_ORDER = Reject(ErrorKind.OUT_OF_ORDER_SEQUENCE)
FENCED_PRODUCER = Reject(ErrorKind.INVALID_PRODUCER_EPOCH)


def last_sequence(base_sequence: int, records: int) -> int:
    """The sequence of a batch's last record; numbers wrap from 2147483647 to 0."""
    return (base_sequence + records - 1) & MAX_SEQUENCE


def check(
    state: ProducerState | None, epoch: int, base_sequence: int, records: int, *, any_first: bool
) -> Accept | Duplicate | Reject:
    """Judge a batch. `any_first`: a producer without state may start at any number, because its state expired."""
    if state is None:
        return ACCEPT if base_sequence == 0 or any_first else OUT_OF_ORDER
    if epoch < state.epoch:
        return FENCED_PRODUCER
    if epoch > state.epoch:
        return ACCEPT if base_sequence == 0 else OUT_OF_ORDER
    last = last_sequence(base_sequence, records)
    for batch in state.known:
        if batch.base_sequence == base_sequence and batch.last_sequence == last:
            return Duplicate(batch)
    expected = (state.known[-1].last_sequence + 1) & MAX_SEQUENCE
    return ACCEPT if base_sequence == expected else OUT_OF_ORDER


def accept(state: ProducerState | None, epoch: int, batch: KnownBatch) -> ProducerState:
    """The state after a batch was taken; a new epoch forgets the batches of the old."""
    if state is None or epoch != state.epoch:
        return ProducerState(epoch, (batch,))
    return ProducerState(epoch, (*state.known, batch)[-KNOWN_BATCHES:])
