"""`make bench`: measure Inkless, with Apache Kafka beside it in the same run, and print tables.

Nothing here passes or fails: figures depend on the machine, so what counts is the ratio within one run.
"""

import argparse
import hashlib
import json
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import confluent_kafka

import inkless
from bench import brokers, commits, growth, kafka_jars, memory, report, scenarios

GROWTH, COMMITS = "growth", "commits"
PARTS = (*scenarios.SCENARIOS, GROWTH, COMMITS)

MEANING = """\
CPU-s are seconds of CPU time (user and system) of the broker process alone, over a window that begins and ends with
the clients' work, so they don't depend on how fast the clients are. MB are 1,000,000 bytes. Clients are librdkafka
in processes of their own, by assignment, acks=all, not idempotent, no compression.

- produced: 1 MB batches (99 records of 10 kB) over 8 partitions from 2 producers (`linger.ms=100`).
- fetched, tail: 4 consumers each read all 8 partitions, 40 MB that were written just before; the window holds
  fetching alone. Warm: the same 40 MB, again and again. Both fit into Inkless's cache and into the page cache.
- 1 KiB requests: prebuilt Produce frames of one record over 4 plain sockets, 100 in flight on each, 8 partitions
  (librdkafka costs more per request than a broker does); below it the same from 4 librdkafka producers,
  `linger.ms=0`, `batch.num.messages=1`.
- latency: 1,000 records of 10 kB a second over 8 partitions, `linger.ms=0`, from the call to the acknowledgement, and
  to a consumer's poll. fdatasync: 10 kB appended to a file of the same filesystem, before and after.
- Inkless syncs file, folder and SQLite log before each answer. Kafka has its own defaults and a heap of 1 GB; it
  answers from the page cache unless it flushes each write (`log.flush.interval.messages=1`)."""

GROWTH_MEANING = """\
Inkless alone, prebuilt frames in each column, so that only what the column says differs: with partitions varied 4
connections, with connections varied 8 partitions. 1 MB batches: 16 in flight (one for each of 1,000 connections);
1 KiB requests: 400 in flight (1,000), each for the next partition; a fetch names every partition and gets 4 MB from
the cache; latency as above, the consumer (librdkafka, which has no fetch sessions) names every partition in each
fetch."""

COMMITS_MEANING = """\
One object of so many batches over so many partitions committed to the SQLite plane, in process; each batch makes a
row, and the object and its result are two more. CPU is that of the process; wall time has the sync in it."""


def tell(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="short windows: a look, not figures to keep")
    parser.add_argument("--only", action="append", choices=PARTS, metavar="NAME", help=f"one of {', '.join(PARTS)}")
    parser.add_argument("--no-kafka", action="store_true", help="Inkless alone")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    parser.add_argument("--folder", type=Path, help="where the data goes while the run lasts (default: TMPDIR)")
    return parser.parse_args()


def machine(folder: Path) -> str:
    told = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.partition(":")[2].strip() for line in told if line.startswith("model name")), "?")
    gib = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    lines = [
        f"{time.strftime('%Y-%m-%d %H:%M')}, {model}, {os.cpu_count()} cores, {gib:.0f} GiB, {platform.release()}, "
        f"Python {platform.python_version()}, librdkafka {confluent_kafka.libversion()[0]}, "
        f"load average {os.getloadavg()[0]:.1f} before the run, source {source_digest()}",
        f"plain write into new page cache: {memory.page_cache_mb_per_cpu_s(folder):,.0f} MB per CPU-s"
        + (" (this machine hands free memory back to its host, see bench/memory.py)" * memory.is_handed_back()),
    ]
    return "\n".join([f"- {line}" for line in lines])


def source_digest() -> str:
    """Names the code that is measured; an editable install may change under a run."""
    digest = hashlib.sha256()
    root = Path(inkless.__file__).parent
    for path in sorted([*root.rglob("*.py"), *root.rglob("*.sql")]):
        digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def measure_broker(
    start: Callable[[], brokers.Broker], names: list[str], lengths: scenarios.Lengths, failed: list[str]
) -> dict[str, float]:
    figures: dict[str, float] = {}
    os.sync()
    broker = start()
    try:
        for name in names:
            tell(f"{broker.name}: {name}")
            try:
                figures |= scenarios.SCENARIOS[name](broker, lengths)
            except Exception as error:  # what was measured so far is worth keeping
                failed.append(f"{broker.name}: {name} failed: {error}")
                tell(failed[-1])
    finally:
        broker.stop()
    return figures


def compare(options: argparse.Namespace, folder: Path, names: list[str]) -> tuple[dict[str, Any], list[str]]:
    """Figures by broker, and what was skipped or failed."""
    lengths = scenarios.QUICK if options.quick else scenarios.FULL
    notes: list[str] = []
    columns = {"Inkless": measure_broker(lambda: brokers.start_inkless(folder / "inkless"), names, lengths, notes)}
    missing = "--no-kafka" if options.no_kafka else kafka_jars.ensure()
    if missing is not None:
        return columns, [*notes, f"Apache Kafka skipped: {missing}"]
    for flush in (False, True):
        title = f"Kafka {kafka_jars.KAFKA_VERSION}" + ", flushing" * flush
        place = folder / ("kafka-flushing" if flush else "kafka")
        columns[title] = measure_broker(partial(brokers.start_kafka, place, flush=flush), names, lengths, notes)
    return columns, notes


def main() -> None:
    options = parse()
    brokers.end_with_brokers()
    began_with = source_digest()
    wanted = options.only or list(PARTS)
    result: dict[str, Any] = {"quick": options.quick}
    folder = Path(tempfile.mkdtemp(prefix="inkless-bench-", dir=options.folder))
    try:
        if memory.is_handed_back():
            tell(f"filled free memory with page cache, {memory.fill():,.0f} MB were free")
        print(f"# Benchmark{' (quick)' if options.quick else ''}\n\n{machine(folder)}\n", flush=True)
        names = [name for name in scenarios.SCENARIOS if name in wanted]
        if names:
            columns, skipped = compare(options, folder, names)
            result["figures"] = columns
            print("\n\n".join(["## Figures", MEANING, report.figures_table(columns, ratio=True), *skipped]) + "\n")
        if GROWTH in wanted:
            lengths = growth.QUICK if options.quick else growth.FULL
            shapes = growth.QUICK_SHAPES if options.quick else growth.SHAPES
            grown = {
                shape.title: growth.measure(shape, folder / f"growth-{index}", lengths, tell)
                for index, shape in enumerate(shapes)
            }
            result[GROWTH] = grown
            print(
                f"## How cost grows\n\n{GROWTH_MEANING}\n\n{report.figures_table(grown, ratio=False)}\n", flush=True
            )
        if COMMITS in wanted:
            amounts = commits.QUICK if options.quick else commits.FULL
            costs, syncs = commits.measure(folder / COMMITS, amounts, tell)
            result[COMMITS] = [
                {name: getattr(cost, name) for name in (*cost.__slots__, "units", "us_per_unit")} for cost in costs
            ]
            print(f"## Cost of a commit\n\n{COMMITS_MEANING}\n\n{report.commits_table(costs, syncs)}\n", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if source_digest() != began_with:
        print("**The source changed during this run: its parts measured different code. Don't keep it.**\n")
    if options.json is not None:
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
