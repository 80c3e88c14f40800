"""`inkless produce` and `inkless consume` against the real broker; as processes where signals and pipes matter."""

import json
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from processes import run, running

from inkless.cli.main import main
from inkless.testing import RunningBroker

END = ("--from-beginning", "--timeout-ms", "300")


class Cli:
    def __init__(self, bootstrap: str, folder: Path, capture: pytest.CaptureFixture[bytes]) -> None:
        self.variables = {"INKLESS_BOOTSTRAP_SERVER": bootstrap}
        self._input = folder / "stdin"
        self._capture = capture

    def run(self, *arguments: str, stdin: bytes = b"") -> tuple[int, bytes, str]:
        """In this process, which saves the imports."""
        self._input.write_bytes(stdin)
        with self._input.open() as file, pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "stdin", file)
            patch.setenv("INKLESS_BOOTSTRAP_SERVER", self.variables["INKLESS_BOOTSTRAP_SERVER"])
            code = main(arguments)
        out, err = self._capture.readouterr()
        return code, out, err.decode()

    def produce(self, topic: str, lines: bytes, *arguments: str) -> tuple[int, str]:
        code, out, err = self.run("produce", topic, *arguments, stdin=lines)
        assert out == b""
        return code, err

    def consume(self, topic: str, *arguments: str) -> tuple[int, bytes]:
        return self.run("consume", topic, *arguments)[:2]

    def create(self, topic: str, partitions: int = 1) -> None:
        assert self.run("topics", "create", topic, "--partitions", str(partitions))[0] == 0


