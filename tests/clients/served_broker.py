"""The broker as its users run it: the `inkless` command in a process of its own."""

import contextlib
import os
import re
import select
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

START_S = 30.0
STOP_S = 10.0


@dataclass(frozen=True, slots=True)
class BrokerProcess:
    addresses: Mapping[str, str]  # by the listener's name
    log: Path

    @property
    def address(self) -> str:
        return self.addresses["PLAINTEXT"]


@contextlib.contextmanager
def broker_process(folder: Path, settings: Mapping[str, str] | None = None) -> Iterator[BrokerProcess]:
    """Runs from its `ready:` line on; at the end it must stop cleanly, without an error in its log."""
    chosen = {"listeners": "PLAINTEXT://127.0.0.1:0", "inkless.data.dir": str(folder / "data"), **(settings or {})}
    command = [str(Path(sys.executable).with_name("inkless")), "serve"]
    for name, value in chosen.items():
        command += ["--set", f"{name}={value}"]
    # The tests' own variables are no settings.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("INKLESS_")}
    log = folder / "broker.log"
    with log.open("wb") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, env=environment)
    with process:
        try:
            yield BrokerProcess(_addresses(process, log), log)
            process.terminate()
            assert process.wait(STOP_S) == 0, log.read_text()
        finally:
            process.kill()
    mistakes = [line for line in log.read_text().splitlines() if "ERROR" in line or "Traceback" in line]
    assert not mistakes, log.read_text()


def _addresses(process: subprocess.Popen[bytes], log: Path) -> dict[str, str]:
    assert process.stdout is not None
    readable, _, _ = select.select([process.stdout], [], [], START_S)
    line = process.stdout.readline().decode() if readable else ""
    assert line.startswith("ready: "), f"{line!r}\n{log.read_text()}"
    return dict(re.findall(r"([A-Z]+)://([0-9.]+:[0-9]+)", line))
