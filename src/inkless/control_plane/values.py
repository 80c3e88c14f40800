"""The plain values that go in and out of every control plane; each fits into a frame.

Batches, results and coordinates are named tuples because they are made once per batch on the produce path.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from inkless.core.errors import ErrorKind
from inkless.core.ids import TopicId

NO_PRODUCER = -1
NO_TIMESTAMP = -1
MAX_TIMESTAMP = -3


class TopicPartition(NamedTuple):
    topic_id: TopicId
    partition: int


class BatchCommit(NamedTuple):
    """One record batch inside an object that waits for its offsets."""

    topic_id: TopicId
    partition: int
    position: int
    size: int
    records: int
    max_timestamp: int
    producer_id: int = NO_PRODUCER
    producer_epoch: int = -1
    base_sequence: int = -1


@dataclass(frozen=True, slots=True)
class ObjectCommit:
    """A durable object and the batches in it, in the order of their bytes."""

    key: str
    size: int
    batches: tuple[BatchCommit, ...]


class BatchResult(NamedTuple):
    """What became of one batch: its first offset, or why it was refused."""

    base_offset: int
    append_time_ms: int = NO_TIMESTAMP
    log_start: int = -1
    error: ErrorKind | None = None
    duplicate: bool = False


class ObjectStatus(StrEnum):
    COMMITTED = "committed"
    CONDEMNED = "condemned"  # refused: the sweep owns the key, upload the bytes again under another
    SKIPPED = "skipped"  # not tried: an object before it in the same call was condemned


@dataclass(frozen=True, slots=True)
class ObjectResult:
    status: ObjectStatus
    batches: tuple[BatchResult, ...] = ()


class Coordinate(NamedTuple):
    """Where the records of an offset range lie: bytes of an object, or a few bytes carried here."""

    base_offset: int
    last_offset: int
    object_key: str
    object_size: int
    position: int
    size: int
    max_timestamp: int
    append_time_ms: int
    log_append_time: bool = False
    real_offsets: bool = False
    inline: bytes | None = None


class LocateQuery(NamedTuple):
    topic_id: TopicId
    partition: int
    offset: int
    max_bytes: int


class AbortedTransaction(NamedTuple):
    producer_id: int
    first_offset: int


@dataclass(frozen=True, slots=True)
class Located:
    """The bounds of a partition and the coordinates from the asked offset on."""

    high_watermark: int
    last_stable_offset: int
    log_start: int
    coordinates: tuple[Coordinate, ...] = ()
    aborted: tuple[AbortedTransaction, ...] = ()
    error: ErrorKind | None = None


class PartitionState(NamedTuple):
    """What the feed says of a partition. `swaps` grows when coordinates were replaced."""

    high_watermark: int
    log_start: int
    swaps: int


@dataclass(frozen=True, slots=True)
class FeedAnswer:
    """State of the asked partitions (None: gone), and whether topics changed since the cursor."""

    cursor: int
    topics_version: int
    partitions: Mapping[TopicPartition, PartitionState | None] = field(default_factory=dict)


class TimestampQuery(NamedTuple):
    """Asks for the first record at or after a timestamp, or with MAX_TIMESTAMP for the one with the largest."""

    topic_id: TopicId
    partition: int
    timestamp: int
    from_offset: int = 0


@dataclass(frozen=True, slots=True)
class NewTopic:
    name: str
    partitions: int
    configs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Topic:
    id: TopicId
    name: str
    partitions: int
    configs: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an administrative wish was not granted."""

    error: ErrorKind
    message: str = ""


@dataclass(frozen=True, slots=True)
class TopicSnapshot:
    """Every live topic, as of a version that grows with each change."""

    version: int
    topics: tuple[Topic, ...]


class BrokerEpoch(NamedTuple):
    """Proof of a registration, carried by every commit."""

    node_id: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Endpoint:
    listener: str
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class BrokerRegistration:
    node_id: int
    rack: str | None
    endpoints: tuple[Endpoint, ...]
    epoch: int = 0
