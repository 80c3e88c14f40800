"""The contract of idempotent producers, as every plane keeps it across commits, brokers and restarts (rule 6)."""

from collections.abc import Awaitable, Callable
from typing import Any

from plane_fixtures import Case

from inkless.control_plane.values import BatchCommit, BatchResult, BrokerRegistration, NewTopic, Topic
from inkless.core.errors import ErrorKind

OnPlane = Callable[[Callable[[Case], Awaitable[Any]]], Any]


def batch(
    case: Case, sequence: int, records: int = 1, epoch: int = 0, producer: int = 1000, at: int = 0
) -> BatchCommit:
    return case.batch(at, records, producer_id=producer, producer_epoch=epoch, base_sequence=sequence)


def told(results: tuple[BatchResult, ...]) -> list[int | ErrorKind]:
    return [result.error or result.base_offset for result in results]


def test_a_second_copy_has_the_first_ones_offset(on_plane: OnPlane) -> None:
    async def test(case: Case) -> None:
        for number in range(5):
            assert told(await case.commit(batch(case, number * 2, 2))) == [number * 2]
        for number in range(5):
            (again,) = await case.commit(batch(case, number * 2, 2))
            assert again.duplicate
            assert again.base_offset == number * 2
        assert told(await case.commit(batch(case, 10, 2))) == [10]
        assert told(await case.commit(batch(case, 0, 2))) == [ErrorKind.OUT_OF_ORDER_SEQUENCE]

    on_plane(test)


def test_copies_in_one_object_and_behind_a_refused_one(on_plane: OnPlane) -> None:
    async def test(case: Case) -> None:
        first, gap, behind = batch(case, 0), batch(case, 2), batch(case, 3)
        results = await case.commit(first, first, gap, behind)
        out_of_order = ErrorKind.OUT_OF_ORDER_SEQUENCE
        assert told(results) == [0, 0, out_of_order, out_of_order]
        assert [c.last_offset for c in await case.coordinates()] == [0]

    on_plane(test)


def test_objects_of_one_call_are_checked_as_a_chain(on_plane: OnPlane) -> None:
    async def test(case: Case) -> None:
        objects = [
            case.object(batch(case, 0)),
            case.object(batch(case, 1)),
            case.object(batch(case, 1), batch(case, 2)),
        ]
        results = await case.plane.commit(case.broker, objects)
        assert [told(result.batches) for result in results] == [[0], [1], [1, 2]]

    on_plane(test)


def test_only_sequence_0_starts(on_plane: OnPlane) -> None:
    async def test(case: Case) -> None:
        ids = await case.plane.allocate_producer_ids(10)
        assert told(await case.commit(batch(case, 3, producer=ids[0]))) == [ErrorKind.OUT_OF_ORDER_SEQUENCE]
        assert told(await case.commit(batch(case, 0, producer=ids[0]))) == [0]

    on_plane(test)


def test_an_expired_producer_may_go_on_anywhere(on_plane: OnPlane) -> None:
    async def test(case: Case) -> None:
        ids = await case.plane.allocate_producer_ids(10)
        await case.commit(batch(case, 0, producer=ids[0]))
        case.clock.ms += 61_000
        assert told(await case.commit(batch(case, 40, producer=ids[0]))) == [1]
        assert told(await case.commit(batch(case, 41, producer=ids[0]))) == [2]

    on_plane(test)


def test_expired_state_is_dropped_for_good(on_plane: OnPlane) -> None:
    async def test(case: Case) -> None:
        await case.commit(batch(case, 0), batch(case, 0, at=1))
        case.clock.ms += 30_000
        await case.commit(batch(case, 1))
        case.clock.ms += 31_000
        assert await case.plane.tidy() >= 1
        assert told(await case.commit(batch(case, 2), batch(case, 0, at=1))) == [2, 1]

    on_plane(test)


def test_an_epoch_bump_starts_anew_and_fences_the_old(on_plane: OnPlane) -> None:
    async def test(case: Case) -> None:
        await case.commit(batch(case, 0, 5))
        assert told(await case.commit(batch(case, 5, epoch=1))) == [ErrorKind.OUT_OF_ORDER_SEQUENCE]
        assert told(await case.commit(batch(case, 0, epoch=1))) == [5]
        assert told(await case.commit(batch(case, 5))) == [ErrorKind.INVALID_PRODUCER_EPOCH]
        assert told(await case.commit(batch(case, 1, epoch=1))) == [6]

    on_plane(test)


def test_sequences_wrap_around(on_plane: OnPlane) -> None:
    async def test(case: Case) -> None:
        ids = await case.plane.allocate_producer_ids(1)
        case.clock.ms += 61_000
        highest = 2**31 - 1
        assert told(await case.commit(batch(case, highest - 1, 4, producer=ids[0]))) == [0]
        assert told(await case.commit(batch(case, 2, producer=ids[0]))) == [4]
        assert told(await case.commit(batch(case, highest - 1, 4, producer=ids[0]))) == [0]

    on_plane(test)


def test_state_is_shared_by_processes(on_plane: OnPlane) -> None:
    async def test(case: Case) -> None:
        other = await case.again()
        second = await other.register(BrokerRegistration(2, None, ()))
        await case.commit(batch(case, 0))
        (result,) = await other.commit(second, [case.object(batch(case, 0), batch(case, 1))])
        assert told(result.batches) == [0, 1]
        assert result.batches[0].duplicate

    on_plane(test)


def test_ids_are_given_out_once(on_plane: OnPlane) -> None:
    async def test(case: Case) -> None:
        other = await case.again()
        blocks = [await plane.allocate_producer_ids(100) for plane in (case.plane, other, case.plane)]
        assert len({number for block in blocks for number in block}) == 300

    on_plane(test)


def test_a_producer_counts_on_when_its_topic_is_made_anew(on_plane: OnPlane) -> None:
    async def test(case: Case) -> None:
        ids = await case.plane.allocate_producer_ids(2)
        await case.commit(batch(case, 0, 5, producer=ids[0]))
        await case.plane.delete_topics([case.topic.id])
        (made,) = await case.plane.create_topics([NewTopic("events", 4)])
        assert isinstance(made, Topic)
        case.topic = made
        out_of_order = ErrorKind.OUT_OF_ORDER_SEQUENCE
        assert told(await case.commit(batch(case, 6, producer=ids[0]))) == [out_of_order]
        assert told(await case.commit(batch(case, 5, producer=ids[1]))) == [out_of_order]
        assert told(await case.commit(batch(case, 5, producer=ids[0], at=1))) == [out_of_order]
        assert told(await case.commit(batch(case, 5, producer=ids[0]))) == [0]
        assert told(await case.commit(batch(case, 6, producer=ids[0]))) == [1]

    on_plane(test)
