"""kcat, where it is installed. It writes lines and reads them back as JSON; it can't set timestamps."""

import json
import shutil
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from client_port import CODECS, PATIENCE_S
from confluent_client import ConfluentClient
from cutting_proxy import CuttingProxy, Plan
from sample_records import RECORDS, Headers, Record, by_partition, check_same

pytestmark = pytest.mark.skipif(shutil.which("kcat") is None, reason="kcat is not installed (apt install kcat)")

PARTITIONS = 3
HEADERS: Headers = (("trace", b"1"), ("trace", b"2"), ("none", None), ("empty", b""))


def kcat(
    address: str, *arguments: str, lines: bytes = b"", fails: bool = False
) -> subprocess.CompletedProcess[bytes]:
    done = subprocess.run(
        ["kcat", "-b", address, *arguments], input=lines, capture_output=True, timeout=PATIENCE_S, check=False
    )
    assert (done.returncode != 0) is fails, done.stderr.decode()
    return done


def write(address: str, topic: str, records: Iterable[Record], *options: str) -> None:
    """One run for each partition, as it takes the partition for all lines."""
    for header, value in HEADERS:
        options += ("-H", header if value is None else f"{header}={value.decode()}")
    for partition, items in by_partition(records).items():
        lines = b"".join(b"%s\t%s\n" % (item.key, item.value) for item in items)
        kcat(address, "-P", "-t", topic, "-p", str(partition), "-K", "\t", *options, lines=lines)


def read(address: str, topic: str, *options: str) -> dict[int, list[tuple[int, Record]]]:
    """What is there, by assignment of all partitions, until the end of each."""
    printed = kcat(address, "-C", "-t", topic, "-e", "-q", "-J", *options).stdout
    received: dict[int, list[tuple[int, Record]]] = {}
    for item in map(json.loads, printed.splitlines()):
        assert item["tstype"] == "create"
        flat = item.get("headers", [])
        headers = tuple((name, encoded(value)) for name, value in zip(flat[::2], flat[1::2], strict=True))
        record = Record(item["partition"], encoded(item["key"]), encoded(item["payload"]), item["ts"], headers)
        received.setdefault(item["partition"], []).append((item["offset"], record))
    return received


def encoded(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


def lines(count: int) -> list[Record]:
    text = " ".join(f"word{number}" for number in range(60))
    return [
        Record(
            number % PARTITIONS, b"key-%d" % number, b"%d %s" % (number, text[: number % 400].encode()), None, HEADERS
        )
        for number in range(count)
    ]


def check(sent: Iterable[Record], got: dict[int, list[tuple[int, Record]]], since_ms: int) -> None:
    """The same, with timestamps from the time of the writing."""
    now_ms = time.time_ns() // 1_000_000
    for items in got.values():
        for number, (offset, record) in enumerate(items):
            assert since_ms <= record.timestamp <= now_ms
            items[number] = (offset, record._replace(timestamp=None))
    check_same(sent, got)


@pytest.mark.slow
@pytest.mark.parametrize("codec", CODECS)
def test_kcat_codecs(address: str, topic: str, codec: str) -> None:
    ConfluentClient(address).create_topic(topic, PARTITIONS)  # kcat can't
    records = lines(RECORDS)
    since_ms = time.time_ns() // 1_000_000
    write(address, topic, records, "-z", codec)
    check(records, read(address, topic), since_ms)


@pytest.mark.slow
def test_kcat_each_record_once(address: str, topic: str, proxy: CuttingProxy, lossy: Plan) -> None:
    ConfluentClient(address).create_topic(topic, PARTITIONS)
    records = lines(RECORDS)
    since_ms = time.time_ns() // 1_000_000
    lossy.left, lossy.chance = 8, 0.1
    quick = ("reconnect.backoff.ms=20", "reconnect.backoff.max.ms=50", "retry.backoff.ms=20", "batch.num.messages=20")
    options = [option for setting in ("enable.idempotence=true", *quick) for option in ("-X", setting)]
    # It ends when all brokers it knows are down, so it gets to know one under two names.
    write(f"{proxy.address},{proxy.address.replace('127.0.0.1', 'localhost')}", topic, records, *options)
    assert lossy.left == 0
    check(records, read(address, topic), since_ms)


def test_kcat_null_and_empty(address: str, topic: str) -> None:
    """-Z makes what is empty null; a line without the delimiter has no key."""
    kcat(address, "-P", "-t", topic, "-K:", lines=b"k:v\n:v\nv\nk:\n")
    kcat(address, "-P", "-t", topic, "-K:", "-Z", lines=b"k:v\n:v\nv\nk:\n")
    pairs = [(record.key, record.value) for _, record in read(address, topic)[0]]
    plain = [(b"k", b"v"), (b"", b"v"), (None, b"v"), (b"k", b"")]
    assert pairs == [*plain, (b"k", b"v"), (None, b"v"), (None, b"v"), (b"k", None)]


def test_kcat_one_megabyte(address: str, topic: str, tmp_path: Path) -> None:
    content = b"0123456789" * 100_000
    (tmp_path / "record").write_bytes(content)
    kcat(address, "-P", "-t", topic, "-p", "0", "-X", "message.max.bytes=1048588", str(tmp_path / "record"))
    [(_, record)] = read(address, topic)[0]
    assert record.value == content


@pytest.mark.parametrize("limit", [(), ("-X", "message.max.bytes=4000000")], ids=["client", "broker"])
def test_kcat_too_large(address: str, topic: str, tmp_path: Path, limit: tuple[str, ...]) -> None:
    (tmp_path / "record").write_bytes(bytes(2_000_000))
    done = kcat(address, "-P", "-t", topic, "-p", "0", *limit, str(tmp_path / "record"), fails=True)
    assert b"Message size too large" in done.stderr


def test_kcat_metadata(address: str, topic: str) -> None:
    ConfluentClient(address).create_topic(topic, PARTITIONS)
    listed = json.loads(kcat(address, "-L", "-J").stdout)
    assert [broker["name"] for broker in listed["brokers"]] == [address]
    counts = {item["topic"]: len(item["partitions"]) for item in listed["topics"]}
    assert counts[topic] == PARTITIONS


def test_kcat_offsets(address: str, topic: str) -> None:
    kcat(address, "-P", "-t", topic, lines=b"a\nb\nc\n")
    for timestamp, offset in {"-2": 0, "-1": 3, "1700000000000": 0, "4000000000000": -1}.items():
        assert kcat(address, "-Q", "-t", f"{topic}:0:{timestamp}").stdout.split()[-1] == b"%d" % offset
    values = [record.value for _, record in read(address, topic, "-o", "-1")[0]]
    assert values == [b"c"]


def test_kcat_unknown_topic(address: str, topic: str) -> None:
    done = kcat(address, "-C", "-t", topic, "-e", fails=True)
    assert b"Unknown topic or partition" in done.stderr


def test_kcat_transactions(address: str, topic: str) -> None:
    done = kcat(address, "-P", "-t", topic, "-X", "transactional.id=some", lines=b"a\n", fails=True)
    assert b"Transactional Id authorization failed" in done.stderr


def test_kcat_group(address: str, topic: str) -> None:
    ConfluentClient(address).create_topic(topic)
    done = kcat(address, "-G", "some", topic, fails=True)
    assert b"JoinGroup failed" in done.stderr
