"""The contract of look-ups: bounds always, coordinates from the one that holds the offset, and timestamps."""

import random
from collections.abc import Awaitable, Callable
from typing import Any

from plane_fixtures import Case

from inkless.control_plane.values import MAX_TIMESTAMP, LocateQuery, TimestampQuery, TopicPartition
from inkless.core.errors import ErrorKind
from inkless.core.ids import TopicId

OnPlane = Callable[[Callable[[Case], Awaitable[Any]]], Any]


def test_coordinates_from_the_one_that_holds_the_offset(on_plane: OnPlane) -> None:
    async def test(case: Case) -> None:
        for _ in range(10):
            await case.commit(case.batch(0, 3))
        for offset in range(30):
            (located,) = await case.plane.locate([LocateQuery(case.topic.id, 0, offset, 250)])
            bases = [coordinate.base_offset for coordinate in located.coordinates]
            first = offset // 3 * 3
            assert bases == list(range(first, min(first + 9, 30), 3))
            assert (located.log_start, located.high_watermark, located.last_stable_offset) == (0, 30, 30)
        (at_end,) = await case.plane.locate([LocateQuery(case.topic.id, 0, 30, 250)])
        assert (at_end.coordinates, at_end.error) == ((), None)

    on_plane(test)


def test_both_ends_and_the_unknown(on_plane: OnPlane) -> None:
    async def test(case: Case) -> None:
        await case.commit(case.batch(0, 3))
        topic_id = case.topic.id
        queries = [
            LocateQuery(topic_id, 0, 4, 1),
            LocateQuery(topic_id, 0, -1, 1),
            LocateQuery(topic_id, 8, 0, 1),
            LocateQuery(TopicId(bytes(16)), 0, 0, 1),
            LocateQuery(topic_id, 1, 0, 1),
        ]
        located = await case.plane.locate(queries)
        unknown, out_of_range = ErrorKind.UNKNOWN_TOPIC_OR_PARTITION, ErrorKind.OFFSET_OUT_OF_RANGE
        assert [found.error for found in located] == [out_of_range, out_of_range, unknown, unknown, None]
        assert located[0].high_watermark == 3

    on_plane(test)


def test_timestamps_against_a_plain_search(on_plane: OnPlane) -> None:
    async def test(case: Case) -> None:
        seed = random.randrange(1 << 30)
        print(f"seed {seed}")
        rng = random.Random(seed)
        times: list[int] = []
        for _ in range(120):
            time = rng.randrange(1000)
            records = rng.randint(1, 3)
            await case.commit(case.batch(0, records, max_timestamp=time))
            times += [time] * records
        for wanted in [0, 1, 500, 998, 999, 1000, *rng.sample(range(1000), 50)]:
            (found,) = await case.plane.locate_timestamp([TimestampQuery(case.topic.id, 0, wanted)])
            expected = next((offset for offset, time in enumerate(times) if time >= wanted), None)
            assert (None if found is None else found.base_offset) == expected
        (later,) = await case.plane.locate_timestamp([TimestampQuery(case.topic.id, 0, 500, from_offset=100)])
        expected = next((offset for offset, time in enumerate(times) if offset >= 100 and time >= 500), None)
        assert later is None if expected is None else later is not None and later.base_offset <= expected
        assert later is None or later.last_offset >= 100
        (newest,) = await case.plane.locate_timestamp([TimestampQuery(case.topic.id, 0, MAX_TIMESTAMP)])
        assert newest is not None
        assert newest.base_offset == times.index(max(times))
        assert await case.plane.locate_timestamp([TimestampQuery(case.topic.id, 1, 0)]) == [None]

    on_plane(test)


def test_the_feed_tells_what_another_process_did(on_plane: OnPlane) -> None:
    async def test(case: Case) -> None:
        other = await case.again()
        names = [TopicPartition(case.topic.id, 0), TopicPartition(case.topic.id, 1)]
        first = await other.changes(-1, names, 0)
        assert [state.high_watermark for state in first.partitions.values() if state] == [0, 0]
        quiet = await other.changes(first.cursor, names, 0.05)
        assert (quiet.cursor, dict(quiet.partitions)) == (first.cursor, {})
        await case.commit(case.batch(1, 4))
        news = await other.changes(quiet.cursor, names, 5)
        assert [state.high_watermark for state in news.partitions.values() if state] == [0, 4]
        await case.plane.delete_topics([case.topic.id])
        gone = await other.changes(news.cursor, names, 5)
        assert list(gone.partitions.values()) == [None, None]
        assert gone.topics_version > news.topics_version

    on_plane(test)
