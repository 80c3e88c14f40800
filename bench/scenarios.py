"""What is measured on one broker. Each scenario opens its clients, takes a window, and returns figures by name.

CPU is the broker's alone, over the window between the first client's start and the last one's end, so that it does
not depend on how fast the clients are.
"""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median
from typing import Any

from bench import memory
from bench.brokers import Broker
from bench.client import Client
from bench.librdkafka import create_topic
from bench.usage import MB, fdatasync_ms, forget_peak, peak_rss_mb, percentile, rss_mb

Figures = dict[str, float]

PARTITIONS = 8
RECORD_BYTES = 10_000
BATCH_RECORDS = 99  # of 10 kB each: the most that librdkafka's batch.size of 1,000,000 lets into a batch
BATCH_BYTES = BATCH_RECORDS * RECORD_BYTES
SMALL_BYTES = 1024
SMALL_CONNECTIONS = 4
SMALL_DEPTH = 100
CONSUMERS = 4
WARM_BATCHES = 40  # 40 MB over all partitions, which fit into the default cache of 64 MiB
RATE = 1000.0

BULK_PRODUCER = {"batch.size": 1_000_000, "linger.ms": 100, "queue.buffering.max.kbytes": 64_000}
PACED_PRODUCER = {"linger.ms": 0}
SINGLE_PRODUCER = {"linger.ms": 0, "batch.num.messages": 1}
# A fetch that waits at the end would hold up the next round: librdkafka has one under way at a time.
BULK_CONSUMER = {"fetch.message.max.bytes": 1_048_576, "queued.max.messages.kbytes": 65_536, "fetch.wait.max.ms": 5}


@dataclass(frozen=True, slots=True)
class Lengths:
    """How long the windows are, and how many: of several the median counts."""

    warm_up_s: float
    window_s: float
    windows: int
    latency_s: float
    idle_s: float
    window_bytes: int
    tail_rounds: int


FULL = Lengths(warm_up_s=4, window_s=4, windows=3, latency_s=30, idle_s=10, window_bytes=2_000 * MB, tail_rounds=30)
QUICK = Lengths(warm_up_s=1, window_s=2, windows=1, latency_s=4, idle_s=1, window_bytes=800 * MB, tail_rounds=4)


