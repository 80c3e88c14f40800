"""Apache Kafka's Java client, where Java (a JDK) and Kafka's jars are there.

It is the one that has five requests of one partition in flight, and that speaks the newest version of everything. The
jars are looked for in the folder that INKLESS_KAFKA_JARS names, else where `make bench` keeps them.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from client_port import CODECS, PATIENCE_S
from confluent_client import ConfluentClient
from cutting_proxy import CuttingProxy, Plan
from reading import read_all
from sample_records import RECORDS, Received, Record, check_same, numbered

DRIVER = Path(__file__).with_name("JavaDriver.java")
PARTITIONS = 3


def jars() -> Path | None:
    if "INKLESS_KAFKA_JARS" in os.environ:
        return Path(os.environ["INKLESS_KAFKA_JARS"])
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "inkless-bench"
    return max(
        (folder for folder in cache.glob("kafka-*/jars") if any(folder.glob("kafka-clients-*.jar"))), default=None
    )


pytestmark = [
    pytest.mark.soak,  # five JVMs, which compile the driver each time
    pytest.mark.skipif(shutil.which("java") is None, reason="java is not installed"),
    pytest.mark.skipif(
        jars() is None, reason="there are no jars of Apache Kafka (see INKLESS_KAFKA_JARS in this file)"
    ),
]


def run(job: str, address: str, topic: str, partitions: int = 1, count: int = 0) -> list[str]:
    command = ["java", "-cp", f"{jars()}/*", str(DRIVER), job, address, topic, str(partitions), str(count)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return [line.removeprefix("> ") for line in done.stdout.splitlines() if line.startswith("> ")]


@pytest.mark.parametrize("partitions", [1, PARTITIONS])
def test_java_each_record_once(address: str, topic: str, proxy: CuttingProxy, lossy: Plan, partitions: int) -> None:
    client = ConfluentClient(address)
    client.create_topic(topic, partitions)
    lossy.left, lossy.chance = 10, 0.1
    run("lossy", proxy.address, topic, partitions, RECORDS)
    print(f"cuts: {lossy.made}")
    assert lossy.left == 0
    assert lossy.most_in_flight == 5
    check_same(numbered(RECORDS, partitions), read_all(client, topic, range(partitions)))


def test_java_codecs(address: str, topic: str) -> None:
    got: dict[str, dict[int, list[Received]]] = {}
    for line in run("codecs", address, topic, PARTITIONS, RECORDS):
        name, partition, offset, key, value, timestamp = line.split("\t")
        record = Record(int(partition), key.encode(), value.encode(), int(timestamp))
        got.setdefault(name, {}).setdefault(record.partition, []).append(Received(int(offset), record))
    assert sorted(got) == sorted(f"{topic}-{codec}" for codec in CODECS)
    for received in got.values():
        check_same(numbered(RECORDS, PARTITIONS), received)


def test_java_topic_ids(address: str, topic: str) -> None:
    assert run("ids", address, topic) == [topic, "UnknownTopicIdException"]


def test_java_refusals(address: str, topic: str) -> None:
    """Groups of both protocols and transactions, each stopped by an error."""
    expected = ["UnsupportedVersionException", "UnsupportedVersionException", "TransactionalIdAuthorizationException"]
    assert run("refusals", address, topic) == expected
