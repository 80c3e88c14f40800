"""Tries again what a store failed to do: bounded attempts, a time limit for each, growing pauses with full jitter."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from inkless.core.clock import Clock
from inkless.core.errors import ObjectExists, ObjectNotFound, StorageError
from inkless.storage.port import Buffer, InvalidKey, ObjectStore, StoredObject

T = TypeVar("T")

_FINAL = (ObjectNotFound, ObjectExists, InvalidKey)
_LIST_PAGE = 1000


class RetryingStore:
    """A body is a list of buffers, so each attempt sends the whole of it, under the same key."""

    def __init__(
        self,
        inner: ObjectStore,
        clock: Clock,
        attempts: int,
        first_delay_s: float,
        max_delay_s: float,
        timeout_s: float,
    ) -> None:
        assert attempts >= 1
        self._inner = inner
        self._clock = clock
        self._attempts = attempts
        self._first_delay_s = first_delay_s
        self._max_delay_s = max_delay_s
        self._timeout_s = timeout_s

    async def put(self, key: str, body: Sequence[Buffer]) -> None:
        await self._try(f"put {key}", lambda: self._inner.put(key, body))

    async def get(self, key: str, start: int, end: int) -> Buffer:
        return await self._try(f"get {key}", lambda: self._inner.get(key, start, end))

    async def get_all(self, key: str) -> Buffer:
        return await self._try(f"get {key}", lambda: self._inner.get_all(key))

    async def size(self, key: str) -> int:
        return await self._try(f"size {key}", lambda: self._inner.size(key))

    async def folders(self, prefix: str) -> Sequence[str]:
        return await self._try(f"folders {prefix}", lambda: self._inner.folders(prefix))

    async def delete(self, keys: Sequence[str]) -> Mapping[str, StorageError]:
        """Each attempt is for what is left over; only the last one's failures are told."""
        left: Sequence[str] = keys
        failed: Mapping[str, StorageError] = {}
        for attempt in range(self._attempts):
            if attempt:
                await self._pause(attempt)
            try:
                failed = await self._in_time(self._inner.delete(left))
            except InvalidKey:
                raise
            except StorageError as error:
                failed = dict.fromkeys(left, error)
            left = [key for key, error in failed.items() if not isinstance(error, _FINAL)]
            if not left:
                break
        return failed

    async def list(self, prefix: str, start_after: str = "") -> AsyncGenerator[StoredObject, None]:
        """Goes on behind the last object that was given, so a failure half-way costs one page."""
        listing = _Listing(self._inner, prefix, start_after)
        try:
            is_whole = False
            while not is_whole:
                page = await self._try(f"list {prefix}", listing.page)
                for stored in page:
                    yield stored
                is_whole = len(page) < _LIST_PAGE
        finally:
            await listing.close()

    def close(self) -> None:
        self._inner.close()

    async def _try(self, what: str, call: Callable[[], Coroutine[Any, Any, T]]) -> T:
        for attempt in range(1, self._attempts + 1):
            try:
                return await self._in_time(call())
            except _FINAL:
                raise
            except StorageError as error:
                if attempt == self._attempts:
                    raise StorageError(f"{what}: gave up after {attempt} attempts: {error}") from error
            await self._pause(attempt)
        raise AssertionError("unreachable")

    async def _pause(self, failures: int) -> None:
        ceiling = min(self._max_delay_s, self._first_delay_s * 2.0 ** (failures - 1))
        await self._clock.sleep(ceiling * self._clock.random())

    async def _in_time(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            async with asyncio.timeout(self._timeout_s):
                return await work
        except TimeoutError:
            raise StorageError(f"no answer within {self._timeout_s:g} s") from None


class _Listing:
    """A listing read by pages; one that broke is opened again behind the last whole page."""

    def __init__(self, inner: ObjectStore, prefix: str, start_after: str) -> None:
        self._inner = inner
        self._prefix = prefix
        self._last = start_after
        self._found: AsyncGenerator[StoredObject, None] | None = None

    async def page(self) -> Sequence[StoredObject]:
        if self._found is None:
            self._found = self._inner.list(self._prefix, self._last)
        page = []
        try:
            async for stored in self._found:
                page.append(stored)
                if len(page) == _LIST_PAGE:
                    break
        except BaseException:
            await self.close()
            raise
        if page:
            self._last = page[-1].key
        return page

    async def close(self) -> None:
        if self._found is not None:
            found, self._found = self._found, None
            await found.aclose()
