"""The one port to object storage: whole objects in, byte ranges out.

Every store and every wrapper keeps this contract, and `tests/storage` runs it over each of them.
"""

import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from inkless.core.errors import StorageError
from inkless.records.batch import Buffer

__all__ = ["Buffer", "InvalidKey", "ObjectStore", "StoredObject", "check_key", "check_prefix"]

# Names that start with a dot are kept for the stores themselves (temporary files).
_KEY = re.compile(r"(?!\.)[A-Za-z0-9._=-]+(?:/(?!\.)[A-Za-z0-9._=-]+)*")
_PREFIX = re.compile(r"[A-Za-z0-9._=/-]*")
_MAX_KEY_BYTES = 1024


class InvalidKey(StorageError):
    """A key that no store takes; trying again changes nothing."""


@dataclass(frozen=True, slots=True)
class StoredObject:
    key: str
    size: int
    modified_ms: int


class ObjectStore(Protocol):
    """Every method raises StorageError, or one of its kinds, and nothing else that comes from the world."""

    async def put(self, key: str, body: Sequence[Buffer]) -> None:
        """Create or replace the whole object; it is durable, and visible, when this returns.

        The buffers are sent as they are, unjoined, and stay unchanged until then. A put that failed or was cancelled
        may still land, so its buffers stay unchanged for good and its key is for the same bytes only.
        """
        ...

    async def get(self, key: str, start: int, end: int) -> Buffer:
        """Exactly the bytes from start to end (at least one), else StorageError; ObjectNotFound."""
        ...

    async def get_all(self, key: str) -> Buffer: ...

    async def size(self, key: str) -> int: ...

    async def delete(self, keys: Sequence[str]) -> Mapping[str, StorageError]:
        """Delete what can be deleted and answer with the keys that could not; a missing object counts as deleted."""
        ...

    async def folders(self, prefix: str) -> Sequence[str]:
        """The first-level names, sorted, under a prefix that is empty or ends with '/', where objects lie deeper."""
        ...

    def list(self, prefix: str, start_after: str = "") -> AsyncGenerator[StoredObject, None]:
        """The objects whose key starts with the prefix and lies behind `start_after`, sorted by key."""
        ...

    def close(self) -> None: ...


def check_key(key: str) -> None:
    if len(key) > _MAX_KEY_BYTES or _KEY.fullmatch(key) is None:
        raise InvalidKey(f"not an object key: {key!r}")


def check_prefix(prefix: str) -> None:
    """A prefix to list by may end anywhere in a key."""
    if len(prefix) > _MAX_KEY_BYTES or _PREFIX.fullmatch(prefix) is None or prefix.startswith("/"):
        raise InvalidKey(f"not a prefix of object keys: {prefix!r}")
