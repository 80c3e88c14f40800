"""The checker: what must hold of the log and of everything that clients were told (rules 1 to 6 of the design)."""

from collections import Counter
from collections.abc import Sequence

from world import PARTITIONS, SimulatedBroker, World, records_of

from inkless.control_plane.values import Coordinate, LocateQuery
from inkless.core.errors import ErrorKind, InklessError
from inkless.data_plane.assemble import assemble


async def check(world: World) -> None:
    broker = world.brokers[0]
    for partition in range(PARTITIONS):
        coordinates, high_watermark = await _all_coordinates(broker, world, partition)
        _check_cover(coordinates, high_watermark)
        log = await _read_log(world, coordinates)
        assert [offset for offset, _ in log] == list(range(high_watermark)), "offsets have gaps"
        _check_producers(world, partition, [value for _, value in log])
        _check_plain(world, partition, log)
        _check_acked(world, partition, dict(log))
        _check_read(world, partition, log)


async def _all_coordinates(broker: SimulatedBroker, world: World, partition: int) -> tuple[list[Coordinate], int]:
    found: list[Coordinate] = []
    while True:
        offset = found[-1].last_offset + 1 if found else 0
        located = (await broker.sqlite.locate([LocateQuery(world.topic.id, partition, offset, 1 << 30)]))[0]
        assert located.error is None
        found += located.coordinates
        if not located.coordinates:
            return found, located.high_watermark


def _check_cover(coordinates: Sequence[Coordinate], high_watermark: int) -> None:
    """Rule 1: from log start to high watermark with no hole and no overlap."""
    expected = 0
    for coordinate in coordinates:
        assert coordinate.base_offset == expected, "a hole or an overlap"
        assert coordinate.last_offset >= coordinate.base_offset
        expected = coordinate.last_offset + 1
    assert expected == high_watermark


async def _read_log(world: World, coordinates: Sequence[Coordinate]) -> list[tuple[int, bytes]]:
    """Rules 2 and 3: the bytes of every coordinate are in the store itself."""
    log: list[tuple[int, bytes]] = []
    for coordinate in coordinates:
        end = coordinate.position + coordinate.size
        try:
            data = await world.store.get(coordinate.object_key, coordinate.position, end)
        except InklessError as error:
            raise AssertionError(f"a visible record has no object: {error}") from error
        buffers = assemble([memoryview(data)], coordinate, 0, coordinate.size, True).buffers
        log += [(record.offset, record.value or b"") for record in records_of(buffers)]
    return log


def _check_producers(world: World, partition: int, values: Sequence[bytes]) -> None:
    """Rules 1 and 6: each producer's records once, in the order in which they were sent."""
    assert not [value for value, times in Counter(values).items() if times > 1], "a record was written twice"
    for (producer_id, target), sent in world.history.sent.items():
        if target == partition:
            mine = [value for value in values if value.startswith(b"%d-" % producer_id)]
            assert mine == sent, f"producer {producer_id}: the log differs from what was sent"


def _check_plain(world: World, partition: int, log: Sequence[tuple[int, bytes]]) -> None:
    """Rule 5: an error that means "not written" is true; rule 1: what was acknowledged keeps its order."""
    offsets = {value: offset for offset, value in log}
    for sends in world.history.plain.values():
        last = -1
        for send in sends:
            if send.partition != partition:
                continue
            if send.base_offset is not None:
                assert offsets.get(send.values[0]) == send.base_offset, "an acknowledged record is not at its offset"
                assert send.base_offset > last, "acknowledged records of one connection changed places"
                last = send.base_offset
            elif send.error != ErrorKind.OUTCOME_UNKNOWN:
                assert send.values[0] not in offsets, f"told {send.error!r}, but the record was written"


def _check_acked(world: World, partition: int, log: dict[int, bytes]) -> None:
    """Rule 1: what was acknowledged lies where the producer was told."""
    for acked in world.history.acked:
        if acked.partition == partition:
            for at, value in enumerate(acked.values):
                assert log.get(acked.base_offset + at) == value, "an acknowledged record is not at its offset"


def _check_read(world: World, partition: int, log: Sequence[tuple[int, bytes]]) -> None:
    """Rules 1 and 2: the consumer saw the log, all of it, and never anything else."""
    assert world.history.read[partition] == list(log), "a consumer saw something else than the log"
