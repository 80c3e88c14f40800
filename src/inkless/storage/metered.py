"""Counts what a store is asked for: requests cost money, and seconds cost latency."""

from collections.abc import AsyncGenerator, Awaitable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TypeVar

from inkless.core.clock import Clock
from inkless.core.errors import StorageError
from inkless.storage.port import Buffer, ObjectStore, StoredObject

T = TypeVar("T")


@dataclass(slots=True)
class OperationMetrics:
    """`errors` counts requests, and for a delete the keys, that failed; a missing object is a failure too."""

    requests: int = 0
    errors: int = 0
    bytes: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class StoreMetrics:
    put: OperationMetrics = field(default_factory=OperationMetrics)
    get: OperationMetrics = field(default_factory=OperationMetrics)
    size: OperationMetrics = field(default_factory=OperationMetrics)
    delete: OperationMetrics = field(default_factory=OperationMetrics)
    folders: OperationMetrics = field(default_factory=OperationMetrics)
    list: OperationMetrics = field(default_factory=OperationMetrics)


class MeteredStore:
    def __init__(self, inner: ObjectStore, clock: Clock) -> None:
        self._inner = inner
        self._clock = clock
        self.metrics = StoreMetrics()

    async def put(self, key: str, body: Sequence[Buffer]) -> None:
        await self._meter(self.metrics.put, self._inner.put(key, body))
        self.metrics.put.bytes += sum(map(len, body))

    async def get(self, key: str, start: int, end: int) -> Buffer:
        data = await self._meter(self.metrics.get, self._inner.get(key, start, end))
        self.metrics.get.bytes += len(data)
        return data

    async def get_all(self, key: str) -> Buffer:
        data = await self._meter(self.metrics.get, self._inner.get_all(key))
        self.metrics.get.bytes += len(data)
        return data

    async def size(self, key: str) -> int:
        return await self._meter(self.metrics.size, self._inner.size(key))

    async def delete(self, keys: Sequence[str]) -> Mapping[str, StorageError]:
        failed = await self._meter(self.metrics.delete, self._inner.delete(keys))
        self.metrics.delete.errors += len(failed)
        return failed

    async def folders(self, prefix: str) -> Sequence[str]:
        return await self._meter(self.metrics.folders, self._inner.folders(prefix))

    async def list(self, prefix: str, start_after: str = "") -> AsyncGenerator[StoredObject, None]:
        """The seconds are those spent waiting for the store, not those of whoever reads the listing."""
        metrics = self.metrics.list
        metrics.requests += 1
        async with aclosing(self._inner.list(prefix, start_after)) as found:
            while True:
                started = self._clock.monotonic()
                try:
                    stored = await anext(found)
                except StopAsyncIteration:
                    return
                except BaseException:
                    metrics.errors += 1
                    raise
                finally:
                    metrics.seconds += self._clock.monotonic() - started
                yield stored

    def close(self) -> None:
        self._inner.close()

    async def _meter(self, metrics: OperationMetrics, work: Awaitable[T]) -> T:
        metrics.requests += 1
        started = self._clock.monotonic()
        try:
            return await work
        except BaseException:
            metrics.errors += 1
            raise
        finally:
            metrics.seconds += self._clock.monotonic() - started
