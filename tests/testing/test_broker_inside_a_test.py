"""The broker inside a test: quick, apart from others, and honest about what goes wrong."""

import asyncio
import subprocess
import sys
import time
from pathlib import Path

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient

from inkless.client.probe import who_answers
from inkless.core.errors import SettingError
from inkless.testing import RunningBroker, broker


def write(running: RunningBroker, topic: str, value: bytes) -> int:
    """By librdkafka; the offset."""
    written: list[confluent_kafka.Message] = []
    producer = confluent_kafka.Producer({"bootstrap.servers": running.bootstrap_servers})
    producer.produce(topic, value, on_delivery=lambda error, message: written.append(message))
    assert producer.flush(20) == 0
    offset = written[0].offset()
    assert written[0].error() is None
    assert offset is not None
    return offset


def partitions_of(running: RunningBroker, topic: str) -> int:
    admin = AdminClient({"bootstrap.servers": running.bootstrap_servers})
    return len(admin.list_topics(topic, timeout=10).topics[topic].partitions)


def test_a_client_works_against_it() -> None:
    with broker() as running:
        assert running.bootstrap_servers == f"127.0.0.1:{running.port}"
        assert len(running.cluster_id) == 22
        assert write(running, "t", b"v") == 0
        assert write(running, "t", b"v") == 1


def test_it_starts_and_stops_quickly() -> None:
    took = []
    for _ in range(3):
        started = time.perf_counter()
        with broker():
            pass
        took.append(time.perf_counter() - started)
    assert min(took) < 0.5  # about 0.02 once imported; the machine may be busy


def test_settings_by_their_names_and_as_keywords() -> None:
    with broker({"num.partitions": 3}) as running:
        write(running, "t", b"v")
        assert partitions_of(running, "t") == 3
    with broker(num_partitions=2, storage="memory:", auto_create_topics_enable=True, node_id=5) as running:
        write(running, "t", b"v")
        assert partitions_of(running, "t") == 2
        assert running.node_id == 5


def test_two_at_once_are_two_clusters() -> None:
    with broker() as one, broker() as other:
        assert one.port != other.port
        assert one.cluster_id != other.cluster_id
        assert write(one, "t", b"v") == write(other, "t", b"v") == 0


def test_a_data_folder_outlives_it(tmp_path: Path) -> None:
    with broker({"inkless.data.dir": tmp_path}) as first:
        assert write(first, "t", b"v") == 0
    with broker({"inkless.data.dir": tmp_path}) as second:
        assert second.cluster_id == first.cluster_id
        assert write(second, "t", b"v") == 1
    with broker({"inkless.data.dir": tmp_path}) as third:
        write(third, "t", b"v")
        third.kill()
    with broker({"inkless.data.dir": tmp_path}) as fourth:
        assert write(fourth, "t", b"v") == 3


def test_after_stop_nobody_answers() -> None:
    with broker() as running:
        running.stop()
        assert asyncio.run(who_answers("127.0.0.1", running.port, 1)) is None
        running.stop()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num.partitons": 3}, r"did you mean num\.partitions"),
        ({"num.partitions": 0}, r"num\.partitions=0"),
        ({"inkless.storage": "s3://bucket"}, r"inkless\.storage"),
    ],
)
def test_wrong_settings_are_told(settings: dict[str, object], message: str) -> None:
    with pytest.raises(SettingError, match=message), broker(settings):
        pass


def test_what_fails_at_start_is_raised_in_the_caller() -> None:
    with (
        broker() as running,
        pytest.raises(SettingError, match="Address already in use"),
        broker({"listeners": f"PLAINTEXT://127.0.0.1:{running.port}"}),
    ):
        pass


def test_the_fixture_is_there_by_itself(inkless_broker: RunningBroker) -> None:
    assert write(inkless_broker, "fixture", b"v") == 0


def test_the_fixture_is_the_same_for_all(inkless_broker: RunningBroker) -> None:
    assert write(inkless_broker, "fixture", b"v") == 1


def test_the_plugin_imports_nothing_heavy() -> None:
    """It is loaded into every test run of whoever has the package installed."""
    heavy = {"asyncio", "click", "uvloop", "sqlite3", "inkless.compose", "inkless.settings", "inkless.wire.api"}
    code = "import sys, inkless.testing.plugin; print(*sys.modules)"
    without_pytest = subprocess.run(
        [sys.executable, "-c", "import sys, pytest; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    added = set(loaded.stdout.split()) - set(without_pytest.stdout.split())
    assert added & heavy == set()
    assert {name for name in added if name.startswith("inkless.")} == {
        "inkless.testing",
        "inkless.testing.plugin",
        "inkless.testing.running",
    }
