"""What must hold of a topic whatever went wrong while it was written.

Producers write values that name their producer, partition and number, and note what was acknowledged. At the end the
topic is read from the beginning, and the two are compared: nothing acknowledged is lost, nothing is there twice, the
order holds, offsets have no gaps.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaError, TopicPartition

MAX_TOLD = 10


class Record(NamedTuple):
    """What a value says of itself; no two values of a test are alike."""

    producer: str
    partition: int
    number: int

    def value(self, padding: int = 0) -> bytes:
        return f"{self.producer}|{self.partition}|{self.number}|".encode() + b"." * padding

    @classmethod
    def of(cls, value: bytes) -> "Record":
        producer, partition, number, _ = value.decode().split("|")
        return cls(producer, int(partition), int(number))


@dataclass(slots=True)
class History:
    """What producers know: how many values each has sent to a partition, and the offsets of the acknowledged."""

    sent: dict[tuple[str, int], int] = field(default_factory=dict)
    acknowledged: dict[Record, int] = field(default_factory=dict)

    def next_record(self, producer: str, partition: int) -> Record:
        number = self.sent.get((producer, partition), 0)
        self.sent[producer, partition] = number + 1
        return Record(producer, partition, number)

    @property
    def sent_in_all(self) -> int:
        return sum(self.sent.values())

    @classmethod
    def joined(cls, histories: Iterable["History"]) -> "History":
        whole = cls()
        for one in histories:
            assert not whole.sent.keys() & one.sent.keys(), "two producers of one name"
            whole.sent |= one.sent
            whole.acknowledged |= one.acknowledged
        return whole


@dataclass(frozen=True, slots=True)
class PartitionLog:
    """A partition as a consumer that started at its beginning has read it."""

    high_watermark: int
    records: Sequence[tuple[int, Record]]


Log = Mapping[int, PartitionLog]


def check(history: History, log: Log, *, once: bool = True) -> None:
    """Raise AssertionError, naming what is wrong. `once`: producers were idempotent, so once and in order."""
    problems = [*gaps(log), *inventions(history, log), *losses(history, log)]
    if once:
        problems += [*repetitions(log), *disorder(log)]
    told = "\n".join(problems[:MAX_TOLD])
    assert not problems, f"{len(problems)} problems, of which the first are:\n{told}"


def gaps(log: Log) -> list[str]:
    """Offsets go from 0 to the high watermark, each once."""
    problems = []
    for partition, part in log.items():
        offsets = [offset for offset, _ in part.records]
        if offsets != list(range(part.high_watermark)):
            at = next((i for i, offset in enumerate(offsets) if offset != i), len(offsets))
            problems.append(
                f"partition {partition}: offset {at} is missing or out of place; "
                f"{len(offsets)} records up to the high watermark {part.high_watermark}"
            )
    return problems


def inventions(history: History, log: Log) -> list[str]:
    """Nobody reads what nobody sent, or reads it in another partition."""
    return [
        f"partition {partition}, offset {offset}: {record} was never sent there"
        for partition, part in log.items()
        for offset, record in part.records
        if record.partition != partition or record.number >= history.sent.get((record.producer, partition), 0)
    ]


def losses(history: History, log: Log) -> list[str]:
    """An acknowledged record lies at the offset that its producer was told."""
    at = {(partition, offset): record for partition, part in log.items() for offset, record in part.records}
    return [
        f"{record} was acknowledged at offset {offset}; there lies {at.get((record.partition, offset))}"
        for record, offset in history.acknowledged.items()
        if at.get((record.partition, offset)) != record
    ]


def repetitions(log: Log) -> list[str]:
    problems = []
    first: dict[Record, int] = {}
    for part in log.values():
        for offset, record in part.records:
            if (before := first.setdefault(record, offset)) != offset:
                problems.append(f"{record} lies at offsets {before} and {offset}")
    return problems


def disorder(log: Log) -> list[str]:
    """The numbers of a producer rise within a partition."""
    problems = []
    for part in log.values():
        last: dict[str, int] = {}
        for offset, record in part.records:
            if record.number < last.get(record.producer, -1):
                problems.append(f"{record} at offset {offset} lies behind number {last[record.producer]}")
            last[record.producer] = record.number
    return problems


def read_log(bootstrap: str, topic: str, partitions: int, timeout_s: float = 60.0, **config: object) -> Log:
    """Read a topic by assignment from the beginning to the high watermark that its broker tells at the start."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "checker",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "check.crcs": True,
            "log_level": 0,
            **config,
        }
    )
    deadline = time.monotonic() + timeout_s
    try:
        ends = {p: consumer.get_watermark_offsets(TopicPartition(topic, p), timeout_s)[1] for p in range(partitions)}
        records: dict[int, list[tuple[int, Record]]] = {p: [] for p in range(partitions)}
        consumer.assign([TopicPartition(topic, p, 0) for p in range(partitions)])
        missing = sum(ends.values())
        while missing > 0:
            assert time.monotonic() < deadline, f"{missing} of {sum(ends.values())} records not read in {timeout_s} s"
            for message in consumer.consume(min(missing, 10_000), 1.0):
                if (error := message.error()) is not None:
                    # The client goes on by itself after each of these; anything else is a finding.
                    assert error.retriable() or error.code() == KafkaError._ALL_BROKERS_DOWN, error
                    continue
                found = (message.offset(), Record.of(message.value()))
                records[message.partition()].append(found)
                missing -= message.offset() < ends[message.partition()]
    finally:
        consumer.close()
    return {p: PartitionLog(ends[p], [r for r in records[p] if r[0] < ends[p]]) for p in range(partitions)}
