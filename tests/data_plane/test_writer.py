"""When a flush goes, in which order commits go, and what each failure costs."""

import asyncio
from typing import Any

from data_plane_parts import MIB, Parts, run_parts

from inkless.control_plane.values import BrokerRegistration
from inkless.core.errors import CommitOutcomeUnknown, ErrorKind
from inkless.data_plane.writer import WriterLimits


def test_an_idle_broker_writes_at_once_and_a_busy_one_gathers() -> None:
    async def test(parts: Parts) -> None:
        parts.store.hold = True
        first = asyncio.ensure_future(parts.append(parts.batch(b"a")))
        await parts.store.puts(1)
        behind = [asyncio.ensure_future(parts.append(parts.batch(b"b%d" % n))) for n in range(20)]
        await asyncio.sleep(0.02)
        assert len(parts.store.started) == 1
        parts.store.let_go(0)
        await parts.store.puts(2)
        parts.store.let_go(1)
        results = await asyncio.gather(first, *behind)
        assert [result[0].base_offset for result in results] == list(range(21))
        assert len(parts.store.started) == 2

    run_parts(test, WriterLimits(commit_interval_s=60))


def test_the_requests_of_one_turn_share_an_object() -> None:
    async def test(parts: Parts) -> None:
        await asyncio.gather(*[parts.append(parts.batch(b"x", partition=n % 4)) for n in range(50)])
        assert len(parts.store.started) == 1

    run_parts(test)


def test_a_full_buffer_or_the_interval_starts_a_further_upload() -> None:
    async def test(parts: Parts) -> None:
        parts.store.hold = True
        calls = [asyncio.ensure_future(parts.append(parts.batch(b"a")))]
        await parts.store.puts(1)
        calls.append(asyncio.ensure_future(parts.append(parts.batch(b"z" * 3000))))
        await parts.store.puts(2)
        calls.append(asyncio.ensure_future(parts.append(parts.batch(b"c"))))
        await parts.store.puts(3)
        for index in (2, 1, 0):
            parts.store.let_go(index)
        results = await asyncio.gather(*calls)
        assert [result[0].base_offset for result in results] == [0, 1, 2]

    run_parts(test, WriterLimits(buffer_max_bytes=2000, commit_interval_s=0.05))


def test_interval_mode_flushes_by_size_and_time_only() -> None:
    async def test(parts: Parts) -> None:
        call = asyncio.ensure_future(parts.append(parts.batch(b"a")))
        await asyncio.sleep(0.02)
        assert parts.store.started == []
        await call
        await asyncio.gather(*[parts.append(parts.batch(b"x" * 600)) for _ in range(3)])
        assert len(parts.store.started) == 2

    run_parts(test, WriterLimits(buffer_max_bytes=2000, commit_interval_s=0.1, adaptive=False))


def test_a_failed_object_costs_its_own_requests_only() -> None:
    async def test(parts: Parts) -> None:
        parts.store.hold = True
        calls = []
        for number in range(3):
            calls.append(asyncio.ensure_future(parts.append(parts.batch(b"%d" % number))))
            await parts.store.puts(number + 1)
        parts.store.let_go(2)
        await asyncio.sleep(0.02)
        assert not any(call.done() for call in calls), "a commit overtook an object before it"
        parts.store.let_go(0)
        assert (await calls[0])[0].base_offset == 0
        parts.store.let_go(1, ok=False)
        assert (await calls[1])[0].error is ErrorKind.STORAGE_FAILED
        assert (await calls[2])[0].base_offset == 1

    run_parts(test, WriterLimits(uploads_in_flight=3))


def test_a_condemned_key_is_uploaded_again_and_keeps_its_place() -> None:
    async def test(parts: Parts) -> None:
        parts.store.hold = True
        calls = []
        for number in range(3):
            calls.append(asyncio.ensure_future(parts.append(parts.batch(b"%d" % number))))
            await parts.store.puts(number + 1)
        assert await parts.plane.condemn(parts.store.started[0]) is None
        for index in range(3):
            parts.store.let_go(index)
        await parts.store.puts(4)
        await asyncio.sleep(0.02)
        assert not any(call.done() for call in calls)
        parts.store.let_go(3)
        results = await asyncio.gather(*calls)
        assert [result[0].base_offset for result in results] == [0, 1, 2]
        assert len(set(parts.store.started)) == 4

    run_parts(test, WriterLimits(uploads_in_flight=3))


