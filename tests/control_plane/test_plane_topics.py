"""The contract of topics and registrations."""

from collections.abc import Awaitable, Callable
from typing import Any

from plane_fixtures import Case

from inkless.control_plane.values import BrokerRegistration, Endpoint, NewTopic, Refusal, Topic
from inkless.core.errors import ErrorKind

OnPlane = Callable[[Callable[[Case], Awaitable[Any]]], Any]


def test_made_found_and_listed(on_plane: OnPlane) -> None:
    async def test(case: Case) -> None:
        wishes = [NewTopic("b", 2, {"retention.ms": "1"}), NewTopic("events", 1), NewTopic("a", 1), NewTopic("b", 1)]
        made = await case.plane.create_topics(wishes)
        errors = [answer.error if isinstance(answer, Refusal) else None for answer in made]
        assert errors == [None, ErrorKind.TOPIC_EXISTS, None, ErrorKind.TOPIC_EXISTS]
        found = await case.plane.find_topics(["b", "none"], [case.topic.id])
        assert found == [made[0], None, case.topic]
        snapshot = await case.plane.topics()
        assert [topic.name for topic in snapshot.topics] == ["a", "b", "events"]
        assert snapshot.topics[1].configs == {"retention.ms": "1"}

    on_plane(test)


def test_a_deleted_name_is_free_at_once(on_plane: OnPlane) -> None:
    async def test(case: Case) -> None:
        await case.commit(case.batch(0, 5))
        before = await case.plane.topics()
        assert await case.plane.delete_topics([case.topic.id]) == [case.topic]
        (again,) = await case.plane.delete_topics([case.topic.id])
        assert isinstance(again, Refusal)
        (fresh,) = await case.plane.create_topics([NewTopic("events", 1)])
        assert isinstance(fresh, Topic)
        assert fresh.id != case.topic.id
        assert await case.plane.find_topics(["events"], [case.topic.id]) == [fresh, None]
        assert (await case.plane.topics()).version > before.version

    on_plane(test)


def test_partitions_only_grow(on_plane: OnPlane) -> None:
    async def test(case: Case) -> None:
        for total in (4, 3):
            (refused,) = await case.plane.grow_topics([(case.topic.id, total)])
            assert isinstance(refused, Refusal)
            assert refused.error is ErrorKind.INVALID_PARTITIONS
        (grown,) = await case.plane.grow_topics([(case.topic.id, 6)])
        assert isinstance(grown, Topic)
        assert grown.partitions == 6
        assert (await case.commit(case.batch(5)))[0].base_offset == 0

    on_plane(test)


def test_a_registration_is_taken_over_under_a_higher_epoch(on_plane: OnPlane) -> None:
    async def test(case: Case) -> None:
        ends = (Endpoint("PLAINTEXT", "host", 9092),)
        second = await case.plane.register(BrokerRegistration(2, "a", ends))
        third = await case.plane.register(BrokerRegistration(1, "b", ends))
        assert case.broker.epoch < second.epoch < third.epoch
        held = await case.plane.registration(1)
        assert held == BrokerRegistration(1, "b", ends, third.epoch)
        assert await case.plane.registration(7) is None
        assert [broker.node_id for broker in await case.plane.brokers()] == [1, 2]

    on_plane(test)


def test_the_cluster_id_stays(on_plane: OnPlane) -> None:
    async def test(case: Case) -> None:
        assert (await case.again()).cluster_id == case.plane.cluster_id
        assert len(case.plane.cluster_id) == 22

    on_plane(test)