@pytest.fixture
def cli(inkless_broker: RunningBroker, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> Cli:
    return Cli(inkless_broker.bootstrap_servers, tmp_path, capfdbinary)


def test_lines_there_and_back(cli: Cli) -> None:
    code, err = cli.produce("lines", b"one\n\ntwo \xff\nthree")
    assert code == 0
    assert err.startswith("4 records (")
    assert err.endswith(" s\n")
    assert cli.consume("lines", *END) == (0, b"one\n\ntwo \\xff\nthree\n")
    assert cli.consume("lines", "--offset", "2", "--max-messages", "1") == (0, b"two \\xff\n")
    assert cli.consume("lines", "--offset", "9", "--max-messages", "1")[0] == 1
    # Fewer than asked for:
    assert cli.consume("lines", *END, "--max-messages", "9")[0] == 1


def test_keys_headers_and_what_is_printed(cli: Cli) -> None:
    arguments = ("--key-separator", ":", "--header", "a=1", "--compression", "zstd")
    assert cli.produce("parts", b"k1:v:1\n", *arguments)[0] == 0
    assert cli.produce("parts", b"x:1,y:2\tk2\tv2\n", "--headers", "--key-separator", "\\t")[0] == 0
    code, out = cli.consume("parts", *END, "--print", "key,headers", "--print", "offset,partition")
    assert (code, out) == (0, b"Partition:0\tOffset:0\ta:1\tk1\tv:1\nPartition:0\tOffset:1\tx:1,y:2\tk2\tv2\n")


def test_json_there_and_back(cli: Cli) -> None:
    cli.create("json", 3)
    cli.create("json-copy", 3)
    lines: list[dict[str, Any]] = [
        {"key": "k", "value": "zażółć", "headers": {"h": "1"}, "partition": 2, "timestamp": 1_700_000_000_000},
        {"key": None, "value": {"base64": "/wA="}, "partition": 1, "timestamp": 5},
        {"value": None, "partition": 0, "timestamp": 6},
    ]
    assert cli.produce("json", b"".join(json.dumps(line).encode() + b"\n" for line in lines), "--json")[0] == 0
    code, out = cli.consume("json", *END, "--output", "json")
    assert code == 0
    read = sorted((json.loads(line) for line in out.splitlines()), key=lambda line: -line["partition"])
    common = {"offset": 0, "timestamp_type": "CreateTime", "topic": "json", "key": None, "headers": []}
    assert read == [
        {**common, **lines[0], "headers": [{"key": "h", "value": "1"}]},
        {**common, **lines[1]},
        {**common, **lines[2]},
    ]
    assert cli.produce("json-copy", out, "--json")[0] == 0
    copied = cli.consume("json-copy", *END, "--output", "json")[1].replace(b"json-copy", b"json")
    assert sorted(copied.splitlines()) == sorted(out.splitlines())
    # By time, and one partition only.
    arguments = ("--partition", "2", "--offset", "@2023-11-14T22:13:20Z", "--timeout-ms", "300")
    assert cli.consume("json", *arguments)[1].decode() == "zażółć\n"
    arguments = ("--partition", "2", "--offset", "@1700000000001", "--timeout-ms", "300")
    assert cli.consume("json", *arguments) == (0, b"")


def test_a_wrong_line_stops_it_and_what_came_before_is_written(cli: Cli) -> None:
    code, err = cli.produce("wrong", b'{"value": "good"}\nbad\n{"value": "unread"}\n', "--json")
    assert code == 1
    assert "inkless: line 2: not JSON" in err
    assert "1 record (" in err
    assert "1 failed" in err
    assert cli.consume("wrong", *END) == (0, b"good\n")
    code, err = cli.produce("wrong", b"no separator\n", "--key-separator", ":")
    assert code == 1
    assert "line 1: no key: ':' is not in the line" in err


def test_a_record_that_is_too_large_fails_alone(cli: Cli) -> None:
    code, err = cli.produce("too-large", b"a\n" + b"x" * 1_200_000 + b"\nb\n")
    assert code == 1
    assert "inkless: line 2: MESSAGE_TOO_LARGE" in err
    assert "2 records (2 bytes)" in err
    assert cli.consume("too-large", *END) == (0, b"a\nb\n")


def test_many_lines_through_a_pipe(cli: Cli) -> None:
    lines = b"".join(b"%d\n" % n for n in range(20_000))
    properties = ("--property", "compression.type=lz4", "--property", "batch.size=20000")
    written = run("produce", "many", *properties, stdin=lines, **cli.variables)
    assert (written.returncode, written.stdout) == (0, b"")
    assert written.stderr.startswith(b"20,000 records (88,890 bytes) written to many in ")
    read = run("consume", "many", *END, **cli.variables)
    assert (read.returncode, read.stderr) == (0, b"20,000 records\n")
    assert read.stdout == lines


def test_lines_are_written_and_printed_as_they_come(cli: Cli) -> None:
    cli.create("live")
    with (
        running("consume", "live", "--from-beginning", **cli.variables) as consumer,
        running("produce", "live", **cli.variables) as producer,
    ):
        assert producer.stdin is not None
        assert consumer.stdout is not None
        for line in (b"first\n", b"second\n"):
            producer.stdin.write(line)
            producer.stdin.flush()
            assert consumer.stdout.readline() == line
        producer.send_signal(signal.SIGINT)
        consumer.send_signal(signal.SIGINT)
        out, err = producer.communicate(timeout=10)
        assert (producer.returncode, out) == (0, b"")
        assert err.startswith(b"2 records")
        out, err = consumer.communicate(timeout=10)
        assert (consumer.returncode, out, err) == (0, b"", b"2 records\n")


def test_consume_ends_with_whoever_reads_it(cli: Cli) -> None:
    assert cli.produce("pipe", b"a\nb\n")[0] == 0
    with running("consume", "pipe", "--from-beginning", **cli.variables) as consumer:
        assert consumer.stdout is not None
        assert consumer.stdout.readline() == b"a\n"
        consumer.stdout.close()
        assert consumer.wait(timeout=10) == 0


def test_the_default_is_what_comes_from_now_on(cli: Cli) -> None:
    assert cli.produce("now", b"old\n")[0] == 0
    with running("consume", "now", "--max-messages", "1", **cli.variables) as consumer:
        deadline = time.monotonic() + 20
        while consumer.poll() is None and time.monotonic() < deadline:
            cli.produce("now", b"new\n")  # until it has started
        assert consumer.communicate(timeout=10)[0] == b"new\n"


def test_what_was_typed_wrong(cli: Cli) -> None:
    mistakes: list[tuple[tuple[str, ...], int, str]] = [
        (
            ("produce", "t", "--property", "lingr.ms=5"),
            2,
            "inkless: unknown property lingr.ms; did you mean",
        ),
        (("produce", "t", "--header", "x"), 2, "--header needs NAME=VALUE, got 'x'."),
        (("produce", "t", "--json", "--headers"), 2, "--json lines carry their own keys and headers"),
        (("produce", "a b"), 1, "INVALID_TOPIC_EXCEPTION"),
        (("consume", "t", "--offset", "@yesterday"), 2, "--offset @yesterday: expected a number, earliest, latest"),
        (("consume", "t", "--offset", "5", "--from-beginning"), 2, "--from-beginning and --offset say different"),
        (("consume", "t", "--print", "kye"), 2, "--print kye: expected some of timestamp, partition, offset"),
        (("consume", "t", "--property", "acks=1"), 2, "inkless: unknown property acks; known are client.id"),
        (("consume", "there-is-none"), 1, "inkless: UNKNOWN_TOPIC_OR_PARTITION: there is no topic there-is-none"),
        (("produce", "lines", "--partition", "7"), 1, "topic lines has no partition 7, only 0"),
    ]
    for arguments, code, message in mistakes:
        exit_code, out, err = cli.run(*arguments, stdin=b"line\n")
        assert (exit_code, out) == (code, b""), arguments
        assert message in err
