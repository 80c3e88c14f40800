"""The brokers under test as real processes: how each is started, found ready, measured and ended."""

import base64
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from bench import kafka_jars, usage

READY_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 20.0
HOST = "127.0.0.1"
# ApiVersions version 0 without a client id: the least that both brokers answer only when they are up.
_ARE_YOU_THERE = bytes.fromhex("0000000a 0012 0000 00000001 ffff".replace(" ", ""))

KAFKA_JVM = (  # those of kafka-server-start.sh
    "-Xmx1G",
    "-Xms1G",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
)


class Broker:
    """A running broker process and what it has cost so far."""

    def __init__(self, name: str, command: Sequence[str], port: int, folder: Path, puts: Path | None = None) -> None:
        self.name = name
        self.address = f"{HOST}:{port}"
        self.port = port
        self.folder = folder
        self._puts = puts
        self._log: IO[bytes] = (folder / "log.txt").open("wb")
        started = time.perf_counter()
        self._process = subprocess.Popen(command, stdout=self._log, stderr=subprocess.STDOUT, cwd=folder)
        try:
            self._wait_ready()
        except BaseException:
            self.stop()
            raise
        self.ready_s = time.perf_counter() - started
        self.pid = self._process.pid

    def _wait_ready(self) -> None:
        deadline = time.monotonic() + READY_TIMEOUT_S
        while not _answers(self.port):
            if self._process.poll() is not None or time.monotonic() > deadline:
                tail = (self.folder / "log.txt").read_text(errors="replace")[-3000:]
                raise RuntimeError(f"{self.name} did not start:\n{tail}")
            time.sleep(0.005)

    def cpu_s(self) -> float:
        return usage.cpu_seconds(self.pid)

    def puts(self) -> int | None:
        """Objects written so far, for a broker that writes objects; nothing deletes them during a run."""
        if self._puts is None:
            return None
        return sum([1 for path in self._puts.rglob("*") if path.is_file()])

    def stop(self) -> None:
        """End it. Its data stays until the run is over: freed memory would go back to the host (see `memory`)."""
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()


def end_with_brokers() -> None:
    """Let a SIGTERM unwind this process, so that no broker outlives it."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def _answers(port: int) -> bool:
    try:
        with socket.create_connection((HOST, port), timeout=1) as sock:
            sock.sendall(_ARE_YOU_THERE)
            return len(sock.recv(4)) == 4
    except OSError:
        return False


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind((HOST, 0))
        return int(sock.getsockname()[1])


def start_inkless(folder: Path, settings: Sequence[str] = (), prefix: Sequence[str] = ()) -> Broker:
    """With local files and the SQLite plane, as `inkless serve` does it; `prefix` runs it under a profiler."""
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    given = [f"listeners=PLAINTEXT://{HOST}:{port}", f"inkless.data.dir={folder / 'data'}", *settings]
    command = [*prefix, *_serve_command()]
    for pair in given:
        command += ["--set", pair]
    return Broker("Inkless", command, port, folder, folder / "data" / "objects")


def _serve_command() -> list[str]:
    script = Path(sys.executable).with_name("inkless")
    return [sys.executable, str(script), "serve"]


def start_kafka(folder: Path, *, flush: bool) -> Broker:
    """One node that is broker and controller, its own defaults; `flush` syncs each write before it is answered."""
    folder.mkdir(parents=True, exist_ok=True)
    port, controller = free_port(), free_port()
    properties = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@{HOST}:{controller}",
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://{HOST}:{port},CONTROLLER://{HOST}:{controller}",
        "log.dirs": str(folder / "data"),
        "offsets.topic.replication.factor": "1",
    }
    if flush:
        properties["log.flush.interval.messages"] = "1"
    file = folder / "server.properties"
    file.write_text("".join([f"{key}={value}\n" for key, value in properties.items()]))
    java = ["java", *KAFKA_JVM, "-cp", kafka_jars.class_path(), f"-Dlog4j2.configurationFile={_log4j(folder)}"]
    cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    subprocess.run(
        [*java, "kafka.tools.StorageTool", "format", f"--cluster-id={cluster}", "-c", str(file)],
        check=True,
        capture_output=True,
    )
    name = f"Kafka {kafka_jars.KAFKA_VERSION}" + (", flushing each write" if flush else "")
    return Broker(name, [*java, "kafka.Kafka", str(file)], port, folder)


def _log4j(folder: Path) -> Path:
    path = folder / "log4j2.properties"
    path.write_text(
        "rootLogger.level = warn\nrootLogger.appenderRef.out.ref = out\n"
        "appender.out.type = Console\nappender.out.name = out\n"
        "appender.out.layout.type = PatternLayout\nappender.out.layout.pattern = [%d] %p %m (%c)%n\n"
    )
    return path
