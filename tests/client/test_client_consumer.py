"""Reading: no record is skipped or seen twice, whatever an answer holds and whatever fails beside it."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from fake_broker import CLOSE
from fake_topic import NAME, FakeTopic, fetch_response

from inkless.client.cluster import Address, Cluster
from inkless.client.consumer import Consumer
from inkless.client.errors import BrokerError, InvalidAnswer
from inkless.client.offsets import EARLIEST, LATEST, AtOffset, Start
from inkless.client.options import ConsumerOptions
from inkless.core.clock import SystemClock
from inkless.records.control import Marker, MarkerKind, encode_marker
from inkless.records.record import Record, encode_batch
from inkless.wire.error_codes import ErrorCode
from inkless.wire.fetch import FetchRequest, PartitionData


@asynccontextmanager
async def consuming(topic: FakeTopic, starts: Mapping[int, Start], **options: Any) -> AsyncIterator[Consumer]:
    addresses = [Address(broker.host, broker.port) for broker in topic.brokers.values()]
    cluster = Cluster(addresses, "me", SystemClock(), 5.0)
    consumer = Consumer(cluster, NAME, starts, ConsumerOptions(**options))
    try:
        await consumer.open()
        yield consumer
    finally:
        await consumer.close()
        await cluster.close()


def batch(*values: bytes, **fields: Any) -> bytes:
    return encode_batch([Record(n, 1000 + n, value=value) for n, value in enumerate(values)], **fields)


async def read(consumer: Consumer, count: int) -> list[tuple[int, int, bytes | None]]:
    found: list[tuple[int, int, bytes | None]] = []
    async with asyncio.timeout(5):
        while len(found) < count:
            found += [(each.partition, each.record.offset, each.record.value) for each in await consumer.poll(1)]
    return found


def test_all_partitions_are_read_from_their_leaders() -> None:
    async def body() -> None:
        topic = FakeTopic([1, 2])
        topic.append(0, batch(b"a", b"b"))
        topic.append(0, batch(b"c"))
        topic.append(1, batch(b"d"))
        async with topic.broker(1), topic.broker(2), consuming(topic, {0: EARLIEST, 1: EARLIEST}) as consumer:
            assert sorted(await read(consumer, 4)) == [(0, 0, b"a"), (0, 1, b"b"), (0, 2, b"c"), (1, 0, b"d")]
            assert consumer.positions == {0: 3, 1: 1}
            topic.append(1, batch(b"e"))
            assert await read(consumer, 1) == [(1, 1, b"e")]

    asyncio.run(body())


def test_records_before_the_asked_offset_are_left_out() -> None:
    async def body() -> None:
        topic = FakeTopic([1])
        topic.append(0, batch(b"a", b"b", b"c"))
        async with topic.broker(1), consuming(topic, {0: AtOffset(1)}) as consumer:
            assert await read(consumer, 2) == [(0, 1, b"b"), (0, 2, b"c")]

    asyncio.run(body())


def test_latest_starts_behind_what_is_there() -> None:
    async def body() -> None:
        topic = FakeTopic([1])
        topic.append(0, batch(b"a"))
        async with topic.broker(1), consuming(topic, {0: LATEST}) as consumer:
            topic.append(0, batch(b"b"))
            assert await read(consumer, 1) == [(0, 1, b"b")]

    asyncio.run(body())


def test_a_batch_cut_off_at_the_end_comes_with_the_next_fetch() -> None:
    async def body() -> None:
        topic = FakeTopic([1])
        topic.append(0, batch(b"a"))
        topic.append(0, batch(b"b"))
        cut = bytes(topic.log[0][:-5])
        answers = iter([fetch_response([PartitionData(partition_index=0, records=cut)])])

        def fetch(request: FetchRequest) -> Any:
            return next(answers, None) or topic.fetch(request)

        async with topic.broker(1, FetchRequest=fetch) as broker, consuming(topic, {0: EARLIEST}) as consumer:
            assert await read(consumer, 2) == [(0, 0, b"a"), (0, 1, b"b")]
            asked = [request.topics[0].partitions[0].fetch_offset for request in broker.requests_of(FetchRequest)]
            assert asked[:2] == [0, 1]

    asyncio.run(body())


def test_control_batches_are_passed_over() -> None:
    async def body() -> None:
        topic = FakeTopic([1])
        topic.append(0, batch(b"a"))
        topic.append(0, encode_marker(Marker(MarkerKind.COMMIT, 1, 0, 0, 1000)))
        topic.append(0, batch(b"b"))
        async with topic.broker(1), consuming(topic, {0: EARLIEST}) as consumer:
            assert await read(consumer, 2) == [(0, 0, b"a"), (0, 2, b"b")]

    asyncio.run(body())


def test_the_brokers_time_is_told_from_the_producers() -> None:
    async def body() -> None:
        topic = FakeTopic([1])
        topic.append(0, batch(b"a"))
        topic.append(0, batch(b"b", append_time=7777))
        async with topic.broker(1), consuming(topic, {0: EARLIEST}) as consumer:
            first, second = await consumer.poll(5)
            assert (first.record.timestamp, first.is_append_time) == (1000, False)
            assert (second.record.timestamp, second.is_append_time) == (7777, True)

    asyncio.run(body())


def test_a_failing_partition_costs_the_others_nothing() -> None:
    async def body() -> None:
        topic = FakeTopic([1, 1])
        for partition in (0, 1):
            topic.append(partition, batch(b"a"))
        codes = iter([ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.KAFKA_STORAGE_ERROR])

        def fetch(request: FetchRequest) -> Any:
            answer = topic.fetch(request)
            for partition in answer.responses[0].partitions:
                if partition.partition_index == 1 and (code := next(codes, None)) is not None:
                    partition.error_code, partition.records = code, b""
            return answer

        async with topic.broker(1, FetchRequest=fetch), consuming(topic, {0: EARLIEST, 1: EARLIEST}) as consumer:
            assert await read(consumer, 2) == [(0, 0, b"a"), (1, 0, b"a")]

    asyncio.run(body())


def test_a_broken_connection_and_a_new_leader_cost_nothing() -> None:
    async def body() -> None:
        topic = FakeTopic([1])
        topic.append(0, batch(b"a"))

        def die(_: FetchRequest) -> Any:
            topic.leaders = [2]
            return CLOSE

        async with topic.broker(1, FetchRequest=die), topic.broker(2), consuming(topic, {0: EARLIEST}) as consumer:
            assert await read(consumer, 1) == [(0, 0, b"a")]

    asyncio.run(body())


def test_a_partition_without_a_leader_does_not_hold_up_the_others() -> None:
    async def body() -> None:
        topic = FakeTopic([1, 1])
        topic.append(0, batch(b"a"))
        topic.append(1, batch(b"b"))
        async with topic.broker(1), consuming(topic, {0: AtOffset(0), 1: AtOffset(0)}) as consumer:
            topic.leaders = [-1, 1]
            assert await read(consumer, 1) == [(1, 0, b"b")]
            topic.leaders = [1, 1]
            assert await read(consumer, 1) == [(0, 0, b"a")]

    asyncio.run(body())


def test_a_failure_that_lasts_is_raised() -> None:
    async def body() -> None:
        topic = FakeTopic([1])
        async with topic.broker(1), consuming(topic, {0: AtOffset(0)}, request_timeout_ms=200) as consumer:
            topic.leaders = [-1]
            with pytest.raises(BrokerError, match="LEADER_NOT_AVAILABLE"):
                await read(consumer, 1)

    asyncio.run(body())


def test_an_offset_out_of_range_is_an_error_that_says_what_is_there() -> None:
    async def body() -> None:
        topic = FakeTopic([1])
        topic.append(0, batch(b"a", b"b"))
        async with topic.broker(1), consuming(topic, {0: AtOffset(9)}) as consumer:
            with pytest.raises(BrokerError, match="t-0 has no offset 9: it starts at 0 and ends before 2"):
                await read(consumer, 1)

    asyncio.run(body())


@pytest.mark.parametrize(
    ("start", "reset", "offsets"),
    [
        (EARLIEST, None, [1, 2]),
        (AtOffset(9), "earliest", [1, 2]),
        (AtOffset(9), "latest", [3]),
    ],
)
def test_reset(start: Start, reset: str | None, offsets: list[int]) -> None:
    async def body() -> None:
        topic = FakeTopic([1])
        topic.append(0, batch(b"0"))
        topic.append(0, batch(b"1"))
        topic.append(0, batch(b"2"))
        async with topic.broker(1), consuming(topic, {0: start}, auto_offset_reset_given=reset) as consumer:
            topic.log_start = 1  # retention has gone over the start in the meantime
            del topic.log[0][: len(batch(b"0"))]
            assert await consumer.poll(5) == []
            await consumer.poll(0)  # resets
            topic.append(0, batch(b"3"))
            assert [offset for _, offset, _ in await read(consumer, len(offsets))][: len(offsets)] == offsets

    asyncio.run(body())


def test_a_damaged_batch_is_an_error_after_the_good_ones_of_other_partitions() -> None:
    async def body() -> None:
        topic = FakeTopic([1, 1])
        topic.append(0, batch(b"good"))
        topic.append(1, batch(b"damaged"))
        topic.log[1][-1] ^= 1
        async with topic.broker(1), consuming(topic, {1: EARLIEST, 0: EARLIEST}) as consumer:
            assert await read(consumer, 1) == [(0, 0, b"good")]
            with pytest.raises(InvalidAnswer, match="t-1: the checksum"):
                await consumer.poll(1)

    asyncio.run(body())


def test_poll_returns_in_time_with_nothing() -> None:
    async def body() -> None:
        topic = FakeTopic([1])

        async def wait(request: FetchRequest) -> Any:
            await asyncio.sleep(0.3)
            return topic.fetch(request)

        async with topic.broker(1, FetchRequest=wait) as broker, consuming(topic, {0: EARLIEST}) as consumer:
            assert await consumer.poll(0.01) == []
            assert await consumer.poll(0.01) == []
            assert len(broker.requests_of(FetchRequest)) == 1  # still the same one

    asyncio.run(body())
