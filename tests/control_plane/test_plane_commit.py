"""The contract of commits: offsets in one order, one result per batch, idempotence by key."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from plane_fixtures import Case

from inkless.control_plane.values import BatchResult, BrokerEpoch, BrokerRegistration, ObjectResult, ObjectStatus
from inkless.core.errors import BrokerFenced, ErrorKind
from inkless.core.ids import TopicId

OnPlane = Callable[[Callable[[Case], Awaitable[Any]]], Any]


def offsets(results: tuple[BatchResult, ...]) -> list[int]:
    return [result.base_offset for result in results]


def test_offsets_have_no_gaps_and_partitions_are_apart(on_plane: OnPlane) -> None:
    async def test(case: Case) -> None:
        assert offsets(await case.commit(case.batch(0, 3), case.batch(0, 2), case.batch(1, 5))) == [0, 3, 0]
        assert offsets(await case.commit(case.batch(0, 1), case.batch(1, 1))) == [5, 5]

    on_plane(test)


def test_several_objects_in_one_call_are_in_order(on_plane: OnPlane) -> None:
    async def test(case: Case) -> None:
        objects = [case.object(case.batch(0, 2)), case.object(case.batch(0, 3)), case.object(case.batch(0, 4))]
        results = await case.plane.commit(case.broker, objects)
        assert [result.batches[0].base_offset for result in results] == [0, 2, 5]

    on_plane(test)


def test_a_commit_again_has_the_first_ones_result(on_plane: OnPlane) -> None:
    async def test(case: Case) -> None:
        item = case.object(case.batch(0, 2), case.batch(9, 1))
        first = await case.plane.commit(case.broker, [item])
        await case.commit(case.batch(0, 7))
        assert await case.plane.commit(case.broker, [item]) == first
        assert offsets(await case.commit(case.batch(0))) == [9]

    on_plane(test)


def test_unknown_topics_and_partitions_fail_alone(on_plane: OnPlane) -> None:
    async def test(case: Case) -> None:
        foreign = case.batch(0)._replace(topic_id=TopicId(bytes(16)))
        results = await case.commit(case.batch(0, 2), foreign, case.batch(17), case.batch(1, 2))
        unknown = ErrorKind.UNKNOWN_TOPIC_OR_PARTITION
        assert [result.error for result in results] == [None, unknown, unknown, None]
        assert [c.position for c in await case.coordinates(1)] == [16 + 300]

    on_plane(test)


def test_a_deleted_topic_takes_no_more(on_plane: OnPlane) -> None:
    async def test(case: Case) -> None:
        await case.commit(case.batch(0))
        await case.plane.delete_topics([case.topic.id])
        results = await case.commit(case.batch(0))
        assert results[0].error is ErrorKind.UNKNOWN_TOPIC_OR_PARTITION

    on_plane(test)


def test_a_condemned_key_is_refused_and_what_follows_is_not_tried(on_plane: OnPlane) -> None:
    async def test(case: Case) -> None:
        objects = [case.object(case.batch(0)), case.object(case.batch(0)), case.object(case.batch(0))]
        assert await case.plane.condemn(objects[1].key) is None
        results = await case.plane.commit(case.broker, objects)
        statuses = [result.status for result in results]
        assert statuses == [ObjectStatus.COMMITTED, ObjectStatus.CONDEMNED, ObjectStatus.SKIPPED]
        fresh = replace(objects[1], key="another-key")
        results = await case.plane.commit(case.broker, [fresh, objects[2]])
        assert [result.batches[0].base_offset for result in results] == [1, 2]

    on_plane(test)


def test_condemning_a_committed_key_tells_its_result(on_plane: OnPlane) -> None:
    async def test(case: Case) -> None:
        item = case.object(case.batch(0, 3), case.batch(12))
        (committed,) = await case.plane.commit(case.broker, [item])
        assert await case.plane.condemn(item.key) == committed
        assert await case.plane.condemn(item.key) == committed
        (again,) = await case.plane.commit(case.broker, [item])
        assert again == committed

    on_plane(test)


def test_an_older_epoch_is_fenced_and_writes_nothing(on_plane: OnPlane) -> None:
    async def test(case: Case) -> None:
        newer = await case.plane.register(BrokerRegistration(1, None, ()))
        assert newer.epoch > case.broker.epoch
        with pytest.raises(BrokerFenced):
            await case.commit(case.batch(0))
        with pytest.raises(BrokerFenced):
            await case.plane.commit(BrokerEpoch(99, 1), [case.object(case.batch(0))])
        results = await case.plane.commit(newer, [case.object(case.batch(0))])
        assert results == [ObjectResult(ObjectStatus.COMMITTED, results[0].batches)]
        assert offsets(results[0].batches) == [0]

    on_plane(test)


def test_adjacent_batches_are_one_coordinate_up_to_a_mebibyte(on_plane: OnPlane) -> None:
    async def test(case: Case) -> None:
        half = 600 * 1024
        await case.commit(
            case.batch(0, 2, max_timestamp=5), case.batch(0, 3, max_timestamp=9), case.batch(0, size=half)
        )
        await case.commit(case.batch(0, size=half), case.batch(0, size=half), case.batch(0, size=3 * half))
        found = [(c.base_offset, c.last_offset, c.position, c.size) for c in await case.coordinates()]
        assert found == [
            (0, 5, 16, 200 + half),
            (6, 6, 16, half),
            (7, 7, 16 + half, half),
            (8, 8, 16 + 2 * half, 3 * half),
        ]

    on_plane(test)


def test_a_refused_batch_between_two_parts_their_coordinates(on_plane: OnPlane) -> None:
    async def test(case: Case) -> None:
        out_of_order = case.batch(0, producer_id=1, producer_epoch=0, base_sequence=7)
        await case.commit(case.batch(0), out_of_order, case.batch(0))
        assert [(c.base_offset, c.position) for c in await case.coordinates()] == [(0, 16), (1, 216)]

    on_plane(test)


def test_append_time_never_goes_back(on_plane: OnPlane) -> None:
    async def test(case: Case) -> None:
        first = (await case.commit(case.batch(0)))[0].append_time_ms
        case.clock.ms -= 60_000
        assert (await case.commit(case.batch(0)))[0].append_time_ms == first
        assert (await case.commit(case.batch(1)))[0].append_time_ms == first - 60_000

    on_plane(test)


def test_results_are_forgotten_after_their_time(on_plane: OnPlane) -> None:
    async def test(case: Case) -> None:
        item = case.object(case.batch(0))
        await case.plane.commit(case.broker, [item])
        case.clock.ms += 29_000
        assert await case.plane.tidy() == 0
        case.clock.ms += 2_000
        assert await case.plane.tidy() == 1

    on_plane(test)
