"""Producers that keep writing, whatever happens to their broker, and note what they were told."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from checker import History, Record
from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic

IDEMPOTENT: dict[str, object] = {"enable.idempotence": True, "acks": "all", "max.in.flight": 5}
PLAIN: dict[str, object] = {"enable.idempotence": False, "acks": "1", "max.in.flight": 5}
QUEUE_MESSAGES = 400
DELIVERY_MS = 90_000


def create_topic(bootstrap: str, topic: str, partitions: int, timeout_s: float = 20.0) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    for made in admin.create_topics([NewTopic(topic, partitions, 1)], operation_timeout=timeout_s).values():
        made.result(timeout_s)


class Load:
    """One producer in a thread of its own; small batches, so that there are many requests."""

    def __init__(
        self,
        name: str,
        bootstrap: str,
        topic: str,
        partitions: int,
        config: dict[str, object] = IDEMPOTENT,
        *,
        padding: int = 60,
        history: History | None = None,
        limit: int | None = None,
    ) -> None:
        self.name = name
        self.history = history or History()
        self.errors: list[str] = []
        self._topic = topic
        self._partitions = partitions
        self._padding = padding
        self._limit = limit
        self._acknowledged = threading.Condition()
        self._acks = 0
        self._stop = threading.Event()
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "client.id": name,
                "linger.ms": 2,
                "batch.num.messages": 20,
                "queue.buffering.max.messages": QUEUE_MESSAGES,
                "delivery.timeout.ms": DELIVERY_MS,
                "retry.backoff.ms": 20,
                "retry.backoff.max.ms": 200,
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 100,
                "topic.metadata.refresh.fast.interval.ms": 50,
                "log_level": 0,
                "error_cb": self._note_error,
                **config,
            }
        )
        self._thread = threading.Thread(target=self._run, name=f"load {name}", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        sent = 0
        while not self._stop.is_set() and sent != self._limit:
            partition = sent // 7 % self._partitions
            record = self.history.next_record(self.name, partition)
            if not self._send(record):
                return
            sent += 1
            self._producer.poll(0)
        self._producer.flush(DELIVERY_MS / 1000)

    def _send(self, record: Record) -> bool:
        """Wait for room as long as it takes; False when this producer is of no use any more."""
        while True:
            try:
                self._producer.produce(
                    self._topic, record.value(self._padding), partition=record.partition, on_delivery=self._delivered
                )
                return True
            except BufferError:
                self._producer.poll(0.05)
            except KafkaException as error:
                self.errors.append(f"produce: {error}")
                return False

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        record = Record.of(message.value())
        if error is not None:
            self.errors.append(f"{record}: {error}")
            return
        self.history.acknowledged[record] = message.offset()
        with self._acknowledged:
            self._acks += 1
            self._acknowledged.notify_all()

    def _note_error(self, error: KafkaError) -> None:
        if error.fatal():
            self.errors.append(f"fatal: {error}")

    @property
    def acks(self) -> int:
        return self._acks

    def wait_for_acks(self, count: int, timeout_s: float = 60.0) -> None:
        with self._acknowledged:
            came = self._acknowledged.wait_for(lambda: self._acks >= count or self.errors, timeout_s)
        assert came, f"{self.name}: {self._acks} of {count} acknowledged within {timeout_s} s"
        assert not self.errors, self.errors[:5]

    def stop(self, timeout_s: float = 90.0) -> None:
        """Stop writing and wait until everything that was sent is acknowledged."""
        self._stop.set()
        self.join(timeout_s)

    def join(self, timeout_s: float = 90.0) -> None:
        self._thread.join(timeout_s)
        assert not self._thread.is_alive(), f"{self.name}: {len(self._producer)} messages left after {timeout_s} s"
        assert not self.errors, self.errors[:5]
        assert len(self.history.acknowledged) == self.history.sent_in_all

    def abandon(self) -> None:
        """For a test that has failed already."""
        self._stop.set()
        self._producer.purge()


@contextmanager
def running(loads: Sequence[Load]) -> Iterator[Sequence[Load]]:
    """On leaving all have been acknowledged; a failure inside is not hidden behind their waiting."""
    try:
        yield loads
    except BaseException:
        for load in loads:
            load.abandon()
        raise
    for load in loads:
        load.stop()


def wait_for_all(loads: Sequence[Load], more: int, timeout_s: float = 60.0) -> float:
    """Until each has so many acknowledgements more than now; the seconds it took."""
    began_s = time.monotonic()
    wanted = [load.acks + more for load in loads]
    for load, count in zip(loads, wanted, strict=True):
        load.wait_for_acks(count, timeout_s)
    return time.monotonic() - began_s