class Window:
    """CPU seconds, wall seconds and PUTs of a broker while the body runs."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self.cpu_s = self.wall_s = 0.0
        self.puts: int | None = None

    def __enter__(self) -> "Window":
        self._puts_before = self._broker.puts()
        self._cpu_before = self._broker.cpu_s()
        self._began = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.wall_s += time.perf_counter() - self._began
        self.cpu_s += self._broker.cpu_s() - self._cpu_before
        after = self._broker.puts()
        if after is not None and self._puts_before is not None:
            self.puts = (self.puts or 0) + after - self._puts_before


def together(clients: Sequence[Client], command: str, **arguments: Any) -> list[Any]:
    for client in clients:
        client.begin(command, **arguments)
    return [client.finish() for client in clients]


def idle(broker: Broker, lengths: Lengths) -> Figures:
    """Before any client has come."""
    time.sleep(1)
    with Window(broker) as window:
        time.sleep(lengths.idle_s)
    return {
        "start to ready, s": broker.ready_s,
        "idle RSS, MB": rss_mb(broker.pid),
        "idle CPU, % of a core": 100 * window.cpu_s / window.wall_s,
    }


def produce(broker: Broker, lengths: Lengths) -> Figures:
    create_topic(broker.address, "produce", PARTITIONS)
    with ExitStack() as stack:
        clients = [stack.enter_context(_bulk_producer(broker, "produce")) for _ in range(2)]
        share = {"max_bytes": lengths.window_bytes // len(clients)}
        together(clients, "write", seconds=lengths.warm_up_s, **share)
        forget_peak(broker.pid)
        measured = []
        for _ in range(lengths.windows):
            memory.settle()
            with Window(broker) as window:
                parts = together(clients, "write", seconds=lengths.window_s, **share)
            measured.append((window, sum([part["bytes"] for part in parts]) / MB))
    figures = {
        "MB produced per CPU-s": median([mb / window.cpu_s for window, mb in measured]),
        "MB/s produced": median([mb / window.wall_s for window, mb in measured]),
        "peak RSS producing, MB": peak_rss_mb(broker.pid),
    }
    if window.puts is not None:
        figures["PUTs per MB, 1 MB batches"] = median([(window.puts or 0) / mb for window, mb in measured])
    return figures


def _bulk_producer(broker: Broker, topic: str) -> Client:
    return Client(
        "producer",
        address=broker.address,
        topic=topic,
        partitions=PARTITIONS,
        record_bytes=RECORD_BYTES,
        batch_records=BATCH_RECORDS,
        config=BULK_PRODUCER,
    )


def _bulk_consumers(broker: Broker, topic: str, stack: ExitStack) -> list[Client]:
    settings = {"address": broker.address, "topic": topic, "partitions": [*range(PARTITIONS)]}
    return [stack.enter_context(Client("consumer", config=BULK_CONSUMER, **settings)) for _ in range(CONSUMERS)]


def fetch(broker: Broker, lengths: Lengths) -> Figures:
    """Every consumer reads all partitions by assignment; every window holds fetching and nothing else."""
    forget_peak(broker.pid)
    figures = _tail(broker, lengths) | _warm(broker, lengths)
    return figures | {"peak RSS fetching, MB": peak_rss_mb(broker.pid)}


def _tail(broker: Broker, lengths: Lengths) -> Figures:
    """Rounds of writing 40 MB while the consumers pause, and of their reading what was just written."""
    create_topic(broker.address, "tail", PARTITIONS)
    window = Window(broker)
    read_mb = 0.0
    with ExitStack() as stack:
        consumers = _bulk_consumers(broker, "tail", stack)
        producer = stack.enter_context(_bulk_producer(broker, "tail"))
        together(consumers, "stand")
        for number in range(lengths.tail_rounds):
            producer.call("write", seconds=60, max_bytes=WARM_BATCHES * BATCH_BYTES)
            if number < lengths.tail_rounds // 4:
                together(consumers, "read", records=WARM_BATCHES * BATCH_RECORDS)
                continue
            with window:
                parts = together(consumers, "read", records=WARM_BATCHES * BATCH_RECORDS)
            read_mb += sum([part["bytes"] for part in parts]) / MB
    return {"MB fetched per CPU-s, tail": read_mb / window.cpu_s}


def _warm(broker: Broker, lengths: Lengths) -> Figures:
    """The same 40 MB from the first offset on, again and again."""
    create_topic(broker.address, "warm", PARTITIONS)
    with ExitStack() as stack:
        with _bulk_producer(broker, "warm") as producer:
            producer.call("write", seconds=60, max_bytes=WARM_BATCHES * BATCH_BYTES)
        consumers = _bulk_consumers(broker, "warm", stack)
        records = WARM_BATCHES * BATCH_RECORDS
        together(consumers, "reread", records=records, seconds=lengths.warm_up_s)
        measured = []
        for _ in range(lengths.windows):
            with Window(broker) as window:
                parts = together(consumers, "reread", records=records, seconds=lengths.window_s)
            measured.append((window, sum([part["bytes"] for part in parts]) / MB))
    return {
        "MB fetched per CPU-s, warm": median([mb / window.cpu_s for window, mb in measured]),
        "MB/s fetched, warm": median([mb / window.wall_s for window, mb in measured]),
    }


def small(broker: Broker, lengths: Lengths) -> Figures:
    """Prebuilt frames over 4 sockets; then librdkafka with one record to a request over 4 producers."""
    create_topic(broker.address, "small", PARTITIONS)
    with Client(
        "raw-produce",
        address=broker.address,
        connections=SMALL_CONNECTIONS,
        topic="small",
        partitions=PARTITIONS,
        record_bytes=SMALL_BYTES,
        batch_records=1,
    ) as client:
        client.call("run", seconds=lengths.warm_up_s, depth=SMALL_DEPTH)
        measured = []
        for _ in range(lengths.windows):
            memory.settle()
            with Window(broker) as window:
                part = client.call("run", seconds=lengths.window_s, depth=SMALL_DEPTH)
            measured.append((window, part["requests"]))
    figures = {
        "1 KiB requests per CPU-s": median([requests / window.cpu_s for window, requests in measured]),
        "1 KiB requests/s": median([requests / window.wall_s for window, requests in measured]),
    }
    if window.puts is not None:
        per_request = median([(window.puts or 0) / requests for window, requests in measured])
        figures["PUTs per MB, 1 KiB requests"] = per_request * MB / SMALL_BYTES
    return figures | _small_librdkafka(broker, lengths)


def _small_librdkafka(broker: Broker, lengths: Lengths) -> Figures:
    settings = {
        "address": broker.address,
        "topic": "small",
        "partitions": PARTITIONS,
        "record_bytes": SMALL_BYTES,
        "batch_records": 1,
        "config": SINGLE_PRODUCER | {"queue.buffering.max.messages": SMALL_DEPTH},
    }
    with ExitStack() as stack:
        clients = [stack.enter_context(Client("producer", **settings)) for _ in range(SMALL_CONNECTIONS)]
        with Window(broker) as window:
            parts = together(clients, "write", seconds=lengths.window_s, max_bytes=lengths.window_bytes)
    return {"1 KiB requests per CPU-s, librdkafka": sum([part["records"] for part in parts]) / window.cpu_s}


def latency(broker: Broker, lengths: Lengths) -> Figures:
    """1,000 records of 10 kB a second; fdatasync of the same filesystem before and after."""
    create_topic(broker.address, "latency", PARTITIONS)
    memory.settle()
    syncs = fdatasync_ms(broker.folder)
    with (
        Client("stopwatch", address=broker.address, topic="latency", partitions=PARTITIONS, config={}) as consumer,
        Client(
            "paced",
            address=broker.address,
            topic="latency",
            partitions=PARTITIONS,
            record_bytes=RECORD_BYTES,
            config=PACED_PRODUCER,
        ) as producer,
    ):
        consumer.call("stand")
        for seconds in (lengths.warm_up_s, lengths.latency_s):
            with Window(broker) as window:
                consumer.begin("time", records=int(seconds * RATE))
                written = producer.call("write", seconds=seconds, rate=RATE)
                read = consumer.finish()
    syncs += fdatasync_ms(broker.folder)
    figures = {
        **spread("produce, ms", written["taken_ms"]),
        **spread("end to end, ms", read["taken_ms"]),
        "fdatasync, ms p50": percentile(syncs, 0.5),
        "fdatasync, ms p99": percentile(syncs, 0.99),
        "CPU at 1,000 records/s, % of a core": 100 * window.cpu_s / window.wall_s,
    }
    if window.puts is not None:
        figures["PUTs per MB, 1,000 records/s"] = window.puts / (lengths.latency_s * RATE * RECORD_BYTES / MB)
    return figures


def spread(name: str, values: Sequence[float]) -> Figures:
    return {
        f"{name} p50": percentile(values, 0.5),
        f"{name} p99": percentile(values, 0.99),
        f"{name} p99.9": percentile(values, 0.999),
    }


def memory_after(broker: Broker, lengths: Lengths) -> Figures:
    time.sleep(1)
    return {"RSS after the load, MB": rss_mb(broker.pid)}


SCENARIOS = {
    "idle": idle,
    "produce": produce,
    "fetch": fetch,
    "small": small,
    "latency": latency,
    "memory": memory_after,
}
