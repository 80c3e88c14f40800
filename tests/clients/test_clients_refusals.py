"""What is not there is said at once and plainly: unknown topics, and for now transactions and groups."""

import asyncio
import logging
import time

import pytest
from aiokafka_client import AiokafkaClient
from client_port import (
    PATIENCE_S,
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_OR_PARTITION,
    Client,
    Refused,
)
from confluent_client import ConfluentClient
from confluent_kafka import KafkaError
from kafka.errors import IncompatibleBrokerVersion
from kafka_python_client import KafkaPythonClient
from sample_records import numbered

PROMPTLY_S = 5.0
NO_CODE = -1


def test_unknown_topic(client: Client, topic: str) -> None:
    for attempt in (lambda: client.delete_topic(topic), lambda: client.grow_topic(topic, 3)):
        with pytest.raises(Refused) as caught:
            attempt()
        assert caught.value.code == UNKNOWN_TOPIC_OR_PARTITION
    assert topic not in client.topics()


def test_write_to_unknown_topic(client: Client, topic: str, strict_address: str) -> None:
    other = type(client)(strict_address)
    with other.writer(give_up_s=0.5) as writer, pytest.raises(Refused) as caught:
        writer.write(topic, numbered(1, 1))
    # kafka-python reports the time-out of its own search.
    assert caught.value.code == (NO_CODE if client.name == "kafka-python" else UNKNOWN_TOPIC_OR_PARTITION)
    assert other.topics() == {}
    other.close()


def test_transactions(client: Client) -> None:
    start = time.monotonic()
    with pytest.raises(Refused) as caught:
        client.begin_transactions()
    assert caught.value.code == TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert time.monotonic() - start < PROMPTLY_S


def test_confluent_group(address: str, topic: str) -> None:
    client = ConfluentClient(address)
    client.create_topic(topic)
    with client.consumer() as consumer:
        consumer.subscribe([topic])
        message = consumer.poll(PROMPTLY_S)
        assert message is not None
        assert message.error().code() == KafkaError._UNSUPPORTED_FEATURE
        assert "JoinGroup" in message.error().str()


def test_kafka_python_group(address: str, topic: str) -> None:
    client = KafkaPythonClient(address)
    client.create_topic(topic)
    with client.consumer({"group_id": "some"}) as consumer:
        consumer.subscribe([topic])
        with pytest.raises(IncompatibleBrokerVersion, match="JoinGroup"):
            consumer.poll(PATIENCE_S * 1000)
    client.close()


def test_aiokafka_group(address: str, topic: str) -> None:
    """It tries for ever, and says why each time."""
    client = AiokafkaClient(address)
    client.create_topic(topic)
    said = asyncio.Event()

    class Listen(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "IncompatibleBrokerVersion: JoinGroupRequest" in record.getMessage():
                said.set()

    handler = Listen()
    logging.getLogger("aiokafka").addHandler(handler)
    try:
        with client.consumer({"group_id": "some"}) as consumer:

            async def subscribe() -> None:
                consumer.subscribe([topic])
                async with asyncio.timeout(PROMPTLY_S):
                    await said.wait()

            client.run(subscribe())
    finally:
        logging.getLogger("aiokafka").removeHandler(handler)
    client.close()
