"""`inkless consume`: the records of a topic on standard output."""

import asyncio
import json
import os
import re
import stat
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

import click

from inkless.cli.main import FAILED
from inkless.cli.parameters import bootstrap_option, output_option, property_option
from inkless.cli.payload import bytes_to_text, headers_to_text, record_to_json
from inkless.cli.session import connected, describe_properties, forgive_interrupt, run
from inkless.client.cluster import Cluster
from inkless.client.consumer import Consumed, Consumer
from inkless.client.offsets import EARLIEST, LATEST, AtOffset, AtTime, Start
from inkless.client.options import ConsumerOptions, parse_options

# In the order and the form in which Kafka's console consumer prints them; the value is always there, and last.
_PARTS: dict[str, Callable[[Consumed], str]] = {
    "timestamp": lambda consumed: f"{_time_type(consumed)}:{consumed.record.timestamp}",
    "partition": lambda consumed: f"Partition:{consumed.partition}",
    "offset": lambda consumed: f"Offset:{consumed.record.offset}",
    "headers": lambda consumed: headers_to_text(consumed.record.headers),
    "key": lambda consumed: bytes_to_text(consumed.record.key),
}
_POLL_S = 1.0


@click.command(
    epilog=f"""\b
Examples:
  inkless consume greetings --from-beginning
  inkless consume orders --print key,offset --offset @2026-01-31T12:00:00Z
  inkless consume orders --partition 0 --offset 1000 --max-messages 10 --output json

\b
Text: parts are separated by tabs, the value comes last; what is not UTF-8 and control characters
are backslash escapes. JSON: one object a line; bytes that are not UTF-8 are {{"base64": "..."}}.
Exit code 1 where --timeout-ms passes before --max-messages are there. Ctrl-C ends it with 0.

{describe_properties(ConsumerOptions)}"""
)
@click.argument("topic")
@click.option("--from-beginning", is_flag=True, help="The same as --offset earliest.")
@click.option(
    "--partition", "partitions", type=click.IntRange(0), multiple=True, help="Only this one; several times."
)
@click.option(
    "--offset",
    metavar="N|earliest|latest|@TIME",
    help="Where to start. TIME is milliseconds since 1970, or ISO 8601, local unless it says otherwise.  "
    "[default: latest]",
)
@click.option("--max-messages", type=click.IntRange(1), help="End after so many records.")
@click.option("--timeout-ms", type=click.IntRange(1), help="End when no record has come for so long.")
@click.option("--print", "parts", metavar="PART,...", multiple=True, help=f"Besides the value: {', '.join(_PARTS)}.")
@bootstrap_option
@output_option
@property_option
def consume(
    topic: str,
    from_beginning: bool,
    partitions: tuple[int, ...],
    offset: str | None,
    max_messages: int | None,
    timeout_ms: int | None,
    parts: tuple[str, ...],
    bootstrap: str,
    output: str,
    properties: tuple[str, ...],
) -> int:
    """Print the records of a topic as they come."""
    if from_beginning and offset not in (None, "earliest"):
        raise click.UsageError("--from-beginning and --offset say different things.")
    start = EARLIEST if from_beginning else _parse_start(offset or "latest")
    format_record = _json_line(topic) if output == "json" else _text_line(_parse_parts(parts))
    options = parse_options(ConsumerOptions, properties)
    printer = Printer(format_record, max_messages, timeout_ms)
    try:
        return run(_consume(topic, partitions, start, bootstrap, options, printer))
    except BrokenPipeError:
        # Whoever read has seen enough. Nothing is left to flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


class Printer:
    """Writes records out, and knows when it is enough."""

    def __init__(
        self, format_record: Callable[[Consumed], bytes], max_messages: int | None, timeout_ms: int | None
    ) -> None:
        self._format = format_record
        self._left = max_messages
        self._timeout_s = None if timeout_ms is None else timeout_ms / 1000
        self._last = time.monotonic()
        self.printed = 0

    @property
    def wait_s(self) -> float:
        """How long to wait for records; none when it is over."""
        if self._left == 0:
            return 0
        if self._timeout_s is None:
            return _POLL_S
        return max(0, min(_POLL_S, self._last + self._timeout_s - time.monotonic()))

    @property
    def is_short(self) -> bool:
        """Whether fewer records came than were asked for."""
        return bool(self._left)

    def write(self, records: Sequence[Consumed]) -> None:
        records = records[: self._left]
        if not records:
            return
        sys.stdout.buffer.write(b"".join(map(self._format, records)))
        sys.stdout.buffer.flush()
        self.printed += len(records)
        self._last = time.monotonic()
        if self._left is not None:
            self._left -= len(records)


