"""What every object store promises, run over each of them."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

import pytest

from inkless.core.errors import ObjectNotFound, StorageError
from inkless.storage.port import InvalidKey, ObjectStore

T = TypeVar("T")

BAD_KEYS = [
    "",
    "/a",
    "a/",
    "a//b",
    "..",
    "../a",
    "a/../b",
    "a/..",
    ".a",
    "a/.b",
    "a b",
    "a\0b",
    "ä",
    "a\\b",
    "a" * 1025,
]


async def keys_of(store: ObjectStore, prefix: str = "", start_after: str = "") -> list[str]:
    return [stored.key async for stored in store.list(prefix, start_after)]


def in_store(open_store, work: Callable[[ObjectStore], Awaitable[T]]) -> T:
    async def opened() -> T:
        async with open_store() as store:
            return await work(store)

    return asyncio.run(opened())


def test_a_body_of_several_buffers_is_one_object(open_store) -> None:
    async def work(store: ObjectStore) -> None:
        await store.put("c/d/o.ink", [b"one", bytearray(b"two"), memoryview(b"-three-")[1:-1], b""])
        assert bytes(await store.get_all("c/d/o.ink")) == b"onetwothree"
        assert await store.size("c/d/o.ink") == 11

    in_store(open_store, work)


def test_an_empty_body(open_store) -> None:
    async def work(store: ObjectStore) -> None:
        await store.put("none", [])
        await store.put("empties", [b"", b""])
        for key in ("none", "empties"):
            assert bytes(await store.get_all(key)) == b""
            assert await store.size(key) == 0
            with pytest.raises(StorageError):
                await store.get(key, 0, 1)
        assert await keys_of(store) == ["empties", "none"]

    in_store(open_store, work)


def test_a_body_of_thousands_of_buffers(open_store) -> None:
    async def work(store: ObjectStore) -> None:
        body = [bytes([i % 256]) * (i % 7) for i in range(3000)]
        await store.put("many", body)
        assert bytes(await store.get_all("many")) == b"".join(body)

    in_store(open_store, work)


def test_ranges_are_exact(open_store) -> None:
    async def work(store: ObjectStore) -> None:
        data = bytes(range(200))
        await store.put("o", [data])
        for start, end in ((0, 1), (0, 200), (199, 200), (7, 8), (50, 150)):
            assert bytes(await store.get("o", start, end)) == data[start:end]
        for start, end in ((0, 201), (199, 201), (200, 201), (1000, 1001), (0, 1 << 45)):
            with pytest.raises(StorageError):
                await store.get("o", start, end)

    in_store(open_store, work)


def test_what_is_not_there_is_not_found(open_store) -> None:
    async def work(store: ObjectStore) -> None:
        await store.put("a/b/c", [b"x"])
        for key in ("nothing", "a", "a/b", "a/b/c/d", "a/b/d"):
            for ask in (store.get(key, 0, 1), store.get_all(key), store.size(key)):
                with pytest.raises(ObjectNotFound):
                    await ask

    in_store(open_store, work)


def test_a_put_replaces_the_whole_object(open_store) -> None:
    async def work(store: ObjectStore) -> None:
        await store.put("o", [bytes(1000)])
        await store.put("o", [b"short"])
        assert bytes(await store.get_all("o")) == b"short"
        assert await keys_of(store) == ["o"]

    in_store(open_store, work)


def test_concurrent_puts_of_one_key_leave_one_whole_object(open_store) -> None:
    async def work(store: ObjectStore) -> None:
        bodies = [[bytes([i]) * 1000, bytes([i]) * 50_000] for i in range(8)]
        await asyncio.gather(*(store.put("c/o", body) for body in bodies))
        assert bytes(await store.get_all("c/o")) in [b"".join(body) for body in bodies]
        assert await keys_of(store) == ["c/o"]

    in_store(open_store, work)


def test_concurrent_puts_of_many_keys(open_store) -> None:
    async def work(store: ObjectStore) -> None:
        keys = [f"c/{i % 5}/{i}" for i in range(100)]
        await asyncio.gather(*(store.put(key, [key.encode()]) for key in keys))
        found = await asyncio.gather(*(store.get_all(key) for key in keys))
        assert [bytes(data) for data in found] == [key.encode() for key in keys]

    in_store(open_store, work)


def test_a_listing_is_sorted_by_key(open_store) -> None:
    # '-' and '.' sort before '/', '0' behind it: a walk folder by folder gets these wrong.
    keys = sorted(["a/1", "a/2/x", "a/2-x", "a/2.x", "a/20", "a-b", "a.b", "a0", "b/1", "b/1=/z", "Z", "_", "=/q"])

    async def work(store: ObjectStore) -> None:
        for key in reversed(keys):
            await store.put(key, [b"12"])
        assert await keys_of(store) == keys
        for prefix in ("a", "a/", "a/2", "a/2/", "a/2/x", "b/1=", "b", "c", "a-", "a/2/x/y", "Z"):
            assert await keys_of(store, prefix) == [key for key in keys if key.startswith(prefix)]
        for after in (*keys, "a", "a/", "a/2/", "0", "zzz"):
            assert await keys_of(store, "", after) == [key for key in keys if key > after]
            assert await keys_of(store, "a/", after) == [key for key in keys if key > after and key.startswith("a/")]

    in_store(open_store, work)


def test_a_listing_tells_size_and_time(open_store) -> None:
    async def work(store: ObjectStore) -> None:
        before = time.time_ns() // 1_000_000
        await store.put("c/o", [b"12345"])
        (stored,) = [stored async for stored in store.list("")]
        assert (stored.key, stored.size) == ("c/o", 5)
        assert before - 100 <= stored.modified_ms <= time.time_ns() // 1_000_000 + 100

    in_store(open_store, work)


def test_a_listing_may_be_left_half_way(open_store) -> None:
    async def work(store: ObjectStore) -> None:
        for i in range(10):
            await store.put(f"o{i}", [b""])
        listing = store.list("")
        assert (await anext(listing)).key == "o0"
        await listing.aclose()

    in_store(open_store, work)


def test_folders_are_the_first_level_where_objects_lie_deeper(open_store) -> None:
    async def work(store: ObjectStore) -> None:
        assert list(await store.folders("")) == []
        for key in ("b/x/1", "b/y/2", "a/1", "file", "c/d/e/f"):
            await store.put(key, [b""])
        assert list(await store.folders("")) == ["a", "b", "c"]
        assert list(await store.folders("b/")) == ["x", "y"]
        assert list(await store.folders("a/")) == []
        assert list(await store.folders("nothing/")) == []
        await store.delete(["c/d/e/f"])
        assert list(await store.folders("")) == ["a", "b"]

    in_store(open_store, work)


def test_deleting_what_is_there_and_what_is_not(open_store) -> None:
    async def work(store: ObjectStore) -> None:
        await store.put("a/1", [b""])
        await store.put("a/2", [b""])
        assert await store.delete(["a/1", "a/3", "x/y/z", "a"]) == {}
        assert await store.delete(["a/1"]) == {}
        assert await store.delete([]) == {}
        assert await keys_of(store) == ["a/2"]
        await store.put("a/1", [b"again"])
        assert bytes(await store.get_all("a/1")) == b"again"

    in_store(open_store, work)


@pytest.mark.parametrize("key", BAD_KEYS)
def test_keys_that_no_store_takes(open_store, key: str) -> None:
    async def work(store: ObjectStore) -> None:
        for ask in (
            store.put(key, [b"x"]),
            store.get(key, 0, 1),
            store.get_all(key),
            store.size(key),
            store.delete([key]),
        ):
            with pytest.raises(InvalidKey):
                await ask
        assert await keys_of(store) == []

    in_store(open_store, work)


@pytest.mark.parametrize("prefix", ["../", "a/../../", "/etc", "ä"])
def test_prefixes_do_not_lead_outside(open_store, prefix: str) -> None:
    async def work(store: ObjectStore) -> None:
        with suppress(InvalidKey):
            assert await keys_of(store, prefix) == []

    in_store(open_store, work)
