"""Objects in this process's memory: for tests, for trying things out, and under the simulation."""

from collections.abc import AsyncGenerator, Mapping, Sequence

from inkless.core.clock import Clock
from inkless.core.errors import ObjectNotFound, StorageError
from inkless.storage.port import Buffer, StoredObject, check_key, check_prefix


class MemoryStore:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._objects: dict[str, tuple[bytes, int]] = {}

    async def put(self, key: str, body: Sequence[Buffer]) -> None:
        check_key(key)
        self._objects[key] = (b"".join(body), self._clock.now_ms())

    async def get(self, key: str, start: int, end: int) -> Buffer:
        assert 0 <= start < end
        data = self._find(key)
        if end > len(data):
            raise StorageError(f"bytes {start} to {end} of {key}, which has {len(data)}")
        return memoryview(data)[start:end]

    async def get_all(self, key: str) -> Buffer:
        return self._find(key)

    async def size(self, key: str) -> int:
        return len(self._find(key))

    async def delete(self, keys: Sequence[str]) -> Mapping[str, StorageError]:
        for key in keys:
            check_key(key)
            self._objects.pop(key, None)
        return {}

    async def folders(self, prefix: str) -> Sequence[str]:
        check_prefix(prefix)
        assert prefix == "" or prefix.endswith("/")
        below = (key[len(prefix) :] for key in self._objects if key.startswith(prefix))
        return sorted({rest.partition("/")[0] for rest in below if "/" in rest})

    async def list(self, prefix: str, start_after: str = "") -> AsyncGenerator[StoredObject, None]:
        check_prefix(prefix)
        for key in sorted(key for key in self._objects if key.startswith(prefix) and key > start_after):
            if (found := self._objects.get(key)) is not None:
                yield StoredObject(key, len(found[0]), found[1])

    def close(self) -> None:
        """What it holds stays, so that a test can open a second broker on it."""

    def _find(self, key: str) -> bytes:
        check_key(key)
        try:
            return self._objects[key][0]
        except KeyError:
            raise ObjectNotFound(f"no object {key}") from None