async def _consume(
    topic: str, partitions: Sequence[int], start: Start, bootstrap: str, options: ConsumerOptions, printer: Printer
) -> int:
    is_interrupted = False
    _end_with_the_reader()
    try:
        async with connected(bootstrap, options) as cluster:
            await _print_records(cluster, topic, partitions, start, options, printer)
    except asyncio.CancelledError:
        forgive_interrupt()
        is_interrupted = True
    many = "" if printer.printed == 1 else "s"
    print(f"{printer.printed:,} record{many}", file=sys.stderr)
    return FAILED if printer.is_short and not is_interrupted else 0


async def _print_records(
    cluster: Cluster,
    topic: str,
    partitions: Sequence[int],
    start: Start,
    options: ConsumerOptions,
    printer: Printer,
) -> None:
    described = await cluster.topic(topic)
    for partition in partitions:
        described.check_partition(partition)
    wanted = partitions or range(len(described.leaders))
    consumer = Consumer(cluster, topic, dict.fromkeys(wanted, start), options)
    try:
        await consumer.open()
        while (wait_s := printer.wait_s) > 0:
            printer.write(await consumer.poll(wait_s))
    finally:
        await consumer.close()


def _end_with_the_reader() -> None:
    """Cancel this task when nobody reads the pipe any more (`| head -1`), also while there is nothing to write."""
    task = asyncio.current_task()
    loop = asyncio.get_running_loop()
    output = sys.stdout.fileno()
    assert task is not None

    def end() -> None:
        loop.remove_reader(output)
        task.cancel()

    if stat.S_ISFIFO(os.fstat(output).st_mode):
        loop.add_reader(output, end)  # the writing end of a pipe has only this to tell


def _parse_start(text: str) -> Start:
    if text == "earliest":
        return EARLIEST
    if text == "latest":
        return LATEST
    if re.fullmatch(r"[0-9]{1,18}", text):
        return AtOffset(int(text))
    if re.fullmatch(r"@[0-9]{1,18}", text):
        return AtTime(int(text[1:]))
    try:
        if text.startswith("@"):
            return AtTime(int(datetime.fromisoformat(text[1:]).timestamp() * 1000))
    except (ValueError, OverflowError):
        pass
    raise click.UsageError(
        f"--offset {text}: expected a number, earliest, latest, @1767225600000 or @2026-01-01T00:00:00Z."
    )


def _parse_parts(texts: Iterable[str]) -> list[str]:
    asked = {part.strip() for text in texts for part in text.split(",") if part.strip()}
    if unknown := sorted(asked - _PARTS.keys()):
        raise click.UsageError(f"--print {unknown[0]}: expected some of {', '.join(_PARTS)}.")
    return [part for part in _PARTS if part in asked]


def _text_line(parts: Sequence[str]) -> Callable[[Consumed], bytes]:
    chosen = [_PARTS[part] for part in parts]

    def format_record(consumed: Consumed) -> bytes:
        value = bytes_to_text(consumed.record.value)
        return ("\t".join((*(part(consumed) for part in chosen), value)) + "\n").encode()

    return format_record


def _json_line(topic: str) -> Callable[[Consumed], bytes]:
    def format_record(consumed: Consumed) -> bytes:
        line = {"topic": topic, "partition": consumed.partition, **record_to_json(consumed.record)}
        line["timestamp_type"] = _time_type(consumed)
        return (json.dumps(line, ensure_ascii=False) + "\n").encode()

    return format_record


def _time_type(consumed: Consumed) -> str:
    return "LogAppendTime" if consumed.is_append_time else "CreateTime"
