"""What a file of an object holds, as a value: found through its index, or without it where that is broken."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from inkless.core.ids import TopicId, id_to_text
from inkless.records.batch import BatchError, BatchHeader, verify_crc, walk
from inkless.records.record import Record, decode_records
from inkless.storage.object_format import (
    ENTRY_BYTES,
    FOOTER_BYTES,
    HEAD,
    IndexEntry,
    ObjectFormatError,
    decode_tail,
    salvage,
)

_MAX_UNPACKED_BYTES = 1024 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class DumpedBatch:
    """`position` is in the object; topic and partition are known from the index only."""

    topic_id: TopicId | None
    partition: int | None
    position: int
    header: BatchHeader
    is_sound: bool
    records: tuple[Record, ...] | None


@dataclass(slots=True)
class Dump:
    """`index` is None where it can't be read; `gaps` are bytes that belong to no batch and should."""

    size: int
    has_head: bool
    index: list[IndexEntry] | None = None
    batches: list[DumpedBatch] = field(default_factory=list)
    gaps: list[tuple[int, int]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def dump_object(view: memoryview, *, with_records: bool) -> Dump:
    dump = Dump(len(view), view[: len(HEAD)] == HEAD)
    if not dump.has_head:
        dump.problems.append("the head is not that of an object of this format")
    try:
        # Without its first bytes: a wrong head is no reason to leave a good index unread.
        dump.index = decode_tail(view[len(HEAD) :], len(view))
    except ObjectFormatError as error:
        dump.problems.append(str(error))
        _add_salvaged(dump, view, 0, None)
    for entry in dump.index or ():
        _add_entry(dump, view, entry)
    if dump.index is not None:
        dump.gaps += _uncovered(dump.index, len(view) - FOOTER_BYTES - ENTRY_BYTES * len(dump.index))
    dump.problems += [f"bytes {start} to {end} are no batch" for start, end in dump.gaps]
    dump.batches = [_checked(dump, view, batch, with_records) for batch in dump.batches]
    return dump


def _add_entry(dump: Dump, view: memoryview, entry: IndexEntry) -> None:
    area = view[entry.position : entry.position + entry.size]
    try:
        found = [_batch(entry, entry.position + position, header) for position, header in walk(area)]
    except BatchError as error:
        dump.problems.append(f"{_name(entry)}: {error}")
        _add_salvaged(dump, area, entry.position, entry)
        return
    dump.batches += found
    counted = (len(found), sum(batch.header.record_count for batch in found))
    if counted != (entry.batches, entry.records):
        dump.problems.append(
            f"{_name(entry)}: the index says {entry.batches} batches of {entry.records} records, "
            f"there are {counted[0]} of {counted[1]}"
        )


def _add_salvaged(dump: Dump, area: memoryview, start: int, entry: IndexEntry | None) -> None:
    found = salvage(area)
    dump.batches += [_batch(entry, start + batch.position, batch.header) for batch in found.batches]
    dump.gaps += [(start + first, start + end) for first, end in found.gaps]


def _batch(entry: IndexEntry | None, position: int, header: BatchHeader) -> DumpedBatch:
    topic_id, partition = (entry.topic_id, entry.partition) if entry is not None else (None, None)
    return DumpedBatch(topic_id, partition, position, header, True, None)


def _uncovered(entries: Sequence[IndexEntry], index_position: int) -> Iterator[tuple[int, int]]:
    end = len(HEAD)
    for entry in entries:
        if entry.position > end:
            yield end, entry.position
        end = entry.position + entry.size
    if index_position > end:
        yield end, index_position


def _checked(dump: Dump, view: memoryview, batch: DumpedBatch, with_records: bool) -> DumpedBatch:
    """The batch with its checksum looked at, and its records if they are wanted."""
    data = view[batch.position : batch.position + batch.header.size]
    is_sound = verify_crc(data)
    records = None
    if not is_sound:
        dump.problems.append(f"the checksum of the batch at {batch.position} is wrong")
    elif with_records:
        try:
            records = tuple(decode_records(data, _MAX_UNPACKED_BYTES))
        except BatchError as error:
            dump.problems.append(f"the records of the batch at {batch.position}: {error}")
    return DumpedBatch(batch.topic_id, batch.partition, batch.position, batch.header, is_sound, records)


def _name(entry: IndexEntry) -> str:
    return f"{id_to_text(entry.topic_id)}-{entry.partition}"
