"""Every client writes and reads back: the same bytes, keys, headers, timestamps and order."""

import itertools
import random
import time

import pytest
from client_port import CODECS, MESSAGE_TOO_LARGE, Client, Refused
from reading import read_all
from sample_records import FIRST_TIMESTAMP, RECORDS, Record, check_same, numbered, sample

PARTITIONS = 4
MEBIBYTE = 1024 * 1024


@pytest.mark.slow
@pytest.mark.parametrize("codec", CODECS)
def test_codecs(client: Client, topic: str, codec: str) -> None:
    records = sample(RECORDS, PARTITIONS, null_headers=client.null_headers, null_records=client.null_records)
    client.create_topic(topic, PARTITIONS)
    with client.writer(codec=codec) as writer:
        writer.write(topic, records)
    check_same(records, read_all(client, topic, range(PARTITIONS)))


def test_null_and_empty(client: Client, topic: str) -> None:
    kinds = (None, b"", b"x")
    headers: list[tuple[tuple[str, bytes | None], ...]] = [(), (("h", b""),), (("h", b"1"), ("h", b"2"), ("", b"3"))]
    if client.null_headers:
        headers.append((("h", None),))
    records = [
        Record(number % 2, key, value, FIRST_TIMESTAMP + number, some)
        for number, (key, value, some) in enumerate(itertools.product(kinds, kinds, headers))
        if client.null_records or not key is value is None
    ]
    client.create_topic(topic, 2)
    with client.writer() as writer:
        writer.write(topic, records)
    check_same(records, read_all(client, topic, range(2)))


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_acks(client: Client, topic: str, acks: str) -> None:
    records = numbered(100, 3)
    client.create_topic(topic, 3)
    with client.writer(acks=acks) as writer:
        writer.write(topic, records)
    check_same(records, read_all(client, topic, {0: 34, 1: 33, 2: 33}))


def test_one_megabyte(client: Client, topic: str) -> None:
    """It fits into the broker's defaults; clients count their own limits with other overheads."""
    record = Record(0, b"key", random.Random(1).randbytes(1_000_000), FIRST_TIMESTAMP)
    client.create_topic(topic)
    with client.writer(record_max_bytes=1_048_588) as writer:
        writer.write(topic, [record, record])
    check_same([record, record], read_all(client, topic, [0]))


def test_more_than_a_mebibyte(client: Client, topic: str) -> None:
    """The topic allows it, as it has to in Kafka; a fetch with default limits still gets it."""
    record = Record(0, None, random.Random(2).randbytes(3 * MEBIBYTE), FIRST_TIMESTAMP)
    client.create_topic(topic, configs={"max.message.bytes": str(4 * MEBIBYTE)})
    with client.writer(record_max_bytes=4 * MEBIBYTE) as writer:
        writer.write(topic, [record, record])
    check_same([record, record], read_all(client, topic, [0]))


def test_too_large_for_the_broker(client: Client, topic: str) -> None:
    good = numbered(2, 1)
    client.create_topic(topic)
    with client.writer(record_max_bytes=4 * MEBIBYTE) as writer:
        writer.write(topic, good[:1])
        with pytest.raises(Refused) as caught:
            writer.write(topic, [Record(0, None, bytes(2 * MEBIBYTE), FIRST_TIMESTAMP)])
        assert caught.value.code == MESSAGE_TOO_LARGE
    with client.writer() as writer:  # another one, as kafka-python gives up an idempotent producer after any error
        writer.write(topic, good[1:])
    check_same(good, read_all(client, topic, [0]))


def test_too_large_for_the_client(client: Client, topic: str) -> None:
    client.create_topic(topic)
    with client.writer() as writer, pytest.raises(Refused) as caught:
        writer.write(topic, [Record(0, None, bytes(2 * MEBIBYTE), FIRST_TIMESTAMP)])
    assert caught.value.code == MESSAGE_TOO_LARGE
    assert client.bounds(topic, [0]) == {0: (0, 0)}


def test_own_timestamps(client: Client, topic: str) -> None:
    """Without one given, a record has the time at which the client took it."""
    client.create_topic(topic)
    before = time.time_ns() // 1_000_000
    with client.writer() as writer:
        writer.write(topic, [Record(0, None, b"now", None)])
    after = time.time_ns() // 1_000_000
    [received] = read_all(client, topic, [0])[0]
    assert before <= received.record.timestamp <= after
