"""Every client reads from where it wants to, in pieces of any size, and waits at the tail without delay."""

import statistics
import subprocess
import sys
import time

from client_port import Client
from confluent_client import ConfluentClient
from confluent_kafka import TopicPartition
from confluent_kafka.admin import OffsetSpec
from kafka import OffsetSpec as KafkaPythonOffsetSpec
from kafka import TopicPartition as KafkaPythonPartition
from kafka_python_client import KafkaPythonClient
from reading import read, read_all
from sample_records import FIRST_TIMESTAMP, Received, Record, check_same, numbered

LONG_WAIT_MS = 10_000
AT_ONCE_S = 0.1
ROUNDS = 11


def test_from_the_middle(client: Client, topic: str) -> None:
    records = numbered(100, 2)
    client.create_topic(topic, 2)
    with client.writer() as writer:
        writer.write(topic, records)
    with client.reader(topic, {0: 49, 1: 25}) as reader:
        got = read(reader, 26)
    split = {partition: [item for item in got if item.record.partition == partition] for partition in (0, 1)}
    assert split[0] == [Received(49, records[98])]
    assert split[1] == [Received(offset, records[2 * offset + 1]) for offset in range(25, 50)]


def test_past_the_end(client: Client, topic: str) -> None:
    """OFFSET_OUT_OF_RANGE makes a client start over at its reset policy, here the earliest."""
    records = numbered(10, 1)
    client.create_topic(topic)
    with client.writer() as writer:
        writer.write(topic, records)
    with client.reader(topic, {0: 1000}) as reader:
        check_same(records, {0: read(reader, 10)})


def test_bounds(client: Client, topic: str) -> None:
    client.create_topic(topic, 3)
    with client.writer() as writer:
        writer.write(topic, [Record(1, None, b"x", FIRST_TIMESTAMP)] * 7)
    assert client.bounds(topic, range(3)) == {0: (0, 0), 1: (0, 7), 2: (0, 0)}


def test_offsets_by_timestamp(client: Client, topic: str) -> None:
    """Exact to the record, also within one compressed batch and where timestamps go back."""
    times = [100, 200, 150, 300, 300, 250, 400]
    records = [Record(0, None, b"%d" % time_ms, FIRST_TIMESTAMP + time_ms) for time_ms in times]
    client.create_topic(topic, 2)
    with client.writer(codec="gzip") as writer:
        writer.write(topic, records)
    for asked, offset in [(0, 0), (100, 0), (101, 1), (200, 1), (201, 3), (301, 6), (400, 6), (401, None)]:
        found = client.offsets_at(topic, {0: FIRST_TIMESTAMP + asked, 1: FIRST_TIMESTAMP})
        assert found == {0: offset, 1: None}, asked


def test_offsets_by_confluent_admin(address: str, topic: str) -> None:
    client = ConfluentClient(address)
    _write_three(client, topic)
    place = TopicPartition(topic, 0)
    specs = {
        OffsetSpec.earliest(): 0,
        OffsetSpec.latest(): 3,
        OffsetSpec.max_timestamp(): 1,
        OffsetSpec.for_timestamp(FIRST_TIMESTAMP + 6): 1,
    }
    for spec, offset in specs.items():
        assert client.admin.list_offsets({place: spec})[place].result(10).offset == offset


def test_offsets_by_kafka_python_admin(address: str, topic: str) -> None:
    client = KafkaPythonClient(address)
    _write_three(client, topic)
    place = KafkaPythonPartition(topic, 0)
    specs = {
        KafkaPythonOffsetSpec.EARLIEST: 0,
        KafkaPythonOffsetSpec.LATEST: 3,
        KafkaPythonOffsetSpec.MAX_TIMESTAMP: 1,
        FIRST_TIMESTAMP + 6: 1,
    }
    for spec, offset in specs.items():
        assert client.admin.list_partition_offsets({place: spec})[place].offset == offset
    client.close()


def _write_three(client: Client, topic: str) -> None:
    client.create_topic(topic)
    with client.writer() as writer:
        writer.write(topic, [Record(0, None, b"x", FIRST_TIMESTAMP + time_ms) for time_ms in (5, 9, 7)])


def test_tiny_fetches(client: Client, topic: str) -> None:
    """A batch larger than the client's limit comes whole, and no partition is left behind."""
    records = [Record(number % 3, None, b"%03d" % number * 300, FIRST_TIMESTAMP) for number in range(60)]
    client.create_topic(topic, 3)
    with client.writer() as writer:
        for first in range(0, 60, 6):
            writer.write(topic, records[first : first + 6])
    check_same(records, read_all(client, topic, range(3), partition_max_bytes=1))


def test_many_partitions(client: Client, topic: str) -> None:
    """Enough of them for an incremental fetch session to leave most out of its answers."""
    first, second = numbered(500, 100), numbered(30, 3)
    client.create_topic(topic, 100)
    with client.writer() as writer, client.reader(topic, dict.fromkeys(range(100), 0)) as reader:
        writer.write(topic, first)
        got = read(reader, len(first))
        writer.write(topic, second)
        got += read(reader, len(second))
    split = {partition: [item for item in got if item.record.partition == partition] for partition in range(100)}
    check_same(first + second, split)


def test_waiting_at_the_tail(client: Client, topic: str) -> None:
    """A fetch that could wait for ten seconds is answered when a record comes."""
    records = numbered(ROUNDS, 1)
    client.create_topic(topic)
    delays_s = []
    with client.writer() as writer, client.reader(topic, {0: 0}, max_wait_ms=LONG_WAIT_MS) as reader:
        assert reader.poll(0.2) == []
        for number, record in enumerate(records):
            start = time.monotonic()
            writer.write(topic, [record])
            assert read(reader, 1) == [Received(number, record)]
            delays_s.append(time.monotonic() - start)
    print([f"{delay_s * 1000:.1f} ms" for delay_s in delays_s])
    assert statistics.median(delays_s) < AT_ONCE_S
    assert max(delays_s) < LONG_WAIT_MS / 1000 / 2


def test_an_assignment_without_an_offset_starts_where_the_reset_policy_says(address: str) -> None:
    """In a process of its own: librdkafka crashes where OffsetFetch is not offered."""
    program = """
import sys
from confluent_kafka import Consumer, Producer, TopicPartition
address = sys.argv[1]
producer = Producer({"bootstrap.servers": address})
producer.produce("assigned-without-offset", b"first")
assert producer.flush(20) == 0
consumer = Consumer({"bootstrap.servers": address, "group.id": "g", "auto.offset.reset": "earliest"})
consumer.assign([TopicPartition("assigned-without-offset", 0)])
print(consumer.poll(20).value())
consumer.close()
"""
    done = subprocess.run([sys.executable, "-c", program, address], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip()) == (0, "b'first'"), done.stderr
