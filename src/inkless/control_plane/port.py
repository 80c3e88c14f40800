"""The one port of the control plane: batched calls, answered in request order, plain values only.

It promises no more than every plane can keep: atomicity per partition, one result per batch, idempotence by object
key. No caller may rely on two partitions changing at once.
"""

from collections.abc import Sequence
from typing import Protocol

from inkless.control_plane.values import (
    BrokerEpoch,
    BrokerRegistration,
    Coordinate,
    FeedAnswer,
    Located,
    LocateQuery,
    NewTopic,
    ObjectCommit,
    ObjectResult,
    Refusal,
    TimestampQuery,
    Topic,
    TopicPartition,
    TopicSnapshot,
)
from inkless.core.ids import TopicId


class ControlPlane(Protocol):
    @property
    def cluster_id(self) -> str:
        """The 22-character id that was made with the plane; object keys start with it."""
        ...

    async def commit(self, broker: BrokerEpoch, objects: Sequence[ObjectCommit]) -> list[ObjectResult]:
        """Give offsets to the batches of these objects, in this order, each checked behind those before it.

        Raises BrokerFenced or ControlPlaneError when nothing was done, CommitOutcomeUnknown when that is not known.
        """
        ...

    async def condemn(self, key: str) -> ObjectResult | None:
        """Make sure that a commit of this key can never land; if one has landed, its stored result instead."""
        ...

    async def locate(self, queries: Sequence[LocateQuery]) -> list[Located]:
        """Bounds and coordinates from each offset on; at least one coordinate where there is one."""
        ...

    async def locate_timestamp(self, queries: Sequence[TimestampQuery]) -> list[Coordinate | None]:
        """The first coordinate that holds a record at or after each timestamp."""
        ...

    async def changes(self, cursor: int, partitions: Sequence[TopicPartition], wait_s: float) -> FeedAnswer:
        """The feed: answers when something changed after the cursor, else when the wait is over."""
        ...

    async def topics(self) -> TopicSnapshot: ...

    async def find_topics(self, names: Sequence[str] = (), ids: Sequence[TopicId] = ()) -> list[Topic | None]:
        """Live topics by name, then by id; None for each that does not exist."""
        ...

    async def create_topics(self, topics: Sequence[NewTopic]) -> list[Topic | Refusal]: ...

    async def delete_topics(self, ids: Sequence[TopicId]) -> list[Topic | Refusal]: ...

    async def grow_topics(self, growth: Sequence[tuple[TopicId, int]]) -> list[Topic | Refusal]:
        """Raise the partition counts of topics to these totals."""
        ...

    async def allocate_producer_ids(self, count: int) -> range: ...

    async def registration(self, node_id: int) -> BrokerRegistration | None: ...

    async def register(self, broker: BrokerRegistration) -> BrokerEpoch:
        """Take over a node id at once, under a higher epoch than any before."""
        ...

    async def brokers(self) -> list[BrokerRegistration]: ...

    async def tidy(self) -> int:
        """One bounded pass over what the plane may forget (old results, expired producers); rows dropped."""
        ...

    async def close(self) -> None: ...
