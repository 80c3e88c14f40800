"""Every command of the README's tour is run, as it stands there, against a broker of its own."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"
DEFAULT_ADDRESS = "127.0.0.1:9092"


def blocks(section: str) -> list[tuple[str, str]]:
    """The fenced blocks of a section as (language, text)."""
    text = README.read_text().split(f"## {section}\n")[1].split("\n## ")[0]
    return re.findall(r"```(\w*)\n(.*?)```", text, re.DOTALL)


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """A broker as `make serve` starts it, in a folder that has the environment the README speaks of."""
    (tmp_path / ".venv").symlink_to(sys.prefix)
    command = [".venv/bin/inkless", "serve", "--set", "listeners=PLAINTEXT://127.0.0.1:0"]
    broker = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert broker.stdout is not None
    ready = re.match(r"ready: PLAINTEXT://(\S+) ", broker.stdout.readline())
    try:
        assert ready is not None
        yield ready[1]
    finally:
        broker.terminate()
        _, log = broker.communicate(timeout=10)
    assert broker.returncode == 0, log


def test_the_tour(address: str, tmp_path: Path) -> None:
    environment = {**os.environ, "INKLESS_BOOTSTRAP_SERVER": address}
    printed = []
    for language, text in blocks("Five minutes"):
        if "run_my_pipeline" in text:
            continue
        command = ["bash", "-euo", "pipefail", "-c", text] if not language else [sys.executable, "-c", text]
        command[-1] = command[-1].replace(DEFAULT_ADDRESS, address)
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
        printed.append(done.stdout)
    commands, client, dump = printed
    assert re.search(r"^Partition:\d+\tOffset:\d+\tann\tbook$", commands, re.MULTILINE), commands
    for value in (b"book", b"pen", b"lamp", b"desk"):
        assert str(value) in client
    assert "records" in dump, dump


def test_the_broker_inside_a_test() -> None:
    ((_, text),) = [block for block in blocks("Five minutes") if "run_my_pipeline" in block[1]]
    seen: list[str] = []
    names: dict[str, object] = {"run_my_pipeline": lambda bootstrap_servers: seen.append(bootstrap_servers)}
    exec(text, names)
    names["test_my_pipeline"]()  # type: ignore[operator]
    assert re.fullmatch(r"127\.0\.0\.1:\d+", seen[0])
