"""Which bytes a fetch answers with, before any is read. Pure.

Partitions are served in the order of the fetch session under the request's byte budget. The first partition that has
records gets at least one batch, however large; a later one may get nothing (KIP-74).
"""

from collections.abc import Sequence
from typing import NamedTuple

from inkless.control_plane.values import Coordinate


class Wanted(NamedTuple):
    """A partition of a fetch: where it stands, how much it may get, and what there is from there on."""

    offset: int
    max_bytes: int
    coordinates: Sequence[Coordinate]


class Share(NamedTuple):
    """What is read for a partition: these coordinates hold its budget, or `at_least_one` batch above it.

    A coordinate may hold more batches than fit; the reader cuts them when it sees them.
    """

    coordinates: Sequence[Coordinate]
    budget: int
    at_least_one: bool


NOTHING = Share((), 0, False)


def plan(partitions: Sequence[Wanted], max_bytes: int) -> list[Share]:
    shares: list[Share] = []
    left = max_bytes
    first = True
    for offset, partition_max, coordinates in partitions:
        budget = min(partition_max, left)
        if not coordinates or (budget <= 0 and not first):
            shares.append(NOTHING)
            continue
        chosen, size = _choose(coordinates, offset, budget)
        shares.append(Share(chosen, budget, first))
        left -= min(size, budget)
        first = False
    return shares


def _choose(coordinates: Sequence[Coordinate], offset: int, budget: int) -> tuple[list[Coordinate], int]:
    """Coordinates from the offset on until they reach the budget: at least one."""
    chosen: list[Coordinate] = []
    size = 0
    for coordinate in coordinates:
        if coordinate.last_offset < offset:
            continue
        if chosen and size >= budget:
            break
        chosen.append(coordinate)
        size += coordinate.size
    return chosen, size


def available_bytes(shares: Sequence[Share]) -> int:
    """How much the plan can answer with, for the minimum that a fetch waits for."""
    total = 0
    for share in shares:
        size = sum([coordinate.size for coordinate in share.coordinates])
        total += size if share.at_least_one else min(size, share.budget)
    return total
