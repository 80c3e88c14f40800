"""`inkless produce`: lines of standard input become records."""

import asyncio
import sys
import time
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial

import click

from inkless.cli.main import FAILED
from inkless.cli.parameters import bootstrap_option, pairs, property_option
from inkless.cli.payload import Headers, InputError, Message, message_from_json
from inkless.cli.session import connected, describe_properties, forgive_interrupt, run
from inkless.cli.stdin import read_lines
from inkless.client.errors import BrokerError, ClientError
from inkless.client.lane import Delivered
from inkless.client.options import ProducerOptions, parse_options
from inkless.client.producer import Producer

_SHOWN_FAILURES = 10
_PROGRESS_S = 0.2


@dataclass(frozen=True, slots=True)
class Format:
    """How a line is read."""

    is_json: bool
    has_headers: bool
    key_separator: bytes | None
    headers: Headers

    def parse(self, line: bytes) -> Message:
        if self.is_json:
            message = message_from_json(line)
            return Message(
                message.value, message.key, self.headers + message.headers, message.partition, message.timestamp
            )
        headers = self.headers
        if self.has_headers:
            text, tab, line = line.partition(b"\t")
            if not tab:
                raise InputError("--headers needs NAME:VALUE,... and a tab in front of the record")
            headers += _parse_headers(text)
        if self.key_separator is None:
            return Message(line, headers=headers)
        key, separator, value = line.partition(self.key_separator)
        if not separator:
            raise InputError(f"no key: {self.key_separator.decode()!r} is not in the line")
        return Message(value, key, headers)


@click.command(
    epilog=f"""\b
Examples:
  echo hello | inkless produce greetings
  printf 'ann:1\\nbob:2\\n' | inkless produce scores --key-separator :
  inkless produce orders --json --property linger.ms=50 < orders.jsonl

\b
A JSON line has any of "key", "value", "headers", "partition" and "timestamp" (milliseconds).
Keys and values are text, null, or {{"base64": "..."}} for bytes that are no text. So the lines of
"inkless consume --output json" can be written again, to a topic with as many partitions.
A topic that is not there is created if the broker is set so.

{describe_properties(ProducerOptions)}"""
)
@click.argument("topic")
@click.option("--key-separator", metavar="TEXT", help="Each line is a key, this (\\t for a tab), and a value.")
@click.option("--header", "header", metavar="NAME=VALUE", multiple=True, help="A header of every record.")
@click.option("--headers", is_flag=True, help="Each line starts with NAME:VALUE,NAME:VALUE and a tab.")
@click.option("--json", "is_json", is_flag=True, help="Each line is a JSON object.")
@click.option("--partition", type=click.IntRange(0), help="Where to; by default by key, else in turn.")
@click.option("--compression", type=click.Choice(["none", "gzip", "snappy", "lz4", "zstd"]), help="Of the batches.")
@bootstrap_option
@property_option
def produce(
    topic: str,
    key_separator: str | None,
    header: tuple[str, ...],
    headers: bool,
    is_json: bool,
    partition: int | None,
    compression: str | None,
    bootstrap: str,
    properties: tuple[str, ...],
) -> int:
    """Write lines of standard input to a topic, each line a record."""
    if is_json and (headers or key_separator is not None):
        raise click.UsageError(
            "--json lines carry their own keys and headers: leave out --key-separator and --headers."
        )
    if sys.stdin is None:
        raise click.UsageError("Standard input is closed.")
    if key_separator == "":
        raise click.UsageError("--key-separator is empty.")
    if compression is not None:
        properties = (*properties, f"compression.type={compression}")
    options = parse_options(ProducerOptions, properties)
    separator = None if key_separator is None else key_separator.replace("\\t", "\t").encode()
    fixed = tuple((name, value.encode()) for name, value in pairs("--header", header))
    form = Format(is_json, headers, separator, fixed)
    return run(_produce(topic, form, partition, bootstrap, options))


async def _produce(topic: str, form: Format, partition: int | None, bootstrap: str, options: ProducerOptions) -> int:
    tally = Tally()
    async with connected(bootstrap, options) as cluster:
        producer = Producer(cluster, options)
        try:
            await _send_lines(producer, topic, form, partition, tally)
            await producer.flush()
        finally:
            await producer.close()
    return tally.conclude(topic)


async def _send_lines(producer: Producer, topic: str, form: Format, partition: int | None, tally: "Tally") -> None:
    """Until the input ends, is wrong, or nobody takes it any more; what was read before is written in any case."""
    number = 0
    try:
        async with aclosing(read_lines(sys.stdin.fileno())) as lines:
            async for line in lines:
                number += 1
                message = form.parse(line)
                where = message.partition if partition is None else partition
                delivered = await producer.send(
                    topic, message.value, message.key, message.headers, partition=where, timestamp=message.timestamp
                )
                delivered.add_done_callback(partial(tally.note, number, len(line)))
                tally.show_progress()
                if tally.is_hopeless:
                    return
    except asyncio.CancelledError:
        forgive_interrupt()
    except (InputError, ClientError) as error:
        tally.fail(max(number, 1), error)


@dataclass(slots=True)
class Tally:
    """What became of the records; failures are told as they come."""

    written: int = 0
    written_bytes: int = 0
    failed: int = 0
    is_hopeless: bool = False
    started: float = field(default_factory=time.monotonic)
    _shown: float = 0.0
    _shows: bool = field(default_factory=lambda: sys.stderr.isatty() and not sys.stdin.isatty())

    def note(self, number: int, size: int, delivered: "asyncio.Future[Delivered]") -> None:
        if delivered.cancelled():
            self.failed += 1
        elif (error := delivered.exception()) is not None:
            assert isinstance(error, ClientError)
            self.fail(number, error)
        else:
            self.written += 1
            self.written_bytes += size

    def fail(self, number: int, error: InputError | ClientError) -> None:
        self.failed += 1
        # A broker's no to one record says nothing of the next; silence until the deadline does.
        self.is_hopeless |= not isinstance(error, BrokerError)
        self._clear()
        if self.failed <= _SHOWN_FAILURES:
            print(f"inkless: line {number}: {error}", file=sys.stderr)
        elif self.failed == _SHOWN_FAILURES + 1:
            print("inkless: further failures are only counted", file=sys.stderr)

    def show_progress(self) -> None:
        now = time.monotonic()
        if self._shows and now - self._shown > _PROGRESS_S:
            self._shown = now
            print(f"\r{self.written:,} records, {self.written_bytes:,} bytes", end="", file=sys.stderr, flush=True)

    def conclude(self, topic: str) -> int:
        self._clear()
        seconds = time.monotonic() - self.started
        many = "" if self.written == 1 else "s"
        print(
            f"{self.written:,} record{many} ({self.written_bytes:,} bytes) written to {topic} in {seconds:.2f} s"
            + (f", {self.failed:,} failed" if self.failed else ""),
            file=sys.stderr,
        )
        return FAILED if self.failed else 0

    def _clear(self) -> None:
        if self._shows and self._shown:
            print("\r\033[K", end="", file=sys.stderr)


def _parse_headers(text: bytes) -> Headers:
    headers: list[tuple[str, bytes | None]] = []
    for part in text.split(b",") if text else ():
        name, colon, value = part.partition(b":")
        if not colon:
            raise InputError(f"header {part.decode('utf-8', 'backslashreplace')!r} is not NAME:VALUE")
        headers.append((name.decode("utf-8", "surrogateescape"), value))
    return tuple(headers)
