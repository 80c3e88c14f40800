"""Writing: batches, order, retries that write once, and what happens to those that can't be written."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from fake_broker import CLOSE, SILENCE
from fake_topic import NAME, FakeTopic, batches_of, produce_response

from inkless.client.cluster import Address, Cluster
from inkless.client.errors import BrokerError, ClientError, RequestTimedOut
from inkless.client.lane import Delivered
from inkless.client.options import ProducerOptions
from inkless.client.partitioner import partition_of_key
from inkless.client.producer import Producer
from inkless.core.clock import SystemClock
from inkless.records.batch import read_header
from inkless.records.record import Record, decode_records
from inkless.wire.error_codes import ErrorCode
from inkless.wire.init_producer_id import InitProducerIdRequest
from inkless.wire.produce import ProduceRequest


@asynccontextmanager
async def producing(topic: FakeTopic, timeout_s: float = 5.0, **options: Any) -> AsyncIterator[Producer]:
    addresses = [Address(broker.host, broker.port) for broker in topic.brokers.values()]
    cluster = Cluster(addresses, "me", SystemClock(), timeout_s)
    producer = Producer(cluster, ProducerOptions(**options))
    try:
        yield producer
    finally:
        await producer.close()
        await cluster.close()


def values(batch: bytes) -> list[bytes | None]:
    return [record.value for record in decode_records(memoryview(batch), 1 << 20)]


def test_records_are_gathered_and_told_their_offsets() -> None:
    async def body() -> None:
        topic = FakeTopic([1])
        async with topic.broker(1) as broker, producing(topic) as producer:
            futures = [await producer.send(NAME, b"%d" % n) for n in range(10)]
            await producer.flush()
            assert [future.result() for future in futures] == [Delivered(0, n) for n in range(10)]
            ((_, batch),) = topic.written
            assert values(batch) == [b"%d" % n for n in range(10)]
            header = read_header(batch)
            assert (header.producer_id, header.producer_epoch, header.base_sequence) == (1, 0, 0)
            (request,) = broker.requests_of(ProduceRequest)
            assert request.acks == -1

    asyncio.run(body())


def test_everything_of_a_record_is_written() -> None:
    async def body() -> None:
        topic = FakeTopic([1, 1, 1])
        async with topic.broker(1), producing(topic) as producer:
            headers = [("a", b"1"), ("a", None), ("", b"")]
            sent = await producer.send(NAME, None, b"", headers, partition=2, timestamp=17)
            await producer.flush()
            assert sent.result() == Delivered(2, 0)
            ((partition, batch),) = topic.written
            assert partition == 2
            assert decode_records(memoryview(batch), 1000) == [Record(0, 17, b"", None, tuple(headers))]

    asyncio.run(body())


def test_a_lost_answer_is_asked_for_with_the_same_bytes() -> None:
    async def body() -> None:
        topic = FakeTopic([1])
        seen: list[bytes] = []

        def lose_the_first(request: ProduceRequest) -> Any:
            seen.append(batches_of(request)[0][1])
            return CLOSE if len(seen) == 1 else topic.produce(request)

        async with topic.broker(1, ProduceRequest=lose_the_first), producing(topic) as producer:
            first = await producer.send(NAME, b"a")
            await producer.flush()
            second = await producer.send(NAME, b"b")
            await producer.flush()
            assert first.result() == Delivered(0, 0)
            assert second.result() == Delivered(0, 1)
            assert seen[0] == seen[1]
            assert [read_header(batch).base_sequence for batch in seen] == [0, 0, 1]

    asyncio.run(body())


def test_a_new_leader_is_followed() -> None:
    async def body() -> None:
        topic = FakeTopic([1])

        def move(_: ProduceRequest) -> Any:
            topic.leaders = [2]
            return produce_response(0, ErrorCode.NOT_LEADER_OR_FOLLOWER)

        async with topic.broker(1, ProduceRequest=move), topic.broker(2) as second, producing(topic) as producer:
            sent = await producer.send(NAME, b"a")
            await producer.flush()
            assert sent.result() == Delivered(0, 0)
            assert len(second.requests_of(ProduceRequest)) == 1

    asyncio.run(body())


def test_a_batch_in_flight_lets_the_next_one_grow_and_keeps_the_order() -> None:
    async def body() -> None:
        topic = FakeTopic([1])
        release = asyncio.Event()

        async def slowly(request: ProduceRequest) -> Any:
            await release.wait()
            return topic.produce(request)

        async with topic.broker(1, ProduceRequest=slowly) as broker, producing(topic, linger_ms=0) as producer:
            futures = [await producer.send(NAME, b"first")]
            while not broker.requests_of(ProduceRequest):
                await asyncio.sleep(0.001)
            futures += [await producer.send(NAME, b"%d" % n) for n in range(5)]
            await asyncio.sleep(0.01)
            assert len(broker.requests_of(ProduceRequest)) == 1
            release.set()
            await producer.flush()
            assert [values(batch) for _, batch in topic.written] == [[b"first"], [b"0", b"1", b"2", b"3", b"4"]]
            assert [future.result().offset for future in futures] == [0, 1, 2, 3, 4, 5]

    asyncio.run(body())


def test_a_batch_that_is_too_large_is_halved() -> None:
    async def body() -> None:
        topic = FakeTopic([1])

        def at_most_three(request: ProduceRequest) -> Any:
            ((partition, batch),) = batches_of(request)
            if read_header(batch).record_count > 3:
                return produce_response(partition, ErrorCode.MESSAGE_TOO_LARGE)
            return topic.produce(request)

        async with topic.broker(1, ProduceRequest=at_most_three), producing(topic) as producer:
            futures = [await producer.send(NAME, b"%d" % n) for n in range(10)]
            await producer.flush()
            assert [future.result().offset for future in futures] == list(range(10))
            written = [value for _, batch in topic.written for value in values(batch)]
            assert written == [b"%d" % n for n in range(10)]
            # Each id starts at sequence 0 and goes on without a gap.
            sequences: dict[int, int] = {}
            for _, batch in topic.written:
                header = read_header(batch)
                assert header.base_sequence == sequences.get(header.producer_id, 0)
                sequences[header.producer_id] = header.base_sequence + header.record_count

    asyncio.run(body())


def test_a_refused_record_fails_alone_and_the_next_has_another_producer_id() -> None:
    async def body() -> None:
        topic = FakeTopic([1])
        refused = iter([ErrorCode.MESSAGE_TOO_LARGE])

        def refuse(request: ProduceRequest) -> Any:
            code = next(refused, None)
            return topic.produce(request) if code is None else produce_response(0, code)

        async with topic.broker(1, ProduceRequest=refuse), producing(topic) as producer:
            failed = await producer.send(NAME, b"large")
            await producer.flush()
            with pytest.raises(BrokerError, match="MESSAGE_TOO_LARGE"):
                failed.result()
            sent = await producer.send(NAME, b"small")
            await producer.flush()
            assert sent.result() == Delivered(0, 0)
            header = read_header(topic.written[0][1])
            assert (header.producer_id, header.base_sequence) == (2, 0)

    asyncio.run(body())


def test_an_id_that_failed_in_one_partition_serves_the_others() -> None:
    async def body() -> None:
        topic = FakeTopic([1, 1])
        refused = iter([ErrorCode.INVALID_RECORD])

        def refuse(request: ProduceRequest) -> Any:
            ((partition, _),) = batches_of(request)
            code = next(refused, None) if partition == 0 else None
            return topic.produce(request) if code is None else produce_response(partition, code)

        async with topic.broker(1, ProduceRequest=refuse) as broker, producing(topic) as producer:
            await producer.send(NAME, b"a", partition=1)
            await producer.flush()
            failed = await producer.send(NAME, b"a", partition=0)
            await producer.flush()
            assert isinstance(failed.exception(), BrokerError)
            for partition in (0, 1):
                await producer.send(NAME, b"b", partition=partition)
            await producer.flush()
            headers = [(partition, read_header(batch)) for partition, batch in topic.written]
            assert sorted((at, header.producer_id, header.base_sequence) for at, header in headers) == [
                (0, 2, 0),
                (1, 1, 0),
                (1, 1, 1),
            ]
            assert len(broker.requests_of(InitProducerIdRequest)) == 2

    asyncio.run(body())


def test_silence_until_the_deadline_fails_the_batch() -> None:
    async def body() -> None:
        topic = FakeTopic([1])
        silent = topic.broker(1, ProduceRequest=lambda _: SILENCE)
        async with silent, producing(topic, timeout_s=0.05, delivery_timeout_ms=200) as producer:
            sent = await producer.send(NAME, b"a")
            await producer.flush()
            assert isinstance(sent.exception(), RequestTimedOut)
            assert len(silent.requests_of(ProduceRequest)) > 1

    asyncio.run(body())


def test_flush_does_not_linger() -> None:
    async def body() -> None:
        topic = FakeTopic([1])
        async with topic.broker(1), producing(topic, linger_ms=60_000, batch_size=60) as producer:
            futures = [await producer.send(NAME, b"%20d" % n) for n in range(4)]
            async with asyncio.timeout(5):
                await producer.flush()
            assert [future.result().offset for future in futures] == [0, 1, 2, 3]
            assert len(topic.written) == 4

    asyncio.run(body())


def test_a_full_batch_does_not_linger() -> None:
    async def body() -> None:
        topic = FakeTopic([1])
        async with topic.broker(1), producing(topic, linger_ms=60_000, batch_size=200) as producer:
            sent = await producer.send(NAME, bytes(300))
            async with asyncio.timeout(5):
                assert await sent == Delivered(0, 0)

    asyncio.run(body())


def test_without_keys_partitions_take_turns_by_batch() -> None:
    async def body() -> None:
        topic = FakeTopic([1, 1, 1])
        async with topic.broker(1), producing(topic, linger_ms=60_000, batch_size=300) as producer:
            for n in range(60):
                await producer.send(NAME, b"%10d" % n)
            await producer.flush()
            counts = [read_header(batch).record_count for _, batch in topic.written]
            assert sum(counts) == 60
            assert max(counts) > 5
            per_partition = {partition for partition, _ in topic.written}
            assert per_partition == {0, 1, 2}

    asyncio.run(body())


def test_keys_choose_their_partition() -> None:
    async def body() -> None:
        topic = FakeTopic([1] * 5)
        async with topic.broker(1), producing(topic) as producer:
            futures = {key: await producer.send(NAME, b"v", key) for key in (b"", b"a", b"b", b"foobar")}
            await producer.flush()
            for key, future in futures.items():
                assert future.result().partition == partition_of_key(key, 5)

    asyncio.run(body())


def test_a_partition_that_is_not_there() -> None:
    async def body() -> None:
        topic = FakeTopic([1])
        async with topic.broker(1), producing(topic) as producer:
            with pytest.raises(ClientError, match="topic t has no partition 1, only 0"):
                await producer.send(NAME, b"v", partition=1)

    asyncio.run(body())


def test_send_waits_for_room() -> None:
    async def body() -> None:
        topic = FakeTopic([1])
        release = asyncio.Event()

        async def slowly(request: ProduceRequest) -> Any:
            await release.wait()
            return topic.produce(request)

        async with topic.broker(1, ProduceRequest=slowly), producing(topic, buffer_memory=1000) as producer:
            await producer.send(NAME, bytes(2000))
            waiting = asyncio.create_task(producer.send(NAME, b"next"))
            await asyncio.sleep(0.02)
            assert not waiting.done()
            release.set()
            await (await waiting)
            assert len(topic.written) == 2

    asyncio.run(body())


def test_acks_0_waits_for_nobody_and_is_not_idempotent() -> None:
    async def body() -> None:
        topic = FakeTopic([1])

        def swallow(request: ProduceRequest) -> Any:
            topic.produce(request)
            return SILENCE

        async with topic.broker(1, ProduceRequest=swallow) as broker, producing(topic, acks=0) as producer:
            sent = await producer.send(NAME, b"a")
            await producer.flush()
            assert sent.result() == Delivered(0, -1)
            while not topic.written:
                await asyncio.sleep(0.001)
            assert read_header(topic.written[0][1]).producer_id == -1
            assert broker.requests_of(InitProducerIdRequest) == []

    asyncio.run(body())


def test_a_duplicate_is_a_success() -> None:
    async def body() -> None:
        topic = FakeTopic([1])
        answer = produce_response(0, ErrorCode.DUPLICATE_SEQUENCE_NUMBER)
        async with topic.broker(1, ProduceRequest=lambda _: answer), producing(topic) as producer:
            sent = await producer.send(NAME, b"a")
            await producer.flush()
            assert sent.result() == Delivered(0, -1)

    asyncio.run(body())


def test_close_leaves_nobody_waiting() -> None:
    async def body() -> None:
        topic = FakeTopic([1])
        async with topic.broker(1, ProduceRequest=lambda _: SILENCE), producing(topic) as producer:
            flying = await producer.send(NAME, b"a")
            await asyncio.sleep(0.02)
            waiting = await producer.send(NAME, b"b")
            await producer.close()
            assert flying.cancelled()
            assert waiting.cancelled()

    asyncio.run(body())