def test_a_fenced_writer_refuses_everything() -> None:
    async def test(parts: Parts) -> None:
        await parts.write(b"a")
        await parts.plane.register(BrokerRegistration(1, None, ()))
        (result,) = await parts.append(parts.batch(b"b"))
        assert result.error is ErrorKind.FENCED
        assert parts.writer.fenced.is_set()
        assert (await parts.append(parts.batch(b"c")))[0].error is ErrorKind.FENCED
        assert await parts.high_watermark() == 1

    run_parts(test)


def test_results_stand_in_the_order_of_the_request() -> None:
    async def test(parts: Parts) -> None:
        batches = [parts.batch(b"x" * n, partition=p) for n, p in [(1, 3), (2, 0), (3, 3), (4, 1), (5, 9)]]
        results = await parts.append(*batches)
        assert [result.base_offset for result in results] == [0, 0, 1, 0, -1]
        assert results[4].error is ErrorKind.UNKNOWN_TOPIC_OR_PARTITION

    run_parts(test)


def test_drain_answers_everything_and_takes_no_more() -> None:
    async def test(parts: Parts) -> None:
        calls = [asyncio.ensure_future(parts.append(parts.batch(b"a"))) for _ in range(10)]
        await asyncio.sleep(0)
        await parts.writer.drain()
        assert [(await call)[0].base_offset for call in calls] == list(range(10))
        assert (await parts.append(parts.batch(b"b")))[0].error is ErrorKind.SHUTTING_DOWN

    run_parts(test, WriterLimits(adaptive=False, commit_interval_s=60))


def test_close_tells_the_truth_about_what_was_under_way() -> None:
    async def test(parts: Parts) -> None:
        parts.store.hold = True
        on_its_way = asyncio.ensure_future(parts.append(parts.batch(b"a")))
        await parts.store.puts(1)
        buffered = asyncio.ensure_future(parts.append(parts.batch(b"b")))
        await asyncio.sleep(0)
        await parts.writer.close()
        assert (await on_its_way)[0].error is ErrorKind.OUTCOME_UNKNOWN
        assert (await buffered)[0].error is ErrorKind.SHUTTING_DOWN

    run_parts(test)


def test_one_object_holds_many_partitions_and_can_be_read_alone() -> None:
    async def test(parts: Parts) -> None:
        from inkless.storage.object_format import decode_tail

        await parts.append(*[parts.batch(b"v", partition=at) for at in (2, 0, 1, 0)])
        (key,) = parts.store.started
        data = memoryview(await parts.store.get_all(key))
        entries = decode_tail(data, len(data))
        assert [(entry.partition, entry.batches, entry.records) for entry in entries] == [
            (0, 2, 2),
            (1, 1, 1),
            (2, 1, 1),
        ]

    run_parts(test, WriterLimits(buffer_max_bytes=MIB))


def test_a_commit_that_never_ends_well_is_given_up_with_the_truth() -> None:
    async def test(parts: Parts) -> None:
        async def unknown(*_: object) -> None:
            raise CommitOutcomeUnknown("the disk is full at the end of each commit")

        parts.plane.commit = unknown  # type: ignore[method-assign, assignment]
        (result,) = await parts.append(parts.batch(b"a"))
        assert result.error is ErrorKind.STORAGE_FAILED
        assert len(parts.store.started) < 10
        assert await parts.high_watermark() == 0

    run_parts(test)


def test_drain_waits_for_a_commit_under_way_and_close_answers_it() -> None:
    async def test(parts: Parts) -> None:
        commit, gate, entered = parts.plane.commit, asyncio.Event(), asyncio.Event()

        async def held(*arguments: Any) -> Any:
            entered.set()
            await gate.wait()
            return await commit(*arguments)

        parts.plane.commit = held  # type: ignore[method-assign]
        call = asyncio.ensure_future(parts.append(parts.batch(b"a")))
        await entered.wait()
        draining = asyncio.ensure_future(parts.writer.drain())
        await asyncio.sleep(0.02)
        assert not draining.done()
        await parts.writer.close()
        assert (await call)[0].error is ErrorKind.OUTCOME_UNKNOWN
        draining.cancel()

    run_parts(test)
