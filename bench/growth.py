"""How cost grows: the same figures with more partitions and with more connections, each on a fresh broker.

The load is the same in every column and comes from prebuilt frames, so that only what is varied differs.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench import memory
from bench.brokers import Broker, start_inkless
from bench.client import Client
from bench.librdkafka import create_topic
from bench.scenarios import BATCH_BYTES, BATCH_RECORDS, PARTITIONS, RATE, RECORD_BYTES, SMALL_BYTES, Figures, Window
from bench.usage import MB, fdatasync_ms, forget_peak, peak_rss_mb, percentile, rss_mb

IN_FLIGHT_BATCHES = 16
IN_FLIGHT_SMALL = 400
FETCH_BYTES = 4 * 1024 * 1024
CONNECTIONS = 4


@dataclass(frozen=True, slots=True)
class Shape:
    """What is varied; the rest is the same."""

    partitions: int
    connections: int

    @property
    def title(self) -> str:
        if self.connections == CONNECTIONS:
            return f"{self.partitions:,} partition{'s' if self.partitions > 1 else ''}"
        return f"{self.connections:,} connections"

    def depth(self, in_flight: int) -> int:
        return max(1, in_flight // self.connections)


SHAPES = (
    Shape(1, CONNECTIONS),
    Shape(100, CONNECTIONS),
    Shape(10_000, CONNECTIONS),
    Shape(PARTITIONS, 10),
    Shape(PARTITIONS, 1000),
)
QUICK_SHAPES = tuple([shape for shape in SHAPES if shape.partitions != 100])


@dataclass(frozen=True, slots=True)
class GrowthLengths:
    warm_up_s: float
    window_s: float
    windows: int
    latency_s: float


FULL = GrowthLengths(warm_up_s=2, window_s=2, windows=3, latency_s=10)
QUICK = GrowthLengths(warm_up_s=0.5, window_s=1, windows=1, latency_s=2)


def measure(shape: Shape, folder: Path, lengths: GrowthLengths, told: Callable[[str], None]) -> Figures:
    broker = start_inkless(folder)
    try:
        started = time.perf_counter()
        create_topic(broker.address, "growth", shape.partitions)
        figures = {"topic created, s": time.perf_counter() - started}
        forget_peak(broker.pid)
        for part in (_fetch, _produce, _small, _latency):
            told(f"growth, {shape.title}: {part.__name__.strip('_')}")
            figures |= part(broker, shape, lengths)
        figures |= {"peak RSS, MB": peak_rss_mb(broker.pid), "RSS after, MB": rss_mb(broker.pid)}
    finally:
        broker.stop()
    return figures | _restart(folder, lengths)


def _load(broker: Broker, shape: Shape, record_bytes: int, batch_records: int) -> Client:
    return Client(
        "raw-produce",
        address=broker.address,
        connections=shape.connections,
        topic="growth",
        partitions=shape.partitions,
        record_bytes=record_bytes,
        batch_records=batch_records,
    )


def _rounds(
    broker: Broker, client: Client, depth: int, lengths: GrowthLengths
) -> list[tuple[Window, dict[str, float]]]:
    client.call("run", seconds=lengths.warm_up_s, depth=depth)
    measured: list[tuple[Window, dict[str, float]]] = []
    for _ in range(lengths.windows):
        with Window(broker) as window:
            part = client.call("run", seconds=lengths.window_s, depth=depth)
        measured.append((window, part))
    return measured


def _produce(broker: Broker, shape: Shape, lengths: GrowthLengths) -> Figures:
    memory.settle()
    with _load(broker, shape, RECORD_BYTES, BATCH_RECORDS) as client:
        measured = _rounds(broker, client, shape.depth(IN_FLIGHT_BATCHES), lengths)
    written = [(window, part["requests"] * BATCH_BYTES / MB) for window, part in measured]
    return {
        "MB produced per CPU-s": median([mb / window.cpu_s for window, mb in written]),
        "PUTs per MB, 1 MB batches": median([(window.puts or 0) / mb for window, mb in written]),
    }


def _small(broker: Broker, shape: Shape, lengths: GrowthLengths) -> Figures:
    memory.settle()
    with _load(broker, shape, SMALL_BYTES, 1) as client:
        measured = _rounds(broker, client, shape.depth(IN_FLIGHT_SMALL), lengths)
    return {
        "1 KiB requests per CPU-s": median([part["requests"] / window.cpu_s for window, part in measured]),
        "1 KiB requests/s": median([part["requests"] / window.wall_s for window, part in measured]),
    }


def _fetch(broker: Broker, shape: Shape, lengths: GrowthLengths) -> Figures:
    """40 MB are written, all of them in the cache; each fetch names every partition and gets 4 MB."""
    with _load(broker, Shape(shape.partitions, 1), RECORD_BYTES, BATCH_RECORDS) as client:
        client.call("write", requests=40)
    with Client(
        "raw-fetch",
        address=broker.address,
        connections=shape.connections,
        topic="growth",
        fetched=[[*range(shape.partitions)]],
        max_bytes=FETCH_BYTES,
    ) as client:
        measured = _rounds(broker, client, 1, lengths)
    return {
        "MB fetched per CPU-s, warm": median([part["bytes_in"] / MB / window.cpu_s for window, part in measured]),
        "fetches per CPU-s": median([part["requests"] / window.cpu_s for window, part in measured]),
    }


def _latency(broker: Broker, shape: Shape, lengths: GrowthLengths) -> Figures:
    memory.settle()
    syncs = fdatasync_ms(broker.folder, rounds=100)
    with (
        Client(
            "stopwatch", address=broker.address, topic="growth", partitions=shape.partitions, config={}
        ) as consumer,
        _load(broker, shape, RECORD_BYTES, 1) as producer,
    ):
        consumer.call("stand")
        for seconds in (lengths.warm_up_s, lengths.latency_s):
            with Window(broker) as window:
                consumer.begin("time", records=int(seconds * RATE))
                written = producer.call("pace", seconds=seconds, rate=RATE)
                read = consumer.finish()
    syncs += fdatasync_ms(broker.folder, rounds=100)
    return {
        "produce, ms p50": percentile(written["taken_ms"], 0.5),
        "produce, ms p99": percentile(written["taken_ms"], 0.99),
        "end to end, ms p50": percentile(read["taken_ms"], 0.5),
        "end to end, ms p99": percentile(read["taken_ms"], 0.99),
        "fdatasync, ms p50": percentile(syncs, 0.5),
        "fdatasync, ms p99": percentile(syncs, 0.99),
        "CPU at 1,000 records/s, % of a core": 100 * window.cpu_s / window.wall_s,
    }


def _restart(folder: Path, lengths: GrowthLengths) -> Figures:
    """On the data that was left, with nobody connected."""
    broker = start_inkless(folder)
    try:
        time.sleep(1)
        with Window(broker) as window:
            time.sleep(lengths.window_s)
        return {
            "restart to ready, s": broker.ready_s,
            "idle RSS after a restart, MB": rss_mb(broker.pid),
            "idle CPU, % of a core": 100 * window.cpu_s / window.wall_s,
        }
    finally:
        broker.stop()
