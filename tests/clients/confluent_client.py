"""confluent-kafka, which is librdkafka."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from client_port import PATIENCE_S, Reader, Refused, Writer
from confluent_kafka import (
    OFFSET_INVALID,
    TIMESTAMP_CREATE_TIME,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic
from sample_records import Received, Record


def refused(error: KafkaError | KafkaException) -> Refused:
    cause = error.args[0] if isinstance(error, KafkaException) else error
    return Refused(cause.code(), cause.str())


class ConfluentClient:
    name = "confluent-kafka"
    null_headers = True
    null_records = True

    def __init__(self, address: str) -> None:
        self.address = address
        self.admin = AdminClient({"bootstrap.servers": address})

    def close(self) -> None:
        pass

    @contextlib.contextmanager
    def writer(
        self,
        *,
        codec: str = "none",
        acks: str = "all",
        record_max_bytes: int | None = None,
        give_up_s: float | None = None,
    ) -> Iterator[Writer]:
        settings = {"compression.type": codec, "acks": acks}
        if record_max_bytes is not None:
            settings["message.max.bytes"] = str(record_max_bytes)
        if give_up_s is not None:
            settings["topic.metadata.propagation.max.ms"] = str(int(give_up_s * 1000))
        yield ConfluentWriter(self.address, settings)

    @contextlib.contextmanager
    def lossy_writer(self, address: str) -> Iterator[Writer]:
        yield ConfluentWriter(
            address,
            {
                "enable.idempotence": "true",
                "max.in.flight.requests.per.connection": "5",
                "batch.num.messages": "20",
                "reconnect.backoff.ms": "20",
                "reconnect.backoff.max.ms": "50",
                "retry.backoff.ms": "20",
                "retry.backoff.max.ms": "50",
            },
        )

    @contextlib.contextmanager
    def reader(
        self,
        topic: str,
        starts: Mapping[int, int],
        *,
        partition_max_bytes: int | None = None,
        max_wait_ms: int | None = None,
    ) -> Iterator[Reader]:
        settings = {"auto.offset.reset": "earliest"}
        if partition_max_bytes is not None:
            settings["max.partition.fetch.bytes"] = str(partition_max_bytes)
        if max_wait_ms is not None:
            settings["fetch.wait.max.ms"] = str(max_wait_ms)
        with self.consumer(settings) as consumer:
            consumer.assign([TopicPartition(topic, partition, offset) for partition, offset in starts.items()])
            yield ConfluentReader(consumer)

    @contextlib.contextmanager
    def consumer(self, settings: Mapping[str, str] | None = None) -> Iterator[Consumer]:
        # It takes no consumer without a group, also where nothing is asked of the group.
        consumer = Consumer({"bootstrap.servers": self.address, "group.id": "assigned", **(settings or {})})
        try:
            yield consumer
        finally:
            consumer.close()

    def create_topic(self, topic: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
        wish = NewTopic(topic, partitions, config=dict(configs or {}))
        self._wait(self.admin.create_topics([wish]))

    def delete_topic(self, topic: str) -> None:
        self._wait(self.admin.delete_topics([topic]))

    def grow_topic(self, topic: str, partitions: int) -> None:
        self._wait(self.admin.create_partitions([NewPartitions(topic, partitions)]))

    def _wait(self, futures: Mapping[str, Any]) -> None:
        for future in futures.values():
            try:
                future.result(PATIENCE_S)
            except KafkaException as error:
                raise refused(error) from error

    def topics(self) -> dict[str, int]:
        listed = self.admin.list_topics(timeout=PATIENCE_S)
        return {name: len(topic.partitions) for name, topic in listed.topics.items()}

    def bounds(self, topic: str, partitions: Sequence[int]) -> dict[int, tuple[int, int]]:
        with self.consumer() as consumer:
            return {
                partition: consumer.get_watermark_offsets(TopicPartition(topic, partition), PATIENCE_S, cached=False)
                for partition in partitions
            }

    def offsets_at(self, topic: str, timestamps: Mapping[int, int]) -> dict[int, int | None]:
        asked = [TopicPartition(topic, partition, timestamp) for partition, timestamp in timestamps.items()]
        with self.consumer() as consumer:
            found = consumer.offsets_for_times(asked, PATIENCE_S)
        # Its answer for "none" is the logical offset "end".
        return {place.partition: place.offset if place.offset >= 0 else None for place in found}

    def begin_transactions(self) -> None:
        producer = Producer({"bootstrap.servers": self.address, "transactional.id": "some"})
        try:
            producer.init_transactions(PATIENCE_S)
        except KafkaException as error:
            if error.args[0].fatal():
                raise refused(error) from error
            raise


class ConfluentWriter:
    def __init__(self, address: str, settings: Mapping[str, str]) -> None:
        self._producer = Producer({"bootstrap.servers": address, **settings})

    def write(self, topic: str, records: Iterable[Record]) -> None:
        errors: list[KafkaError] = []

        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                errors.append(error)

        for record in records:
            self._send(topic, record, delivered)
        left = self._producer.flush(PATIENCE_S)
        if errors:
            raise refused(errors[0])
        assert left == 0, f"{left} records are not acknowledged"

    def _send(self, topic: str, record: Record, delivered: Any) -> None:
        while True:
            try:
                self._producer.produce(
                    topic,
                    record.value,
                    record.key,
                    record.partition,
                    on_delivery=delivered,
                    timestamp=record.timestamp or 0,
                    headers=list(record.headers),
                )
                self._producer.poll(0)
                return
            except BufferError:  # its queue is full
                self._producer.poll(0.1)
            except KafkaException as error:
                raise refused(error) from error


class ConfluentReader:
    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer

    def poll(self, timeout_s: float) -> list[Received]:
        first = self._consumer.poll(timeout_s)
        messages = [] if first is None else [first, *self._consumer.consume(1000, 0)]
        return [self._received(message) for message in messages]

    def _received(self, message: Message) -> Received:
        if (error := message.error()) is not None:
            raise refused(error)
        kind, timestamp = message.timestamp()
        assert kind == TIMESTAMP_CREATE_TIME
        assert message.offset() != OFFSET_INVALID
        record = Record(
            message.partition(), message.key(), message.value(), timestamp, tuple(message.headers() or ())
        )
        return Received(message.offset(), record)
