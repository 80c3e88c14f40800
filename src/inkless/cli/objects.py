"""`inkless objects`: what an object holds, told from its file alone."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from inkless.cli.dump import Dump, DumpedBatch, dump_object
from inkless.cli.main import FAILED
from inkless.cli.parameters import output_option
from inkless.cli.payload import bytes_to_text, headers_to_text, record_to_json
from inkless.cli.table import format_table
from inkless.core.errors import InklessError
from inkless.core.ids import id_to_text
from inkless.records.compression import Compression
from inkless.records.record import Record
from inkless.storage.object_format import FORMAT_VERSION, IndexEntry

_INDEX_TITLES = ("topic id", "partition", "position", "bytes", "batches", "records")
_BATCH_TITLES = (
    *("topic id", "partition", "position", "bytes", "base offset", "last delta", "records", "codec"),
    *("producer", "first time", "last time", "marks", "crc"),
)


@click.group(
    epilog="""\b
Examples:
  inkless objects dump inkless-data/objects/CLUSTER/2026-01-31/1769817600000-5d1f.ink
  inkless objects dump FILE --records --output json"""
)
def objects() -> None:
    """Look into objects."""


@objects.command
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--records", is_flag=True, help="The records of each batch too.")
@output_option
def dump(file: Path, records: bool, output: str) -> int:
    """Print what an object file holds: head, index, batches. Exit code 1 if anything is wrong with it.

    Offsets are as they stand in the object: the control plane alone knows the real ones, unless the object was
    merged. Where the index is broken, batches are found by their checksums.
    """
    try:
        data = file.read_bytes()
    except OSError as error:
        raise InklessError(f"can't read {file}: {error.strerror}") from None
    found = dump_object(memoryview(data), with_records=records)
    if output == "json":
        print(json.dumps(_to_json(file, found)))
    else:
        print("\n".join(_to_lines(file, found)))
    return FAILED if found.problems else 0


def _to_json(file: Path, found: Dump) -> dict[str, Any]:
    return {
        "file": str(file),
        "bytes": found.size,
        "format": FORMAT_VERSION if found.has_head else None,
        "index": None if found.index is None else [_entry_to_json(entry) for entry in found.index],
        "batches": [_batch_to_json(batch) for batch in found.batches],
        "gaps": found.gaps,
        "problems": found.problems,
    }


def _entry_to_json(entry: IndexEntry) -> dict[str, Any]:
    return {**entry._asdict(), "topic_id": id_to_text(entry.topic_id)}


def _batch_to_json(batch: DumpedBatch) -> dict[str, Any]:
    header = batch.header
    shown: dict[str, Any] = {
        "topic_id": None if batch.topic_id is None else id_to_text(batch.topic_id),
        "partition": batch.partition,
        "position": batch.position,
        "size": header.size,
        "base_offset": header.base_offset,
        "last_offset_delta": header.last_offset_delta,
        "record_count": header.record_count,
        "codec": _codec(batch),
        "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch,
        "base_sequence": header.base_sequence,
        "base_timestamp": header.base_timestamp,
        "max_timestamp": header.max_timestamp,
        "log_append_time": header.has_log_append_time,
        "transactional": header.is_transactional,
        "control": header.is_control,
        "crc_ok": batch.is_sound,
    }
    if batch.records is not None:
        shown["records"] = [record_to_json(record) for record in batch.records]
    return shown


def _to_lines(file: Path, found: Dump) -> Iterator[str]:
    yield f"{file}: {found.size:,} bytes, " + (f"format {FORMAT_VERSION}" if found.has_head else "no head")
    records = sum(batch.header.record_count for batch in found.batches)
    known = "the index is broken" if found.index is None else f"{len(found.index)} partitions"
    yield f"{known}, {len(found.batches):,} batches, {records:,} records"
    if found.index is not None:
        rows = [(id_to_text(entry.topic_id), *entry[1:]) for entry in found.index]
        yield from ("", *format_table(_INDEX_TITLES, rows))
    if found.batches:
        title, *lines = format_table(_BATCH_TITLES, [_batch_row(batch) for batch in found.batches])
        yield from ("", title)
        for batch, line in zip(found.batches, lines, strict=True):
            yield line
            yield from (_record_line(record) for record in batch.records or ())
    if found.problems:
        yield from ("", *(f"wrong: {problem}" for problem in found.problems))


def _batch_row(batch: DumpedBatch) -> tuple[object, ...]:
    header = batch.header
    producer = f"{header.producer_id}/{header.producer_epoch}/{header.base_sequence}"
    marks = (
        "append time" * header.has_log_append_time,
        "txn" * header.is_transactional,
        "control" * header.is_control,
    )
    return (
        "?" if batch.topic_id is None else id_to_text(batch.topic_id),
        "?" if batch.partition is None else batch.partition,
        batch.position,
        header.size,
        header.base_offset,
        header.last_offset_delta,
        header.record_count,
        _codec(batch),
        producer if header.producer_id >= 0 else "-",
        _time(header.base_timestamp),
        _time(header.max_timestamp),
        ",".join(filter(None, marks)) or "-",
        "ok" if batch.is_sound else "WRONG",
    )


def _record_line(record: Record) -> str:
    parts = (f"{record.offset:>8}", _time(record.timestamp), headers_to_text(record.headers))
    return "\t".join((*parts, bytes_to_text(record.key), bytes_to_text(record.value)))


def _codec(batch: DumpedBatch) -> str:
    number = batch.header.compression
    return Compression(number).name.lower() if number <= max(Compression) else str(number)


def _time(timestamp: int) -> str:
    try:
        return datetime.fromtimestamp(timestamp / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return str(timestamp)
