"""This broker's memory of object blocks: byte-bounded, written through by the writer, filled by misses.

A block is an aligned piece of an object. One load at a time is under way for a block, however many readers wait.
"""

import asyncio
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Sequence, Sized
from typing import cast

from inkless.core.errors import StorageError
from inkless.storage.port import Buffer, ObjectStore

BlockName = tuple[str, int]


JOIN_BELOW_BYTES = 16 * 1024
BLOCK_OVERHEAD_BYTES = 2048
PIECE_OVERHEAD_BYTES = 256
LOADS_IN_FLIGHT = 4
COPY_BELOW_SHARE = 4


class Block:
    """Bytes of an object from `start` on, in one or several pieces."""

    __slots__ = ("_pieces", "_starts", "end", "start")

    def __init__(self, start: int, pieces: Sequence[Buffer]) -> None:
        self.start = start
        self._pieces = [memoryview(piece) for piece in pieces]
        self._starts: list[int] = []
        position = start
        for piece in self._pieces:
            self._starts.append(position)
            position += len(piece)
        self.end = position

    @property
    def size(self) -> int:
        return self.end - self.start

    @property
    def cost(self) -> int:
        """What it takes of the cache: its bytes, and what Python needs around them."""
        return self.size + BLOCK_OVERHEAD_BYTES + PIECE_OVERHEAD_BYTES * len(self._pieces)

    def slices(self, start: int, end: int) -> list[memoryview]:
        """Views of the bytes [start, end) of the object, as far as this block holds them."""
        start, end = max(start, self.start), min(end, self.end)
        found: list[memoryview] = []
        index = bisect_right(self._starts, start) - 1
        while start < end:
            piece_start, piece = self._starts[index], self._pieces[index]
            stop = min(end, piece_start + len(piece))
            found.append(piece[start - piece_start : stop - piece_start])
            start = stop
            index += 1
        return found


class BlockCache:
    """The blocks, least recently used first out."""

    def __init__(self, store: ObjectStore, max_bytes: int, block_bytes: int) -> None:
        self._store = store
        self._max_bytes = max_bytes
        self._block_bytes = block_bytes
        self._blocks: OrderedDict[BlockName, Block] = OrderedDict()
        self._loads: dict[BlockName, asyncio.Task[Block]] = {}
        self._loading = asyncio.Semaphore(LOADS_IN_FLIGHT)
        self.bytes = 0
        self.hits = 0
        self.misses = 0

    def put_object(self, key: str, pieces: Sequence[Buffer]) -> None:
        """Keep a whole object that was just written, as the pieces that it was written from."""
        whole = Block(0, _with_small_ones_joined(pieces))
        if whole.cost > self._max_bytes:
            return
        for index in range(-(-whole.size // self._block_bytes)):
            start = index * self._block_bytes
            one_block = whole.size <= self._block_bytes
            block = whole if one_block else Block(start, whole.slices(start, start + self._block_bytes))
            self._keep((key, index), block)

    async def read(self, key: str, object_size: int, start: int, end: int) -> list[memoryview]:
        """The bytes [start, end) of an object, in as many pieces as they lie in.

        A small part of a block is copied, so that an answer of many small parts does not hold as many blocks.
        """
        first, last = start // self._block_bytes, (end - 1) // self._block_bytes
        pieces: list[memoryview] = []
        for index in range(first, last + 1):
            block = await self._block(key, object_size, index)
            found = block.slices(start, end)
            if (end - start) * COPY_BELOW_SHARE < block.size:
                found = [memoryview(bytes(piece)) for piece in found]
            pieces += found
        return pieces

    def read_now(self, key: str, start: int, end: int) -> list[memoryview] | None:
        """The same without waiting, where all of it is in memory."""
        first, last = start // self._block_bytes, (end - 1) // self._block_bytes
        found: list[memoryview] = []
        for index in range(first, last + 1):
            block = self._blocks.get((key, index))
            if block is None:
                return None
            self._blocks.move_to_end((key, index))
            found += block.slices(start, end)
        self.hits += 1
        return found

    async def _block(self, key: str, object_size: int, index: int) -> Block:
        name = (key, index)
        block = self._blocks.get(name)
        if block is not None:
            self._blocks.move_to_end(name)
            self.hits += 1
            return block
        load = self._loads.get(name)
        if load is None:
            self.misses += 1
            load = asyncio.get_running_loop().create_task(self._load(name, object_size))
            load.add_done_callback(_take_exception)
            self._loads[name] = load
        try:
            return await asyncio.shield(load)
        except asyncio.CancelledError:
            if load.cancelled():
                raise StorageError(f"{key}: the cache was closed") from None
            raise

    async def _load(self, name: BlockName, object_size: int) -> Block:
        key, index = name
        start = index * self._block_bytes
        end = min(start + self._block_bytes, object_size)
        try:
            async with self._loading:
                block = Block(start, [await self._store.get(key, start, end)])
        finally:
            del self._loads[name]
        self._keep(name, block)
        return block

    def _keep(self, name: BlockName, block: Block) -> None:
        if (old := self._blocks.pop(name, None)) is not None:
            self.bytes -= old.cost
        self._blocks[name] = block
        self.bytes += block.cost
        while self.bytes > self._max_bytes and len(self._blocks) > 1:
            _, dropped = self._blocks.popitem(last=False)
            self.bytes -= dropped.cost

    async def close(self) -> None:
        loads = list(self._loads.values())
        for load in loads:
            load.cancel()
        await asyncio.gather(*loads, return_exceptions=True)


def _with_small_ones_joined(pieces: Sequence[Buffer]) -> list[Buffer]:
    """Small pieces, and those whose frame holds little else that is kept, are copied: views would keep it alive."""
    used: dict[int, int] = {}
    for piece in pieces:
        if isinstance(piece, memoryview):
            used[id(piece.obj)] = used.get(id(piece.obj), 0) + len(piece)
    joined: list[Buffer] = []
    small: list[Buffer] = []
    for piece in pieces:
        wasteful = isinstance(piece, memoryview) and 2 * used[id(piece.obj)] < len(cast(Sized, piece.obj))
        if len(piece) < JOIN_BELOW_BYTES or wasteful:
            small.append(piece)
            continue
        if small:
            joined.append(b"".join(small))
            small = []
        joined.append(piece)
    if small:
        joined.append(b"".join(small))
    return joined


def _take_exception(load: asyncio.Task[Block]) -> None:
    """Those who wait are told; a load that nobody waits for any more fails unheard."""
    if not load.cancelled():
        load.exception()
