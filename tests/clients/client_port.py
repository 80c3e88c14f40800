"""What the tests ask of every Python client. A driver answers it with the client's public API and its defaults."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from sample_records import RECORDS, Received, Record

# Kafka's error codes, which every client keeps beside its own names for them.
UNKNOWN_TOPIC_OR_PARTITION = 3
MESSAGE_TOO_LARGE = 10
TOPIC_ALREADY_EXISTS = 36
TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")

# Nothing here takes nearly as long; a client that hangs fails its test instead of the whole run.
PATIENCE_S = 60.0 + RECORDS / 1000


class Refused(Exception):
    """A client's own error, with Kafka's code for it."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code


class Writer(Protocol):
    def write(self, topic: str, records: Iterable[Record]) -> None:
        """Send the records in this order, and wait until each is acknowledged. Raises the first one's Refused."""


class Reader(Protocol):
    def poll(self, timeout_s: float) -> list[Received]:
        """Records as they come; none when the time is over."""


class Client(Protocol):
    name: str
    null_headers: bool  # whether it can write a header without a value
    null_records: bool  # whether it can write a record with neither key nor value

    def close(self) -> None: ...

    def writer(
        self,
        *,
        codec: str = "none",
        acks: str = "all",
        record_max_bytes: int | None = None,
        give_up_s: float | None = None,
    ) -> AbstractContextManager[Writer]:
        """`give_up_s` is how long it goes on looking for a topic that is not there."""

    def lossy_writer(self, address: str) -> AbstractContextManager[Writer]:
        """Idempotent, with small batches, as many requests in flight as the client allows, and short back-offs."""

    def reader(
        self,
        topic: str,
        starts: Mapping[int, int],
        *,
        partition_max_bytes: int | None = None,
        max_wait_ms: int | None = None,
    ) -> AbstractContextManager[Reader]:
        """Assigned partitions with the offset to start at; an offset that is not there means the earliest."""

    def create_topic(self, topic: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None: ...

    def delete_topic(self, topic: str) -> None: ...

    def grow_topic(self, topic: str, partitions: int) -> None: ...

    def topics(self) -> dict[str, int]:
        """The number of partitions of each topic."""

    def bounds(self, topic: str, partitions: Sequence[int]) -> dict[int, tuple[int, int]]:
        """The earliest and the latest offset of each partition."""

    def offsets_at(self, topic: str, timestamps: Mapping[int, int]) -> dict[int, int | None]:
        """The first offset at or after a timestamp."""

    def begin_transactions(self) -> None:
        """What a transactional producer does first."""
