"""The client against the real broker, and side by side with librdkafka."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import confluent_kafka
import pytest

from inkless.client import admin
from inkless.client.cluster import Cluster, parse_bootstrap
from inkless.client.consumer import Consumer
from inkless.client.errors import BrokerError
from inkless.client.offsets import EARLIEST, AtTime
from inkless.client.options import ConsumerOptions, ProducerOptions
from inkless.client.probe import Answering, who_answers
from inkless.client.producer import Producer
from inkless.core.clock import SystemClock
from inkless.records.record import Record
from inkless.testing import RunningBroker, broker

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
HEADERS = (("h", b"1"), ("h", None), ("empty", b""))


@asynccontextmanager
async def cluster_of(running: RunningBroker) -> AsyncIterator[Cluster]:
    cluster = Cluster(parse_bootstrap(running.bootstrap_servers), "me", SystemClock(), 10.0)
    try:
        yield cluster
    finally:
        await cluster.close()


async def read_all(cluster: Cluster, topic: str, count: int, partitions: int) -> dict[int, list[Record]]:
    consumer = Consumer(cluster, topic, dict.fromkeys(range(partitions), EARLIEST), ConsumerOptions())
    found: dict[int, list[Record]] = {partition: [] for partition in range(partitions)}
    try:
        await consumer.open()
        async with asyncio.timeout(20):
            while sum(map(len, found.values())) < count:
                for each in await consumer.poll(1):
                    found[each.partition].append(each.record)
    finally:
        await consumer.close()
    return found


def numbered(count: int) -> list[Record]:
    """Records with every kind of key and value, some of them large."""
    keys = (None, b"", b"key")
    return [
        Record(n, 1_700_000_000_000 + n, keys[n % 3], None if n % 7 == 0 else b"%d" % n * (n % 50), HEADERS[: n % 4])
        for n in range(count)
    ]


@pytest.mark.parametrize("codec", CODECS)
def test_what_is_written_is_read(inkless_broker: RunningBroker, codec: str) -> None:
    topic = f"round-trip-{codec}"

    async def body() -> None:
        async with cluster_of(inkless_broker) as cluster:
            await admin.create_topic(cluster, topic, 1)
            producer = Producer(cluster, ProducerOptions(compression_type=codec, batch_size=10_000))
            records = numbered(1000)
            futures = [
                await producer.send(topic, each.value, each.key, each.headers, timestamp=each.timestamp)
                for each in records
            ]
            await producer.flush()
            assert [future.result().offset for future in futures] == list(range(1000))
            assert (await read_all(cluster, topic, 1000, 1))[0] == records

    asyncio.run(body())


def test_librdkafka_reads_what_is_written_here_and_agrees_on_the_partitions(inkless_broker: RunningBroker) -> None:
    topic, partitions = "interop", 7
    keys = [b"key-%d" % n for n in range(200)]

    async def write() -> None:
        async with cluster_of(inkless_broker) as cluster:
            await admin.create_topic(cluster, topic, partitions)
            producer = Producer(cluster, ProducerOptions(compression_type="lz4"))
            for key in keys:
                await producer.send(topic, b"here", key, HEADERS, timestamp=17)
            await producer.flush()

    asyncio.run(write())
    settings = {"bootstrap.servers": inkless_broker.bootstrap_servers}
    producer = confluent_kafka.Producer({**settings, "partitioner": "murmur2", "compression.type": "zstd"})
    for key in keys:
        producer.produce(topic, b"there", key, headers=list(HEADERS), timestamp=18)
    assert producer.flush(20) == 0

    async def read() -> dict[int, list[Record]]:
        async with cluster_of(inkless_broker) as cluster:
            return await read_all(cluster, topic, 2 * len(keys), partitions)

    for records in asyncio.run(read()).values():
        here = [record for record in records if record.value == b"here"]
        there = [record for record in records if record.value == b"there"]
        assert here
        assert [record.key for record in here] == [record.key for record in there]
        assert {record.headers for record in records} == {HEADERS}
        assert {record.timestamp for record in here} == {17}

    consumer = confluent_kafka.Consumer({**settings, "group.id": "unused", "enable.auto.commit": False})
    consumer.assign([confluent_kafka.TopicPartition(topic, partition, 0) for partition in range(partitions)])
    messages: list[confluent_kafka.Message] = []
    while len(messages) < 2 * len(keys):
        received = consumer.consume(2 * len(keys) - len(messages), timeout=10)
        assert received
        messages += received
    consumer.close()
    assert all(message.error() is None for message in messages)
    assert sorted(message.key() for message in messages if message.value() == b"here") == sorted(keys)


def test_topics(inkless_broker: RunningBroker) -> None:
    async def body() -> None:
        async with cluster_of(inkless_broker) as cluster:
            made = await admin.create_topic(cluster, "admin", 3)
            assert made.partitions == 3
            with pytest.raises(BrokerError, match="TOPIC_ALREADY_EXISTS: topic admin"):
                await admin.create_topic(cluster, "admin", 3)
            listed = {topic.name: topic for topic in await admin.list_topics(cluster)}
            assert listed["admin"].topic_id == made.topic_id
            described = await admin.describe_topics(cluster, ["admin", "nope"])
            assert described["admin"] == listed["admin"]
            assert isinstance(described["nope"], BrokerError)
            await admin.delete_topic(cluster, "admin")
            with pytest.raises(BrokerError, match="there is no topic admin"):
                await admin.delete_topic(cluster, "admin")
            assert "admin" not in {topic.name for topic in await admin.list_topics(cluster)}

    asyncio.run(body())


def test_a_record_that_is_too_large_is_refused_and_a_batch_split(inkless_broker: RunningBroker) -> None:
    async def body() -> None:
        async with cluster_of(inkless_broker) as cluster:
            await admin.create_topic(cluster, "large", 1)
            producer = Producer(cluster, ProducerOptions(batch_size=4_000_000, linger_ms=100))
            futures = [await producer.send("large", bytes(size)) for size in (900_000, 900_000, 1_100_000, 900_000)]
            await producer.flush()
            assert [future.exception() is None for future in futures] == [True, True, False, True]
            with pytest.raises(BrokerError, match="MESSAGE_TOO_LARGE"):
                futures[2].result()
            records = (await read_all(cluster, "large", 3, 1))[0]
            assert [record.offset for record in records] == [0, 1, 2]

    asyncio.run(body())


def test_reading_starts_at_a_time(inkless_broker: RunningBroker) -> None:
    async def body() -> None:
        async with cluster_of(inkless_broker) as cluster:
            await admin.create_topic(cluster, "times", 1)
            producer = Producer(cluster, ProducerOptions())
            for timestamp in (100, 200, 300):
                await producer.send("times", b"%d" % timestamp, timestamp=timestamp)
                await producer.flush()
            consumer = Consumer(cluster, "times", {0: AtTime(150)}, ConsumerOptions())
            await consumer.open()
            assert [each.record.value for each in await consumer.poll(5)] == [b"200", b"300"]
            await consumer.close()

    asyncio.run(body())


def test_each_broker_says_who_it_is() -> None:
    with broker(node_id=7) as running:
        found = asyncio.run(who_answers("127.0.0.1", running.port, 5))
        assert found == Answering(running.cluster_id, 7)


def test_a_restarted_broker_is_found_again(tmp_path: object) -> None:
    """Nothing is lost and nothing is written twice while the broker is away for a moment."""

    async def body() -> None:
        with broker({"inkless.data.dir": tmp_path}) as first:
            port = first.port
            async with cluster_of(first) as cluster:
                producer = Producer(cluster, ProducerOptions(linger_ms=0))
                futures = [await producer.send("again", b"0")]
                await producer.flush()
                await asyncio.to_thread(first.stop)
                futures.append(await producer.send("again", b"1"))
                await asyncio.sleep(0.1)
                settings = {"inkless.data.dir": tmp_path, "listeners": f"PLAINTEXT://127.0.0.1:{port}"}
                with broker(settings):
                    futures.append(await producer.send("again", b"2"))
                    await producer.flush()
                    assert [future.result().offset for future in futures] == [0, 1, 2]
                    records = (await read_all(cluster, "again", 3, 1))[0]
                    assert [record.value for record in records] == [b"0", b"1", b"2"]
                    await producer.close()

    asyncio.run(body())
