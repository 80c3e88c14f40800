"""The wheel in an empty environment: it holds what it needs, serves, starts quickly, and is quiet when idle."""

import re
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

ROOT = Path(__file__).parents[2]
STATEMENTS = ROOT / "src/inkless/control_plane/sql"
INSTALL_S = 300
STARTS = 3
READY_S = 3.0
IDLE_WATCH_S = 3.0
IDLE_RSS_MB = 150.0
IDLE_CPU = 0.05

pytestmark = [pytest.mark.slow, pytest.mark.timeout(2 * INSTALL_S)]


def run(*command: str | Path, timeout_s: float = INSTALL_S) -> str:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=timeout_s, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", folder, ROOT)
    (built,) = folder.glob("inkless-*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the pinned packages and the wheel, and nothing of this repository."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", folder / "bin/python")
    run(*pip, "install", "--quiet", "--require-hashes", "-r", ROOT / "requirements.lock")
    run(*pip, "install", "--quiet", "--no-deps", wheel)
    return folder


def test_the_wheel_holds_the_package_with_its_statements_and_nothing_else(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    statements = {f"inkless/control_plane/sql/{path.relative_to(STATEMENTS)}" for path in STATEMENTS.rglob("*.sql")}
    assert statements
    assert statements <= names
    strangers = [name for name in names if not re.match(r"inkless/|inkless-[^/]+\.dist-info/", name)]
    assert not strangers


class Served:
    """The installed `inkless serve` on a free port, with the seconds from its start to its `ready:` line."""

    def __init__(self, environment: Path, data_dir: Path) -> None:
        command = (environment / "bin/inkless", "serve", "--set", "listeners=PLAINTEXT://127.0.0.1:0")
        began_s = time.monotonic()
        self.process = subprocess.Popen(
            [*command, "--set", f"inkless.data.dir={data_dir}"],
            stdout=subprocess.PIPE,
            text=True,
            cwd=data_dir.parent,
        )
        assert self.process.stdout is not None
        watchdog = threading.Timer(20, self.process.kill)
        watchdog.start()
        line = self.process.stdout.readline()
        self.ready_s = time.monotonic() - began_s
        watchdog.cancel()
        found = re.match(r"ready: .*127\.0\.0\.1:(\d+)", line)
        assert found, line
        self.address = f"127.0.0.1:{found.group(1)}"

    def stop(self) -> int:
        self.process.terminate()
        code = self.process.wait(10)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


@pytest.fixture(scope="module")
def served(environment: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    broker = Served(environment, tmp_path_factory.mktemp("served") / "data")
    yield broker
    if broker.process.poll() is None:
        assert broker.stop() == 0


def test_nothing_comes_from_the_repository(environment: Path) -> None:
    code = "import inkless, sys; print(inkless.__file__)"
    assert run(environment / "bin/python", "-P", "-c", code).startswith(str(environment))


def test_the_installed_broker_starts_quickly(environment: Path, tmp_path: Path) -> None:
    times_s = []
    for number in range(STARTS):
        broker = Served(environment, tmp_path / f"data{number}")
        times_s.append(broker.ready_s)
        assert broker.stop() == 0
    print(f"from process start to ready: {', '.join(f'{time_s:.2f}' for time_s in times_s)} s")
    assert min(times_s) < READY_S


def test_the_installed_broker_is_quiet_when_idle(served: Served) -> None:
    process = psutil.Process(served.process.pid)
    before = process.cpu_times()
    time.sleep(IDLE_WATCH_S)
    after = process.cpu_times()
    cpu = (after.user + after.system - before.user - before.system) / IDLE_WATCH_S
    rss_mb = process.memory_info().rss / 1e6
    print(f"idle: RSS {rss_mb:.0f} MB, CPU {cpu:.1%}")
    assert rss_mb < IDLE_RSS_MB
    assert cpu < IDLE_CPU


def test_the_installed_broker_takes_and_gives_a_record(served: Served) -> None:
    failed: list[object] = []
    producer = Producer({"bootstrap.servers": served.address, "log_level": 0})
    producer.produce(
        "t",
        b"value",
        b"key",
        headers={"h": b"1"},
        on_delivery=lambda error, _: failed.append(error) if error else None,
    )
    assert producer.flush(20) == 0
    assert not failed
    consumer = Consumer({"bootstrap.servers": served.address, "group.id": "none", "log_level": 0})
    try:
        consumer.assign([TopicPartition("t", 0, 0)])
        (message,) = consumer.consume(1, 20)
        assert message.error() is None
        assert (message.key(), message.value(), message.headers()) == (b"key", b"value", [("h", b"1")])
    finally:
        consumer.close()
