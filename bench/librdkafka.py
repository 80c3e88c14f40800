"""The librdkafka clients of the benchmark, each inside a client process."""

import time
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

STAMP_BYTES = 8
FLUSH_TIMEOUT_S = 120.0
QUIET_S = 30.0
CREATE_TIMEOUT_S = 120.0
WARNINGS = 4


def create_topic(address: str, name: str, partitions: int) -> None:
    """Create a topic, and wait until every partition has a leader."""
    admin = AdminClient({"bootstrap.servers": address, "log_level": WARNINGS})
    made = admin.create_topics([NewTopic(name, partitions, 1)], operation_timeout=CREATE_TIMEOUT_S)
    made[name].result(CREATE_TIMEOUT_S)
    deadline = time.monotonic() + CREATE_TIMEOUT_S
    while True:
        topic = admin.list_topics(name, timeout=30).topics[name]
        ready = [partition for partition in topic.partitions.values() if partition.leader >= 0]
        if len(ready) == partitions:
            return
        if time.monotonic() > deadline:
            raise TimeoutError(f"{name} has {len(ready)} of {partitions} leaders")
        time.sleep(0.1)


def ends(address: str, topic: str, partitions: list[int]) -> list[TopicPartition]:
    """The ends of the partitions, in one request (a consumer would send one for each)."""
    admin = AdminClient({"bootstrap.servers": address, "log_level": WARNINGS})
    asked = {TopicPartition(topic, partition): OffsetSpec.latest() for partition in partitions}
    answers = admin.list_offsets(asked, request_timeout=30)
    return [TopicPartition(topic, place.partition, answer.result().offset) for place, answer in answers.items()]


class BulkProducer:
    """Writes as fast as it can, one full batch to a partition after the other."""

    def __init__(
        self, address: str, topic: str, partitions: int, record_bytes: int, batch_records: int, config: dict[str, Any]
    ) -> None:
        self._producer = Producer({"bootstrap.servers": address, **config})
        self._topic = topic
        self._partitions = partitions
        self._batch_records = batch_records
        self._value = bytes(record_bytes)
        self._next_partition = 0
        self._errors: list[str] = []

    def _delivered(self, error: KafkaError | None, _: Message) -> None:
        if error is not None:
            self._errors.append(str(error))

    def write(self, seconds: float, max_bytes: int) -> dict[str, Any]:
        """Until the time is over or so many bytes are written, and until all of it is acknowledged."""
        started = time.monotonic()
        written = records = 0
        while time.monotonic() < started + seconds and written < max_bytes:
            partition = self._next_partition
            self._next_partition = (partition + 1) % self._partitions
            for _ in range(self._batch_records):
                self._write_one(partition)
            records += self._batch_records
            written += self._batch_records * len(self._value)
            self._producer.poll(0)
        left = self._producer.flush(FLUSH_TIMEOUT_S)
        if left or self._errors:
            raise RuntimeError(f"{left} records not acknowledged, {len(self._errors)} failed: {self._errors[:3]}")
        return {"bytes": written, "records": records, "seconds": time.monotonic() - started}

    def _write_one(self, partition: int) -> None:
        while True:
            try:
                self._producer.produce(self._topic, self._value, partition=partition, on_delivery=self._delivered)
                return
            except BufferError:
                self._producer.poll(0.1)

    def close(self) -> None:
        pass


class PacedProducer:
    """Writes so many records a second and times each, from the call to its acknowledgement."""

    def __init__(self, address: str, topic: str, partitions: int, record_bytes: int, config: dict[str, Any]) -> None:
        self._producer = Producer({"bootstrap.servers": address, **config})
        self._topic = topic
        self._partitions = partitions
        self._rest = bytes(record_bytes - STAMP_BYTES)

    def write(self, seconds: float, rate: float) -> dict[str, Any]:
        taken_ms: list[float] = []
        errors: list[str] = []

        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                errors.append(str(error))
            else:
                taken_ms.append(_since_ms(message.value()))

        started = time.monotonic()
        for number in range(int(seconds * rate)):
            while (wait_s := started + number / rate - time.monotonic()) > 0:
                self._producer.poll(wait_s)
            value = time.monotonic_ns().to_bytes(STAMP_BYTES, "big") + self._rest
            self._producer.produce(self._topic, value, partition=number % self._partitions, on_delivery=delivered)
            self._producer.poll(0)
        left = self._producer.flush(FLUSH_TIMEOUT_S)
        if left or errors:
            raise RuntimeError(f"{left} records not acknowledged, {len(errors)} failed: {errors[:3]}")
        return {"taken_ms": taken_ms, "seconds": time.monotonic() - started}

    def close(self) -> None:
        pass


