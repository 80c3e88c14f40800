"""An object in the making: batches of many requests, laid out by topic and partition. Pure."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from inkless.control_plane.values import BatchCommit, BatchResult
from inkless.core.errors import ErrorKind
from inkless.core.ids import TopicId
from inkless.records.batch import BatchHeader
from inkless.storage.object_format import HEAD, IndexEntry, encode_tail
from inkless.storage.port import Buffer


class AppendBatch(NamedTuple):
    """One checked record batch of a produce request."""

    topic_id: TopicId
    partition: int
    header: BatchHeader
    data: memoryview


OnResults = Callable[[Sequence[BatchResult]], None]


class Appended(NamedTuple):
    """A request inside a draft: its batches are those from `first` on, and `answer` is called with their results."""

    first: int
    length: int
    answer: "OnResults"


class Layout(NamedTuple):
    """The bytes of an object in order, what to commit, and which commit belongs to which appended batch."""

    pieces: list[Buffer]
    size: int
    commits: tuple[BatchCommit, ...]
    order: list[int]


class Draft:
    """Collects requests until it is flushed into one object."""

    def __init__(self) -> None:
        self.batches: list[AppendBatch] = []
        self.requests: list[Appended] = []
        self.bytes = 0

    def add(self, batches: Sequence[AppendBatch], answer: "OnResults") -> None:
        self.requests.append(Appended(len(self.batches), len(batches), answer))
        self.batches.extend(batches)
        for batch in batches:
            self.bytes += len(batch.data)

    def resolve(self, results: Sequence[BatchResult]) -> None:
        """Answer every request with the results of its batches, which stand in the order they were added."""
        for first, length, answer in self.requests:
            answer(results[first : first + length])

    def refuse(self, error: ErrorKind) -> None:
        self.resolve([BatchResult(-1, error=error)] * len(self.batches))


def lay_out(batches: Sequence[AppendBatch]) -> Layout:
    """Sort by topic and partition, keeping the order of arrival within each."""
    order = sorted(range(len(batches)), key=lambda at: (batches[at].topic_id, batches[at].partition))
    pieces: list[Buffer] = [HEAD]
    position = len(HEAD)
    commits: list[BatchCommit] = []
    for at in order:
        topic_id, partition, header, data = batches[at]
        size = len(data)
        commits.append(
            BatchCommit(
                topic_id,
                partition,
                position,
                size,
                header.record_count,
                header.max_timestamp,
                header.producer_id,
                header.producer_epoch,
                header.base_sequence,
            )
        )
        pieces.append(data)
        position += size
    tail = encode_tail(_index(commits), position)
    pieces.append(tail)
    return Layout(pieces, position + len(tail), tuple(commits), order)


def in_order_of_arrival(order: Sequence[int], results: Sequence[BatchResult]) -> list[BatchResult]:
    """Undo the sorting of `lay_out` on the results."""
    arranged: list[BatchResult] = list(results)
    for at, result in zip(order, results, strict=True):
        arranged[at] = result
    return arranged


def _index(commits: Sequence[BatchCommit]) -> list[IndexEntry]:
    entries: list[IndexEntry] = []
    first: BatchCommit | None = None
    end = batches = records = 0

    def close() -> None:
        if first is not None:
            size = end - first.position
            entries.append(IndexEntry(first.topic_id, first.partition, first.position, size, batches, records))

    for commit in commits:
        if first is None or commit.partition != first.partition or commit.topic_id != first.topic_id:
            close()
            first, batches, records = commit, 0, 0
        end = commit.position + commit.size
        batches += 1
        records += commit.records
    close()
    return entries
