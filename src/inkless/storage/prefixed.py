"""A store inside a folder of another one: what `inkless.object.key.prefix` asks for."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing

from inkless.core.errors import SettingError, StorageError
from inkless.storage.port import Buffer, InvalidKey, ObjectStore, StoredObject, check_key


class PrefixedStore:
    def __init__(self, inner: ObjectStore, prefix: str) -> None:
        folder = prefix.rstrip("/")
        try:
            check_key(folder)
        except InvalidKey:
            raise SettingError(
                f"{prefix!r} can't be a key prefix: use letters, digits and . _ = - with / between folders"
            ) from None
        self._inner = inner
        self._prefix = folder + "/"

    async def put(self, key: str, body: Sequence[Buffer]) -> None:
        await self._inner.put(self._prefix + key, body)

    async def get(self, key: str, start: int, end: int) -> Buffer:
        return await self._inner.get(self._prefix + key, start, end)

    async def get_all(self, key: str) -> Buffer:
        return await self._inner.get_all(self._prefix + key)

    async def size(self, key: str) -> int:
        return await self._inner.size(self._prefix + key)

    async def delete(self, keys: Sequence[str]) -> Mapping[str, StorageError]:
        failed = await self._inner.delete([self._prefix + key for key in keys])
        return {key[len(self._prefix) :]: error for key, error in failed.items()}

    async def folders(self, prefix: str) -> Sequence[str]:
        return await self._inner.folders(self._prefix + prefix)

    async def list(self, prefix: str, start_after: str = "") -> AsyncGenerator[StoredObject, None]:
        behind = self._prefix + start_after if start_after else ""
        async with aclosing(self._inner.list(self._prefix + prefix, behind)) as found:
            async for stored in found:
                yield StoredObject(stored.key[len(self._prefix) :], stored.size, stored.modified_ms)

    def close(self) -> None:
        self._inner.close()
