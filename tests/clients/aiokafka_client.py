"""aiokafka, on an event loop that runs while the test waits for it."""

import asyncio
import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.errors import KafkaError, for_code
from client_port import PATIENCE_S, Reader, Refused, Writer
from sample_records import Received, Record

CREATE_TIME = 0


@contextlib.contextmanager
def refusals() -> Iterator[None]:
    try:
        yield
    except KafkaError as error:
        raise Refused(getattr(error, "errno", -1), repr(error)) from error


class AiokafkaClient:
    name = "aiokafka"
    null_headers = True
    null_records = False

    def __init__(self, address: str) -> None:
        self.address = address
        self.runner = asyncio.Runner()
        self.admin = self._in_loop(lambda: AIOKafkaAdminClient(bootstrap_servers=address))
        self.run(self.admin.start())

    def run(self, coroutine: Any) -> Any:
        return self.runner.run(asyncio.wait_for(coroutine, PATIENCE_S))

    def _in_loop(self, make: Any) -> Any:
        """Its clients ask for the running loop when they are made."""

        async def made() -> Any:
            return make()

        return self.run(made())

    def close(self) -> None:
        self.run(self.admin.close())
        self.runner.close()

    def writer(
        self,
        *,
        codec: str = "none",
        acks: str = "all",
        record_max_bytes: int | None = None,
        give_up_s: float | None = None,
    ) -> contextlib.AbstractContextManager[Writer]:
        settings: dict[str, Any] = {
            "compression_type": None if codec == "none" else codec,
            "acks": acks if acks == "all" else int(acks),
        }
        if record_max_bytes is not None:
            settings["max_request_size"] = record_max_bytes
        if give_up_s is not None:
            settings["request_timeout_ms"] = int(give_up_s * 1000)
        return self._writer(self.address, settings)

    def lossy_writer(self, address: str) -> contextlib.AbstractContextManager[Writer]:
        return self._writer(address, {"enable_idempotence": True, "max_batch_size": 300, "retry_backoff_ms": 20})

    @contextlib.contextmanager
    def _writer(self, address: str, settings: Mapping[str, Any]) -> Iterator[Writer]:
        producer = self._in_loop(lambda: AIOKafkaProducer(bootstrap_servers=address, **settings))
        self.run(producer.start())
        try:
            yield AiokafkaWriter(self, producer)
        finally:
            self.run(producer.stop())

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
            self._in_loop(lambda: self._assign(consumer, places))
            yield AiokafkaReader(self, consumer)

    def _assign(self, consumer: AIOKafkaConsumer, places: Mapping[TopicPartition, int]) -> None:
        consumer.assign(list(places))
        for place, offset in places.items():
            consumer.seek(place, offset)

    @contextlib.contextmanager
    def consumer(self, settings: Mapping[str, Any] | None = None) -> Iterator[AIOKafkaConsumer]:
        consumer = self._in_loop(lambda: AIOKafkaConsumer(bootstrap_servers=self.address, **(settings or {})))
        self.run(consumer.start())
        try:
            yield consumer
        finally:
            self.run(consumer.stop())

    def create_topic(self, topic: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
        wish = NewTopic(topic, partitions, 1, topic_configs=dict(configs or {}))
        self._check(self.run(self.admin.create_topics([wish])).topic_errors)

    def delete_topic(self, topic: str) -> None:
        self._check(self.run(self.admin.delete_topics([topic])).topic_error_codes)

    def grow_topic(self, topic: str, partitions: int) -> None:
        with refusals():
            self.run(self.admin.create_partitions({topic: NewPartitions(partitions)}))

    def _check(self, answers: Iterable[Sequence[Any]]) -> None:
        for _, code, *_ in answers:
            if code:
                raise Refused(code, repr(for_code(code)))

    def topics(self) -> dict[str, int]:
        return {topic["topic"]: len(topic["partitions"]) for topic in self.run(self.admin.describe_topics())}

    def bounds(self, topic: str, partitions: Sequence[int]) -> dict[int, tuple[int, int]]:
        places = [TopicPartition(topic, partition) for partition in partitions]
        with self.consumer() as consumer:
            first, last = (self.run(ask(places)) for ask in (consumer.beginning_offsets, consumer.end_offsets))
        return {place.partition: (first[place], last[place]) for place in places}

    def offsets_at(self, topic: str, timestamps: Mapping[int, int]) -> dict[int, int | None]:
        asked = {TopicPartition(topic, partition): timestamp for partition, timestamp in timestamps.items()}
        with self.consumer() as consumer:
            found = self.run(consumer.offsets_for_times(asked))
        return {place.partition: None if at is None else at.offset for place, at in found.items()}

    def begin_transactions(self) -> None:
        producer = self._in_loop(lambda: AIOKafkaProducer(bootstrap_servers=self.address, transactional_id="some"))
        try:
            with refusals():
                self.run(producer.start())
        finally:
            self.run(producer.stop())


class AiokafkaWriter:
    def __init__(self, client: AiokafkaClient, producer: AIOKafkaProducer) -> None:
        self._client = client
        self._producer = producer

    def write(self, topic: str, records: Iterable[Record]) -> None:
        with refusals():
            self._client.run(self._write(topic, records))

    async def _write(self, topic: str, records: Iterable[Record]) -> None:
        answers = [
            await self._producer.send(
                topic,
                record.value,
                record.key,
                record.partition,
                record.timestamp,
                list(record.headers),
            )
            for record in records
        ]
        await asyncio.gather(*answers)


class AiokafkaReader:
    def __init__(self, client: AiokafkaClient, consumer: AIOKafkaConsumer) -> None:
        self._client = client
        self._consumer = consumer

    def poll(self, timeout_s: float) -> list[Received]:
        with refusals():
            polled = self._client.run(self._consumer.getmany(timeout_ms=int(timeout_s * 1000)))
        return [self._received(message) for messages in polled.values() for message in messages]

    def _received(self, message: ConsumerRecord) -> Received:
        assert message.timestamp_type == CREATE_TIME
        return Received(
            message.offset,
            Record(message.partition, message.key, message.value, message.timestamp, tuple(message.headers)),
        )
