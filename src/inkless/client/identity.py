"""Under which producer id batches are written, so that the cluster knows a retry when it sees one."""

import asyncio
from dataclasses import dataclass

from inkless.client.cluster import Cluster
from inkless.client.errors import check_code
from inkless.wire.init_producer_id import InitProducerIdRequest, InitProducerIdResponse


@dataclass(frozen=True, slots=True)
class Identity:
    """A producer as the cluster knows it; -1 for one that is not idempotent."""

    producer_id: int
    epoch: int

    @property
    def is_idempotent(self) -> bool:
        return self.producer_id >= 0


ANONYMOUS = Identity(-1, -1)


class Identities:
    """One identity for all partitions of a producer, until one of them can't go on under it."""

    def __init__(self, cluster: Cluster, is_idempotent: bool) -> None:
        self._cluster = cluster
        self._current = None if is_idempotent else ANONYMOUS
        self._asking = asyncio.Lock()

    async def current(self) -> Identity:
        async with self._asking:
            if self._current is None:
                self._current = await self._ask()
            return self._current

    def discard(self, identity: Identity) -> None:
        """No partition starts under it any more; the others that write under it go on."""
        if self._current == identity and identity.is_idempotent:
            self._current = None

    async def _ask(self) -> Identity:
        connection = await self._cluster.any_connection()
        response: InitProducerIdResponse = await connection.request(
            InitProducerIdRequest(transaction_timeout_ms=int(self._cluster.timeout_s * 1000))
        )
        check_code(response.error_code, "InitProducerId")
        return Identity(response.producer_id, response.producer_epoch)
