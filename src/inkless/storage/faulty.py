"""A store that fails as the world does, from a seed: late, before or after the work is done, cut short, or full."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Protocol

from inkless.core.clock import Clock
from inkless.core.errors import StorageError
from inkless.storage.port import Buffer, ObjectStore, StoredObject


class Random(Protocol):
    """A seeded source of numbers in [0, 1)."""

    def random(self) -> float: ...


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """How likely each fault is, per request; deletes and listings have theirs per key and per object too."""

    delay: float = 0.0
    max_delay_s: float = 0.0
    fail_before: float = 0.0
    fail_after: float = 0.0
    truncate: float = 0.0
    no_space: float = 0.0


class FaultyStore:
    """Each request draws the same count of numbers whatever the plan, so plans of one seed can be compared."""

    def __init__(self, inner: ObjectStore, clock: Clock, random: Random, plan: FaultPlan) -> None:
        self._inner = inner
        self._clock = clock
        self._random = random
        self.plan = plan

    async def put(self, key: str, body: Sequence[Buffer]) -> None:
        full = self._hits(self.plan.no_space)
        fails_after = await self._begin(f"put {key}")
        if full:
            raise StorageError(f"put {key}: no space left (injected)")
        await self._inner.put(key, body)
        self._end(f"put {key}", fails_after)

    async def get(self, key: str, start: int, end: int) -> Buffer:
        cut = self._hits(self.plan.truncate)
        fails_after = await self._begin(f"get {key}")
        data = await self._inner.get(key, start, end)
        if cut:
            raise StorageError(f"get {key}: {len(data) // 2} bytes of {len(data)} came (injected)")
        self._end(f"get {key}", fails_after)
        return data

    async def get_all(self, key: str) -> Buffer:
        cut = self._hits(self.plan.truncate)
        fails_after = await self._begin(f"get {key}")
        data = await self._inner.get_all(key)
        if cut:
            raise StorageError(f"get {key}: {len(data) // 2} bytes of {len(data)} came (injected)")
        self._end(f"get {key}", fails_after)
        return data

    async def size(self, key: str) -> int:
        fails_after = await self._begin(f"size {key}")
        size = await self._inner.size(key)
        self._end(f"size {key}", fails_after)
        return size

    async def delete(self, keys: Sequence[str]) -> Mapping[str, StorageError]:
        """The request may fail, and so may single keys, some of them after they are gone."""
        fails_after = await self._begin("delete")
        kept = [key for key in keys if self._hits(self.plan.fail_before)]
        lied_about = [key for key in keys if self._hits(self.plan.fail_after)]
        failed = dict(await self._inner.delete([key for key in keys if key not in kept]))
        self._end("delete", fails_after)
        for key in (*kept, *lied_about):
            failed.setdefault(key, StorageError(f"delete {key}: failed (injected)"))
        return failed

    async def folders(self, prefix: str) -> Sequence[str]:
        fails_after = await self._begin(f"folders {prefix}")
        names = await self._inner.folders(prefix)
        self._end(f"folders {prefix}", fails_after)
        return names

    async def list(self, prefix: str, start_after: str = "") -> AsyncGenerator[StoredObject, None]:
        fails_after = await self._begin(f"list {prefix}")
        async with aclosing(self._inner.list(prefix, start_after)) as found:
            async for stored in found:
                if self._hits(self.plan.truncate):
                    raise StorageError(f"list {prefix}: cut short before {stored.key} (injected)")
                yield stored
        self._end(f"list {prefix}", fails_after)

    def close(self) -> None:
        self._inner.close()

    def _hits(self, likelihood: float) -> bool:
        return self._random.random() < likelihood

    async def _begin(self, what: str) -> bool:
        """Wait and fail as drawn; the answer is whether the request fails once it is done."""
        late, wait = self._hits(self.plan.delay), self._random.random()
        fails_before, fails_after = self._hits(self.plan.fail_before), self._hits(self.plan.fail_after)
        if late:
            await self._clock.sleep(wait * self.plan.max_delay_s)
        if fails_before:
            raise StorageError(f"{what}: failed (injected)")
        return fails_after

    def _end(self, what: str, fails_after: bool) -> None:
        if fails_after:
            raise StorageError(f"{what}: failed after it was done (injected)")
