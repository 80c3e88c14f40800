"""What a fetch gets, what it costs, and what wakes it."""

import asyncio
import time
from types import SimpleNamespace

from data_plane_parts import HeldStore, Parts, records_of, run_parts

from inkless.control_plane.values import LocateQuery, TopicPartition
from inkless.core.errors import ControlPlaneError, ErrorKind
from inkless.data_plane.writer import WriterLimits


class CountingPlane:
    """Counts locates, to show that none is needed at the tail."""

    def __init__(self, inner: object) -> None:
        self._inner = inner
        self.locates = 0

    async def locate(self, queries: list[LocateQuery]) -> object:
        self.locates += 1
        return await self._inner.locate(queries)  # type: ignore[attr-defined]

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)


def test_at_the_tail_nothing_is_asked_of_plane_or_store() -> None:
    async def test(parts: Parts) -> None:
        await parts.read((0, 0))
        counting = CountingPlane(parts.plane)
        parts.reader._plane = counting  # type: ignore[assignment]
        for number in range(20):
            waiting = asyncio.ensure_future(parts.read((0, number), wait_s=5))
            await asyncio.sleep(0)
            await parts.write(b"%d" % number)
            (answer,) = await waiting
            assert records_of(answer) == [(number, b"%d" % number)]
            assert answer.high_watermark == number + 1
        assert counting.locates == 0
        assert parts.store.gets == 0

    run_parts(test)


def test_a_waiting_fetch_is_woken_by_another_brokers_commit() -> None:
    async def test(parts: Parts) -> None:
        other = Parts(parts.path.parent)
        await other.start(WriterLimits(), node_id=2, store=parts.store)
        await other.read((0, 0), (1, 0))
        waiting = asyncio.ensure_future(other.read((0, 0), (1, 0), wait_s=8))
        await asyncio.sleep(0.05)
        began = time.monotonic()
        await parts.write(b"from afar", partition=1)
        answers = await waiting
        assert records_of(answers[1]) == [(0, b"from afar")]
        assert time.monotonic() - began < 2
        await other.close()

    run_parts(test)


def test_commits_of_two_brokers_in_turn_leave_no_gap_for_a_reader() -> None:
    async def test(parts: Parts) -> None:
        other = await Parts(parts.path.parent).start(WriterLimits(), node_id=2, store=parts.store)
        seen: list[tuple[int, bytes | None]] = []
        await parts.read((0, 0))
        for number in range(10):
            await (parts if number % 3 else other).write(b"%d" % number)
            while len(seen) < number:
                seen += records_of((await parts.read((0, len(seen)), wait_s=2))[0])
        assert [offset for offset, _ in seen] == list(range(len(seen)))
        await other.close()

    run_parts(test)


def test_min_bytes_is_waited_for_and_the_wait_is_bounded() -> None:
    async def test(parts: Parts) -> None:
        size = len(parts.batch(b"x" * 100).data)
        waiting = asyncio.ensure_future(parts.read((0, 0), (1, 0), min_bytes=3 * size, wait_s=5))
        await parts.write(b"x" * 100)
        await parts.write(b"x" * 100, partition=1)
        await asyncio.sleep(0.02)
        assert not waiting.done()
        await parts.write(b"x" * 100)
        answers = await waiting
        assert [answer.size for answer in answers] == [2 * size, size]
        answers = await parts.read((0, 2), min_bytes=10_000, wait_s=0.05)
        assert [answer.size for answer in answers] == [0]

    run_parts(test)


def test_offsets_out_of_range_at_both_ends_and_unknown_partitions() -> None:
    async def test(parts: Parts) -> None:
        await parts.write(b"a", b"b")
        answers = await parts.read((0, 3), (0, -1), (9, 0), (0, 2), wait_s=5)
        unknown, out_of_range = ErrorKind.UNKNOWN_TOPIC_OR_PARTITION, ErrorKind.OFFSET_OUT_OF_RANGE
        assert [answer.error for answer in answers] == [out_of_range, out_of_range, unknown, None]
        assert answers[0].high_watermark == 2

    run_parts(test)


def test_a_stale_memory_never_says_out_of_range() -> None:
    async def test(parts: Parts) -> None:
        other = await Parts(parts.path.parent).start(WriterLimits(), node_id=2, store=parts.store)
        await parts.read((0, 0))
        parts.feeding.cancel()
        for number in range(5):
            await other.write(b"%d" % number)
        (answer,) = await parts.read((0, 3))
        assert records_of(answer) == [(3, b"3"), (4, b"4")]
        await other.close()

    run_parts(test)


def test_one_bad_batch_does_not_fail_the_rest() -> None:
    async def test(parts: Parts) -> None:
        await parts.append(parts.batch(b"good", partition=0), parts.batch(b"bad", partition=1))
        (key,) = parts.store.started
        (located,) = await parts.plane.locate([LocateQuery(parts.topic.id, 1, 0, 1)])
        data = bytearray(await parts.store.get_all(key))
        at = located.coordinates[0].position
        data[at + 8 : at + 12] = b"\x7f\xff\xff\xff"
        await HeldStore.put(parts.store, key, [bytes(data)])
        parts.cache._blocks.clear()
        good, bad = await parts.read((0, 0), (1, 0))
        assert records_of(good) == [(0, b"good")]
        assert bad.error is ErrorKind.CORRUPT_BATCH

    run_parts(test)


