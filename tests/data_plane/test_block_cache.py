"""The cache's bounds and its single flight."""

import asyncio

import pytest

from inkless.cache.memory import BLOCK_OVERHEAD_BYTES, PIECE_OVERHEAD_BYTES, BlockCache
from inkless.core.clock import SystemClock
from inkless.core.errors import StorageError
from inkless.storage.memory import MemoryStore
from inkless.storage.port import Buffer


class SlowStore(MemoryStore):
    def __init__(self) -> None:
        super().__init__(SystemClock())
        self.gets: list[tuple[str, int, int]] = []
        self.go = asyncio.Event()
        self.failing = False

    async def get(self, key: str, start: int, end: int) -> Buffer:
        self.gets.append((key, start, end))
        await self.go.wait()
        if self.failing:
            raise StorageError("no")
        return await super().get(key, start, end)


def test_one_load_however_many_wait_and_a_failure_reaches_each() -> None:
    async def main() -> None:
        store = SlowStore()
        await store.put("k", [bytes(range(100))])
        cache = BlockCache(store, 10_000, 64)
        reads = [asyncio.ensure_future(cache.read("k", 100, 60, 70)) for _ in range(20)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        reads[3].cancel()
        store.go.set()
        done = await asyncio.gather(*reads, return_exceptions=True)
        assert sum(isinstance(result, asyncio.CancelledError) for result in done) == 1
        assert {b"".join(result) for result in done if isinstance(result, list)} == {bytes(range(60, 70))}
        assert store.gets == [("k", 0, 64), ("k", 64, 100)]
        store.failing = True
        failed = await asyncio.gather(*[cache.read("x", 10, 0, 5) for _ in range(3)], return_exceptions=True)
        assert [type(error) for error in failed] == [StorageError] * 3
        assert len(store.gets) == 3

    asyncio.run(main())


def test_the_least_recently_used_goes_first_and_bytes_are_bounded() -> None:
    async def main() -> None:
        store = SlowStore()
        store.go.set()
        each = 80 + BLOCK_OVERHEAD_BYTES + PIECE_OVERHEAD_BYTES
        cache = BlockCache(store, 3 * each + 10, 100)
        for name in "abc":
            cache.put_object(name, [bytes(40), bytes(40)])
        assert cache.bytes == 3 * each
        assert cache.read_now("a", 10, 70) is not None
        cache.put_object("d", [bytes(80)])
        assert cache.bytes == 3 * each
        assert cache.read_now("b", 0, 1) is None
        assert cache.read_now("a", 0, 80) is not None
        cache.put_object("too large", [bytes(3 * each)])
        assert cache.read_now("too large", 0, 1) is None
        assert cache.bytes <= 3 * each + 10

    asyncio.run(main())


def test_a_large_object_is_kept_as_aligned_blocks() -> None:
    async def main() -> None:
        cache = BlockCache(SlowStore(), 100_000, 100)
        data = bytes(range(256)) * 2
        cache.put_object("k", [data[:130], data[130:301], data[301:]])
        assert cache.read_now("k", 95, 312) is not None
        assert b"".join(cache.read_now("k", 95, 312) or ()) == data[95:312]
        assert len(cache._blocks) == 6

    asyncio.run(main())


def test_closing_fails_those_who_wait() -> None:
    async def main() -> None:
        cache = BlockCache(SlowStore(), 1000, 100)
        read = asyncio.ensure_future(cache.read("k", 10, 0, 5))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await cache.close()
        with pytest.raises(StorageError):
            await read

    asyncio.run(main())


def test_small_pieces_do_not_keep_what_they_were_cut_from() -> None:
    async def main() -> None:
        cache = BlockCache(SlowStore(), 1 << 20, 1 << 16)
        large = bytearray(60_000)
        cache.put_object("k", [memoryview(large)[:100], memoryview(large)[200:300]])
        large.clear()  # raises BufferError while a view of it is alive
        assert cache.read_now("k", 0, 200) is not None

    asyncio.run(main())
