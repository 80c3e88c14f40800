"""Every client makes, lists, grows and deletes topics."""

import contextlib
import time

import pytest
from client_port import PATIENCE_S, TOPIC_ALREADY_EXISTS, UNKNOWN_TOPIC_OR_PARTITION, Client, Refused
from reading import read, read_all
from sample_records import FIRST_TIMESTAMP, Record, check_same, numbered


def test_create_and_list(client: Client, topic: str) -> None:
    client.create_topic(topic, 3)
    client.create_topic(f"{topic}-other")
    listed = client.topics()
    assert (listed[topic], listed[f"{topic}-other"]) == (3, 1)
    with pytest.raises(Refused) as caught:
        client.create_topic(topic)
    assert caught.value.code == TOPIC_ALREADY_EXISTS


def test_first_write_creates(client: Client, topic: str) -> None:
    records = numbered(10, 1)
    with client.writer() as writer:
        writer.write(topic, records)
    assert client.topics()[topic] == 1
    check_same(records, read_all(client, topic, [0]))


def test_grow(client: Client, topic: str) -> None:
    client.create_topic(topic)
    before, after = numbered(10, 1), numbered(30, 3)
    with client.writer() as writer:
        writer.write(topic, before)
    client.grow_topic(topic, 3)
    assert client.topics()[topic] == 3
    with client.writer() as writer:
        writer.write(topic, after)
    check_same(before + after, read_all(client, topic, range(3)))


def test_delete(client: Client, topic: str) -> None:
    client.create_topic(topic)
    client.delete_topic(topic)
    assert topic not in client.topics()
    with pytest.raises(Refused) as caught:
        client.delete_topic(topic)
    assert caught.value.code == UNKNOWN_TOPIC_OR_PARTITION


def test_recreate_under_a_reader(client: Client, topic: str) -> None:
    """The name comes to mean another topic. A reader never gets records of the old one again, but all of the new."""
    old = [Record(0, None, b"old %d" % number, FIRST_TIMESTAMP) for number in range(10)]
    new = [Record(0, None, b"new %d" % number, FIRST_TIMESTAMP) for number in range(3)]
    client.create_topic(topic)
    with client.writer() as writer:
        writer.write(topic, old)
    with client.reader(topic, {0: 0}) as reader:
        assert [item.record for item in read(reader, 10)] == old
        client.delete_topic(topic)
        with contextlib.suppress(Refused):  # it exists if the reader asked in between, as that makes it, too
            client.create_topic(topic)
        with client.writer() as writer:
            writer.write(topic, new)
        check_same(new, read_all(client, topic, [0]))
        got = []
        deadline = time.monotonic() + PATIENCE_S
        while len(got) < len(new):
            assert time.monotonic() < deadline, got
            try:
                got += reader.poll(0.5)
            except Refused as error:  # librdkafka says so, and goes on
                print(error)
    check_same(new, {0: got})