def test_an_object_that_is_gone_is_located_once_more() -> None:
    async def test(parts: Parts) -> None:
        await parts.write(b"a")
        await parts.read((0, 0))
        parts.cache._blocks.clear()
        (key,) = parts.store.started
        data = await parts.store.get_all(key)
        await parts.store.delete([key])
        locate = parts.plane.locate

        async def restoring(queries: list[LocateQuery]) -> object:
            await HeldStore.put(parts.store, key, [data])
            return await locate(queries)

        parts.plane.locate = restoring  # type: ignore[method-assign, assignment]
        (answer,) = await parts.read((0, 0))
        assert records_of(answer) == [(0, b"a")]
        parts.plane.locate = locate  # type: ignore[method-assign]
        parts.cache._blocks.clear()
        await parts.store.delete([key])
        (answer,) = await parts.read((0, 0))
        assert answer.error is ErrorKind.STORAGE_FAILED

    run_parts(test)


def test_many_readers_of_a_cold_block_share_one_get() -> None:
    async def test(parts: Parts) -> None:
        for number in range(3):
            await parts.write(b"%d" % number, partition=number)
        parts.cache._blocks.clear()
        await asyncio.gather(*[parts.read((0, 0), (1, 0), (2, 0)) for _ in range(50)])
        assert parts.store.gets == 3

    run_parts(test)


def test_a_deleted_topic_wakes_its_readers() -> None:
    async def test(parts: Parts) -> None:
        waiting = asyncio.ensure_future(parts.read((0, 0), wait_s=8))
        await asyncio.sleep(0.02)
        await parts.plane.delete_topics([parts.topic.id])
        parts.reader.forget([TopicPartition(parts.topic.id, 0)])
        (answer,) = await waiting
        assert answer.error is ErrorKind.UNKNOWN_TOPIC_OR_PARTITION

    run_parts(test)


def test_each_session_position_is_served_whole_batches_within_its_budget() -> None:
    async def test(parts: Parts) -> None:
        for _ in range(10):
            await parts.append(*[parts.batch(b"x" * 50, partition=at) for at in range(4)])
        size = len(parts.batch(b"x" * 50).data)
        answers = await parts.read(*[(at, 0) for at in range(4)], each=3 * size + 5, max_bytes=7 * size + 5)
        assert [answer.size // size for answer in answers] == [3, 3, 1, 0]
        tiny = await parts.read((0, 4), (1, 4), each=1, max_bytes=1)
        assert [answer.size // size for answer in tiny] == [1, 0]
        assert records_of(tiny[0])[0][0] == 4

    run_parts(test)


def test_a_feed_that_fails_half_way_loses_nothing() -> None:
    async def test(parts: Parts) -> None:
        other = await Parts(parts.path.parent).start(WriterLimits(), node_id=2, store=parts.store)
        await other.read((0, 0))
        locate, failures = other.plane.locate, [ControlPlaneError("busy")]

        async def failing_once(queries: list[LocateQuery]) -> object:
            if failures:
                raise failures.pop()
            return await locate(queries)

        other.feed._plane = SimpleNamespace(locate=failing_once, changes=other.plane.changes)  # type: ignore[assignment]
        waiting = asyncio.ensure_future(other.read((0, 0), wait_s=8))
        await asyncio.sleep(0.05)
        await parts.write(b"a")
        (answer,) = await waiting
        assert records_of(answer) == [(0, b"a")]
        assert not failures
        await other.close()

    run_parts(test)


def test_a_commit_while_the_plane_is_asked_is_not_missed() -> None:
    async def test(parts: Parts) -> None:
        locate, asked, gate = parts.plane.locate, asyncio.Event(), asyncio.Event()

        async def slow(queries: list[LocateQuery]) -> object:
            answer = await locate(queries)
            asked.set()
            await gate.wait()
            return answer

        parts.plane.locate = slow  # type: ignore[method-assign, assignment]
        parts.feeding.cancel()
        reading = asyncio.ensure_future(parts.read((0, 0), wait_s=5))
        await asked.wait()
        await parts.write(b"a")
        gate.set()
        began = time.monotonic()
        (answer,) = await reading
        assert records_of(answer) == [(0, b"a")]
        assert time.monotonic() - began < 2

    run_parts(test)


def test_what_one_reader_learns_wakes_the_others() -> None:
    async def test(parts: Parts) -> None:
        other = await Parts(parts.path.parent).start(WriterLimits(), node_id=2, store=parts.store)
        await other.read((0, 0))
        other.feeding.cancel()
        waiting = asyncio.ensure_future(other.read((0, 0), wait_s=5))
        await asyncio.sleep(0.02)
        await parts.write(b"a")
        await other.read((0, 1))  # beyond what memory knows: the plane is asked
        began = time.monotonic()
        (answer,) = await waiting
        assert records_of(answer) == [(0, b"a")]
        assert time.monotonic() - began < 2
        await other.close()

    run_parts(test)


def test_a_lagging_read_takes_exact_ranges_and_leaves_the_cache_alone() -> None:
    async def test(parts: Parts) -> None:
        filler = b"x" * 100_000
        for number in range(20):
            await parts.append(parts.batch(b"%d" % number), parts.batch(filler, partition=1))
        parts.cache._blocks.clear()
        parts.cache.bytes = 0
        parts.tails.forget(TopicPartition(parts.topic.id, 0))
        parts.clock.now_ms = lambda: 10**13  # type: ignore[method-assign]
        (answer,) = await parts.read((0, 0))
        assert [offset for offset, _ in records_of(answer)] == list(range(20))
        assert parts.store.bytes_read < 20 * 200
        assert parts.cache.bytes == 0

    run_parts(test)
