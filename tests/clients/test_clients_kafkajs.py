"""KafkaJS, where it is installed: it writes here and is read back by confluent-kafka, as it has no assignment.

It is looked for as Node looks for modules, and in the folder that INKLESS_KAFKAJS names:
`npm install --prefix /tmp/kafkajs kafkajs && INKLESS_KAFKAJS=/tmp/kafkajs pytest tests/clients`.
"""

import base64
import functools
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from client_port import (
    CODECS,
    MESSAGE_TOO_LARGE,
    PATIENCE_S,
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_OR_PARTITION,
    Refused,
)
from confluent_client import ConfluentClient
from cutting_proxy import CuttingProxy, Plan
from reading import read_all
from sample_records import FIRST_TIMESTAMP, RECORDS, Record, check_same, numbered, sample

DRIVER = Path(__file__).with_name("kafkajs_driver.cjs")
PARTITIONS = 3
PROMPTLY_S = 5.0


def environment() -> dict[str, str]:
    folders = [os.environ.get("NODE_PATH", "")]
    if "INKLESS_KAFKAJS" in os.environ:
        folders.append(str(Path(os.environ["INKLESS_KAFKAJS"]) / "node_modules"))
    return {**os.environ, "NODE_PATH": os.pathsep.join(filter(None, folders))}


@functools.cache
def missing() -> str | None:
    if shutil.which("node") is None:
        return "node is not installed"
    look = ["node", "-e", "require.resolve('kafkajs')"]
    found = subprocess.run(look, cwd=DRIVER.parent, env=environment(), capture_output=True, check=False)
    return "kafkajs is not installed (see INKLESS_KAFKAJS in this file)" if found.returncode else None


pytestmark = pytest.mark.skipif(missing() is not None, reason=missing() or "")


def run(name: str, address: str = "", **job: Any) -> Any:
    """One job of the driver; raises what KafkaJS raised."""
    text = json.dumps({"name": name, "address": address, "settings": {}, **job})
    done = subprocess.run(
        ["node", str(DRIVER)],
        input=text.encode(),
        env=environment(),
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    result = json.loads(done.stdout)
    if (error := result.get("error")) is not None:
        code = error["code"] if isinstance(error["code"], int) else -1
        raise Refused(code, f"{error['name']}: {error['text']}")
    return result["answer"]


def write(address: str, topic: str, records: Iterable[Record], **options: Any) -> None:
    job = {"codec": "none", "idempotent": False, "chunk": 500, **options}
    run("write", address, topic=topic, records=[packed(record) for record in records], **job)


def packed(record: Record) -> dict[str, Any]:
    """Its headers are an object: a name's values stand together."""
    headers: dict[str, list[str | None]] = {}
    for name, value in record.headers:
        headers.setdefault(name, []).append(text_of(value))
    return {
        "partition": record.partition,
        "key": text_of(record.key),
        "value": text_of(record.value),
        "timestamp": record.timestamp,
        "headers": list(headers.items()),
    }


def text_of(content: bytes | None) -> str | None:
    return None if content is None else base64.b64encode(content).decode()


def grouped(record: Record) -> Record:
    """The record as KafkaJS is able to write it: the headers of one name in a row."""
    names = list(dict.fromkeys(name for name, _ in record.headers))
    return record._replace(headers=tuple(sorted(record.headers, key=lambda header: names.index(header[0]))))


@functools.cache
def codecs() -> list[str]:
    return run("codecs")


@pytest.mark.slow
@pytest.mark.parametrize("codec", CODECS)
def test_kafkajs_codecs(address: str, topic: str, codec: str) -> None:
    if codec not in codecs():
        pytest.skip(f"KafkaJS has no {codec} without another package, which is not installed")
    records = [grouped(record) for record in sample(RECORDS, PARTITIONS, null_records=True)]
    run("create", address, topic=topic, partitions=PARTITIONS, configs={})
    write(address, topic, records, codec=codec)
    check_same(records, read_all(ConfluentClient(address), topic, range(PARTITIONS)))


@pytest.mark.slow
def test_kafkajs_each_record_once(address: str, topic: str, proxy: CuttingProxy, lossy: Plan) -> None:
    """It has one request of an idempotent producer in flight."""
    records = numbered(RECORDS, PARTITIONS)
    run("create", address, topic=topic, partitions=PARTITIONS, configs={})
    lossy.left, lossy.chance = 8, 0.15
    # An idempotent producer's default is to try again for ever, but not if anything is said about retries.
    quick = {"initialRetryTime": 20, "maxRetryTime": 50, "retries": 1000}
    write(proxy.address, topic, records, idempotent=True, chunk=50, settings={"retry": quick})
    assert lossy.left == 0
    check_same(records, read_all(ConfluentClient(address), topic, range(PARTITIONS)))


def test_kafkajs_null_and_empty(address: str, topic: str) -> None:
    records = [Record(0, key, value, FIRST_TIMESTAMP) for key in (None, b"", b"x") for value in (None, b"", b"x")]
    write(address, topic, records)
    check_same(records, read_all(ConfluentClient(address), topic, [0]))


def test_kafkajs_one_megabyte(address: str, topic: str) -> None:
    record = Record(0, b"key", os.urandom(1_000_000), FIRST_TIMESTAMP)
    write(address, topic, [record])
    check_same([record], read_all(ConfluentClient(address), topic, [0]))


def test_kafkajs_too_large(address: str, topic: str) -> None:
    with pytest.raises(Refused) as caught:
        write(address, topic, [Record(0, None, bytes(2_000_000), FIRST_TIMESTAMP)])
    assert caught.value.code == MESSAGE_TOO_LARGE


def test_kafkajs_topics(address: str, topic: str) -> None:
    assert run("create", address, topic=topic, partitions=2, configs={"max.message.bytes": "2000000"}) is True
    assert run("create", address, topic=topic, partitions=2, configs={}) is False  # it exists already
    run("grow", address, topic=topic, partitions=4)
    assert run("topics", address)[topic] == 4
    run("remove", address, topic=topic)
    assert topic not in run("topics", address)
    with pytest.raises(Refused) as caught:  # it would try again for seconds, as the topic might come
        run("remove", address, topic=topic, settings={"retry": {"retries": 0}})
    assert caught.value.code == UNKNOWN_TOPIC_OR_PARTITION


def test_kafkajs_offsets(address: str, topic: str) -> None:
    write(address, topic, numbered(10, 1))
    [bounds] = run("offsets", address, topic=topic, timestamp=None)
    assert (bounds["low"], bounds["high"]) == ("0", "10")
    [found] = run("offsets", address, topic=topic, timestamp=FIRST_TIMESTAMP + 4)
    assert found["offset"] == "4"


def test_kafkajs_transactions(address: str) -> None:
    start = time.monotonic()
    with pytest.raises(Refused) as caught:
        run("transact", address)
    assert caught.value.code == TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert time.monotonic() - start < PROMPTLY_S


def test_kafkajs_group(address: str, topic: str) -> None:
    run("create", address, topic=topic, partitions=1, configs={})
    with pytest.raises(Refused, match="JoinGroup"):
        run("join", address, topic=topic)
