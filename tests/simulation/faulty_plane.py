"""A control plane that loses its answers: before a commit, after it, or while it is still on its way."""

import asyncio
import random
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from inkless.control_plane.port import ControlPlane
from inkless.control_plane.values import (
    BrokerEpoch,
    FeedAnswer,
    Located,
    LocateQuery,
    ObjectCommit,
    ObjectResult,
    TopicPartition,
)
from inkless.core.clock import Clock
from inkless.core.errors import CommitOutcomeUnknown, ControlPlaneError, InklessError


class FaultyPlane:
    def __init__(
        self, inner: ControlPlane, database: ControlPlane, clock: Clock, rng: random.Random, rate: float
    ) -> None:
        self._inner = inner
        self._database = database
        self._clock = clock
        self._rng = rng
        self.rate = rate
        self.late: set[asyncio.Task[Any]] = set()
        self.counts = {"refused": 0, "lost before": 0, "lost after": 0, "late": 0, "condemn lost": 0}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def _hit(self) -> bool:
        return self._rng.random() < self.rate

    async def commit(self, broker: BrokerEpoch, objects: Sequence[ObjectCommit]) -> list[ObjectResult]:
        if not self._hit():
            return await self._inner.commit(broker, objects)
        kind = self._rng.choice(["refused", "lost before", "lost after", "late"])
        self.counts[kind] += 1
        if kind == "refused":
            raise ControlPlaneError("refused")
        if kind == "lost after":
            await self._inner.commit(broker, objects)
        if kind == "late":
            task = asyncio.get_running_loop().create_task(self._commit_late(broker, objects))
            self.late.add(task)
            task.add_done_callback(self.late.discard)
        raise CommitOutcomeUnknown(kind)

    async def _commit_late(self, broker: BrokerEpoch, objects: Sequence[ObjectCommit]) -> None:
        """The cut-off transaction goes on, and lands when nobody expects it, even when its broker is dead."""
        await self._clock.sleep(self._rng.random() * 2)
        with suppress(InklessError):
            await self._database.commit(broker, objects)

    async def locate(self, queries: Sequence[LocateQuery]) -> list[Located]:
        answer = await self._inner.locate(queries)
        if self._hit():
            raise ControlPlaneError("the answer of locate is lost")
        return answer

    async def changes(self, cursor: int, partitions: Sequence[TopicPartition], wait_s: float) -> FeedAnswer:
        answer = await self._inner.changes(cursor, partitions, wait_s)
        if self._hit():
            raise ControlPlaneError("the answer of changes is lost")
        return answer

    async def condemn(self, key: str) -> ObjectResult | None:
        answer = await self._inner.condemn(key)
        if self._hit():
            self.counts["condemn lost"] += 1
            raise ControlPlaneError("the answer of condemn is lost")
        return answer
