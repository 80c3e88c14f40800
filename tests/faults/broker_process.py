"""A broker as its users run it: `inkless serve` in a process of its own, to be killed, traced and measured."""

import contextlib
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

SERVE = (str(Path(sys.executable).with_name("inkless")), "serve")
START_S = 20.0
END_S = 20.0
# Below the ports that the system gives to outgoing connections: a client that reconnects to a port of that range
# while its broker is down may get the very port as its own, connect to itself, and keep the broker out.
PORTS = range(20_000, 32_000)


def free_port() -> int:
    for port in random.sample(PORTS, 100):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no free port found")


class BrokerProcess:
    """Starts in the constructor and is ready when that returns; `ended_with` is for those that must not start."""

    def __init__(
        self,
        data_dir: Path,
        port: int | None = None,
        settings: Mapping[str, object] | None = None,
        *,
        under: Sequence[str] = (),
        serve: Sequence[str] = SERVE,
        wait: bool = True,
    ) -> None:
        self.port = port or free_port()
        self.address = f"127.0.0.1:{self.port}"
        given = {"inkless.data.dir": data_dir, "listeners": f"PLAINTEXT://{self.address}", **(settings or {})}
        pairs = [word for name, value in given.items() for word in ("--set", f"{name}={value}")]
        self.lines: list[str] = []
        self._said = threading.Condition()
        started_s = time.monotonic()
        self.process = subprocess.Popen(
            [*under, *serve, *pairs], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self._ears = threading.Thread(target=self._listen, name=f"lines of {self.address}", daemon=True)
        self._ears.start()
        if wait:
            try:
                self.wait_for_line("ready:", START_S)
            except BaseException:
                self.kill()
                raise
            self.ready_s = time.monotonic() - started_s

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._said:
                self.lines.append(line.rstrip("\n"))
                self._said.notify_all()
        with self._said:
            self._said.notify_all()

    def wait_for_line(self, text: str, timeout_s: float = 10.0, *, after: int = 0) -> str:
        """The first line from number `after` on that contains the text."""

        def found() -> str | None:
            return next((line for line in self.lines[after:] if text in line), None)

        with self._said:
            done = self._said.wait_for(lambda: found() or self.process.poll() is not None, timeout_s)
            line = found()
        assert line is not None, f"no line with {text!r} ({'ended' if done else 'timeout'}):\n" + self.tail()
        return line

    def lines_with(self, text: str) -> list[str]:
        with self._said:
            return [line for line in self.lines if text in line]

    def tail(self) -> str:
        return "\n".join(self.lines[-30:])

    @property
    def rss_mb(self) -> float:
        return float(psutil.Process(self.process.pid).memory_info().rss) / 1e6

    def kill(self) -> None:
        """kill -9."""
        self.process.kill()
        self._collect()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, float]:
        """Exit code, and the seconds it took."""
        told_s = time.monotonic()
        self.process.send_signal(number)
        return self._collect(), time.monotonic() - told_s

    def ended_with(self) -> int:
        """The exit code of a broker that ends by itself."""
        return self._collect()

    def _collect(self) -> int:
        try:
            code = self.process.wait(END_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(END_S)
            raise AssertionError(f"the broker did not end within {END_S:g} s:\n{self.tail()}") from None
        finally:
            self._ears.join(END_S)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.kill()
