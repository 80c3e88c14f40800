"""kafka-python."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from client_port import PATIENCE_S, Reader, Refused, Writer
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.consumer.fetcher import ConsumerRecord
from kafka.errors import KafkaError
from sample_records import Received, Record

CREATE_TIME = 0


@contextlib.contextmanager
def refusals() -> Iterator[None]:
    try:
        yield
    except KafkaError as error:
        raise Refused(getattr(error, "errno", -1), repr(error)) from error


class KafkaPythonClient:
    name = "kafka-python"
    null_headers = False
    null_records = False

    def __init__(self, address: str) -> None:
        self.address = address
        self.admin = KafkaAdminClient(bootstrap_servers=address)

    def close(self) -> None:
        self.admin.close()

    def writer(
        self,
        *,
        codec: str = "none",
        acks: str = "all",
        record_max_bytes: int | None = None,
        give_up_s: float | None = None,
    ) -> contextlib.AbstractContextManager[Writer]:
        settings: dict[str, Any] = {"compression_type": None if codec == "none" else codec}
        if acks != "all":
            settings |= {"acks": int(acks), "enable_idempotence": False}
        if record_max_bytes is not None:
            settings["max_request_size"] = record_max_bytes
        if give_up_s is not None:
            settings["max_block_ms"] = int(give_up_s * 1000)
        return self._writer(self.address, settings)

    def lossy_writer(self, address: str) -> contextlib.AbstractContextManager[Writer]:
        return self._writer(
            address,
            {
                "enable_idempotence": True,
                "max_in_flight_requests_per_connection": 5,
                "batch_size": 300,
                "reconnect_backoff_ms": 20,
                "reconnect_backoff_max_ms": 50,
                "retry_backoff_ms": 20,
            },
        )

    @contextlib.contextmanager
    def _writer(self, address: str, settings: Mapping[str, Any]) -> Iterator[Writer]:
        producer = KafkaProducer(bootstrap_servers=address, **settings)
        try:
            yield KafkaPythonWriter(producer)
        finally:
            producer.close(PATIENCE_S)

    @contextlib.contextmanager
    def reader(
        self,
        topic: str,
        starts: Mapping[int, int],
        *,
        partition_max_bytes: int | None = None,
        max_wait_ms: int | None = None,
    ) -> Iterator[Reader]:
        settings: dict[str, Any] = {"auto_offset_reset": "earliest"}
        if partition_max_bytes is not None:
            settings["max_partition_fetch_bytes"] = partition_max_bytes
        if max_wait_ms is not None:
            settings["fetch_max_wait_ms"] = max_wait_ms
        with self.consumer(settings) as consumer:
            places = {TopicPartition(topic, partition): offset for partition, offset in starts.items()}
            consumer.assign(list(places))
            for place, offset in places.items():
                consumer.seek(place, offset)
            yield KafkaPythonReader(consumer)

    @contextlib.contextmanager
    def consumer(self, settings: Mapping[str, Any] | None = None) -> Iterator[KafkaConsumer]:
        consumer = KafkaConsumer(bootstrap_servers=self.address, **(settings or {}))
        try:
            yield consumer
        finally:
            consumer.close()

    def create_topic(self, topic: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
        with refusals():
            self.admin.create_topics({topic: {"num_partitions": partitions, "configs": dict(configs or {})}})

    def delete_topic(self, topic: str) -> None:
        with refusals():
            self.admin.delete_topics([topic])

    def grow_topic(self, topic: str, partitions: int) -> None:
        with refusals():
            self.admin.create_partitions({topic: partitions})

    def topics(self) -> dict[str, int]:
        return {topic["name"]: len(topic["partitions"]) for topic in self.admin.describe_topics()}

    def bounds(self, topic: str, partitions: Sequence[int]) -> dict[int, tuple[int, int]]:
        places = [TopicPartition(topic, partition) for partition in partitions]
        with self.consumer() as consumer:
            first, last = consumer.beginning_offsets(places), consumer.end_offsets(places)
        return {place.partition: (first[place], last[place]) for place in places}

    def offsets_at(self, topic: str, timestamps: Mapping[int, int]) -> dict[int, int | None]:
        asked = {TopicPartition(topic, partition): timestamp for partition, timestamp in timestamps.items()}
        with self.consumer() as consumer:
            found = consumer.offsets_for_times(asked)
        return {place.partition: None if at is None else at.offset for place, at in found.items()}

    def begin_transactions(self) -> None:
        with refusals():
            producer = KafkaProducer(bootstrap_servers=self.address, transactional_id="some")
            try:
                producer.init_transactions()
            finally:
                producer.close(PATIENCE_S)


class KafkaPythonWriter:
    def __init__(self, producer: KafkaProducer) -> None:
        self._producer = producer

    def write(self, topic: str, records: Iterable[Record]) -> None:
        with refusals():
            answers = [
                self._producer.send(
                    topic,
                    record.value,
                    record.key,
                    list(record.headers),
                    record.partition,
                    record.timestamp,
                )
                for record in records
            ]
            for answer in answers:
                answer.get(PATIENCE_S)


class KafkaPythonReader:
    def __init__(self, consumer: KafkaConsumer) -> None:
        self._consumer = consumer

    def poll(self, timeout_s: float) -> list[Received]:
        with refusals():
            polled = self._consumer.poll(int(timeout_s * 1000))
        return [self._received(message) for messages in polled.values() for message in messages]

    def _received(self, message: ConsumerRecord) -> Received:
        assert message.timestamp_type == CREATE_TIME
        return Received(
            message.offset,
            Record(message.partition, message.key, message.value, message.timestamp, tuple(message.headers)),
        )