def _since_ms(value: bytes | None) -> float:
    """Milliseconds since the time that a record carries; the clock is the machine's, so processes share it."""
    assert value is not None
    return (time.monotonic_ns() - int.from_bytes(value[:STAMP_BYTES], "big")) / 1e6


def _consumer(address: str, config: dict[str, Any]) -> Consumer:
    return Consumer({"bootstrap.servers": address, "group.id": "bench", "enable.auto.commit": False, **config})


class BulkConsumer:
    """Reads its partitions as fast as it can."""

    def __init__(self, address: str, topic: str, partitions: list[int], config: dict[str, Any]) -> None:
        self._address = address
        self._consumer = _consumer(address, config)
        self._topic = topic
        self._partitions = partitions

    def stand(self) -> None:
        """At the ends of the partitions, without reading."""
        places = ends(self._address, self._topic, self._partitions)
        self._consumer.assign(places)
        self._consumer.pause(places)

    def read(self, records: int) -> dict[str, Any]:
        """Go on, until so many records have come; then pause, so that nothing more is fetched."""
        places = [TopicPartition(self._topic, partition) for partition in self._partitions]
        started = time.monotonic()
        self._consumer.resume(places)
        read = self._take(records)
        self._consumer.pause(places)
        return {"bytes": read, "records": records, "seconds": time.monotonic() - started}

    def reread(self, records: int, seconds: float) -> dict[str, Any]:
        """Read the same first records again and again. Not paused between: librdkafka may resume too early."""
        read = rounds = 0
        started = time.monotonic()
        while time.monotonic() < started + seconds:
            self._consumer.assign([TopicPartition(self._topic, partition, 0) for partition in self._partitions])
            read += self._take(records)
            self._consumer.unassign()
            rounds += 1
        return {"bytes": read, "records": records * rounds, "seconds": time.monotonic() - started}

    def _take(self, records: int) -> int:
        """The bytes of so many records."""
        read = taken = 0
        while taken < records:
            messages = self._consumer.consume(min(500, records - taken), QUIET_S)
            if not messages:
                raise RuntimeError(f"nothing came for {QUIET_S} s after {taken} of {records} records")
            for message in messages:
                if message.error() is not None:
                    raise RuntimeError(str(message.error()))
                read += len(message.value() or b"")
            taken += len(messages)
        return read

    def close(self) -> None:
        self._consumer.close()


class Stopwatch:
    """Follows the tail of its partitions and times every record that carries when it was sent."""

    def __init__(self, address: str, topic: str, partitions: int, config: dict[str, Any]) -> None:
        self._address = address
        self._consumer = _consumer(address, config)
        self._topic = topic
        self._partitions = partitions

    def stand(self) -> None:
        """At the ends, with the first fetch under way."""
        self._consumer.assign(ends(self._address, self._topic, [*range(self._partitions)]))
        until = time.monotonic() + 2.0
        while time.monotonic() < until:
            self._consumer.poll(0.1)

    def time(self, records: int) -> dict[str, Any]:
        taken_ms: list[float] = []
        while len(taken_ms) < records:
            message = self._consumer.poll(QUIET_S)
            if message is None:
                raise RuntimeError(f"nothing came for {QUIET_S} s after {len(taken_ms)} of {records} records")
            if message.error() is not None:
                raise RuntimeError(str(message.error()))
            taken_ms.append(_since_ms(message.value()))
        return {"taken_ms": taken_ms}

    def close(self) -> None:
        self._consumer.close()
