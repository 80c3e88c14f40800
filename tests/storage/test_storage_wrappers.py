"""The wrappers: what each adds to the store inside it."""

import asyncio
import random
from collections.abc import AsyncGenerator, Sequence

import pytest
from hand_clock import NEVER_S, HandClock

from inkless.core.errors import ObjectNotFound, SettingError, StorageError
from inkless.storage.faulty import FaultPlan, FaultyStore
from inkless.storage.memory import MemoryStore
from inkless.storage.metered import MeteredStore
from inkless.storage.port import Buffer, InvalidKey, StoredObject
from inkless.storage.prefixed import PrefixedStore
from inkless.storage.retrying import RetryingStore


class FlakyStore(MemoryStore):
    """Fails its first requests; with `hangs` it doesn't answer them at all."""

    def __init__(self, clock: HandClock, failures: int, hangs: bool = False) -> None:
        super().__init__(clock)
        self.failures = failures
        self.hangs = hangs
        self.requests: list[str] = []
        self.bodies: list[bytes] = []

    async def _ask(self, what: str) -> None:
        self.requests.append(what)
        if self.failures:
            self.failures -= 1
            if self.hangs:
                await asyncio.Event().wait()
            raise StorageError("out of order")

    async def put(self, key: str, body: Sequence[Buffer]) -> None:
        self.bodies.append(b"".join(body))
        await super().put(key, [b"".join(body)[:3]] if self.failures else body)  # half of it, then the error
        await self._ask(f"put {key}")

    async def get(self, key: str, start: int, end: int) -> Buffer:
        await self._ask(f"get {key}")
        return await super().get(key, start, end)

    async def delete(self, keys: Sequence[str]) -> dict[str, StorageError]:
        self.requests.append(f"delete {' '.join(keys)}")
        stuck = list(keys[: self.failures])
        self.failures = max(0, self.failures - 1)
        await super().delete([key for key in keys if key not in stuck])
        return {key: StorageError("stuck") for key in stuck}

    async def list(self, prefix: str, start_after: str = "") -> AsyncGenerator[StoredObject, None]:
        self.requests.append(f"list {start_after}")
        given = 0
        async for stored in super().list(prefix, start_after):
            if self.failures and given == 1_500:
                self.failures -= 1
                raise StorageError("out of order")
            given += 1
            yield stored


def retrying(inner: MemoryStore, clock: HandClock, attempts: int = 4, timeout_s: float = NEVER_S) -> RetryingStore:
    return RetryingStore(inner, clock, attempts, first_delay_s=0.1, max_delay_s=0.3, timeout_s=timeout_s)


def test_a_retried_put_sends_the_whole_body_again(clock: HandClock) -> None:
    inner = FlakyStore(clock, failures=3)
    asyncio.run(retrying(inner, clock).put("o", [b"one", b"two"]))
    assert inner.bodies == [b"onetwo"] * 4
    assert inner.requests == ["put o"] * 4
    assert bytes(asyncio.run(inner.get_all("o"))) == b"onetwo"


def test_pauses_grow_to_a_bound_with_full_jitter(clock: HandClock) -> None:
    asyncio.run(retrying(FlakyStore(clock, failures=5), clock, attempts=6).put("o", [b""]))
    jitter = random.Random(1)
    ceilings = [0.1, 0.2, 0.3, 0.3, 0.3]
    assert clock.slept == pytest.approx([ceiling * jitter.random() for ceiling in ceilings])


def test_the_last_attempts_error_comes_out(clock: HandClock) -> None:
    inner = FlakyStore(clock, failures=99)
    with pytest.raises(StorageError, match=r"put o: gave up after 4 attempts: out of order"):
        asyncio.run(retrying(inner, clock).put("o", [b""]))
    assert len(inner.requests) == 4


def test_a_missing_object_and_a_bad_key_are_not_tried_again(clock: HandClock) -> None:
    inner = FlakyStore(clock, failures=0)
    with pytest.raises(ObjectNotFound):
        asyncio.run(retrying(inner, clock).get("o", 0, 1))
    with pytest.raises(InvalidKey):
        asyncio.run(retrying(inner, clock).size("../o"))
    assert inner.requests == ["get o"]
    assert clock.slept == []


def test_a_request_without_an_answer_is_given_up(clock: HandClock) -> None:
    inner = FlakyStore(clock, failures=1, hangs=True)
    asyncio.run(MemoryStore.put(inner, "o", [b"x"]))
    assert bytes(asyncio.run(retrying(inner, clock, timeout_s=0.05).get("o", 0, 1))) == b"x"
    assert inner.requests == ["get o"] * 2
    inner.failures = 99
    with pytest.raises(StorageError, match=r"no answer within 0\.05 s"):
        asyncio.run(retrying(inner, clock, timeout_s=0.05).get("o", 0, 1))


def test_only_the_keys_that_failed_are_deleted_again(clock: HandClock) -> None:
    inner = FlakyStore(clock, failures=2)
    assert asyncio.run(retrying(inner, clock).delete(["a", "b", "c"])) == {}
    assert inner.requests == ["delete a b c", "delete a b", "delete a"]
    inner.failures = 99
    assert list(asyncio.run(retrying(inner, clock).delete(["a", "b"]))) == ["a", "b"]


def test_a_listing_goes_on_where_it_broke(clock: HandClock) -> None:
    async def work() -> None:
        inner = FlakyStore(clock, failures=0)
        for i in range(2500):
            await inner.put(f"{i:04d}", [b""])
        inner.failures, inner.requests = 2, []
        keys = [stored.key async for stored in retrying(inner, clock).list("")]
        assert keys == [f"{i:04d}" for i in range(2500)]

    asyncio.run(work())


def test_a_cancelled_request_cancels_what_it_waits_for(clock: HandClock) -> None:
    async def work() -> None:
        task = asyncio.ensure_future(retrying(FlakyStore(clock, failures=1, hangs=True), clock).get("o", 0, 1))
        for _ in range(5):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(work())


def test_requests_bytes_errors_and_seconds_are_counted(clock: HandClock) -> None:
    async def work() -> None:
        slow = FaultyStore(MemoryStore(clock), clock, random.Random(3), FaultPlan(delay=1, max_delay_s=2))
        store = MeteredStore(slow, clock)
        await store.put("a/o", [b"123", b"45"])
        await store.get("a/o", 1, 3)
        await store.get_all("a/o")
        await store.size("a/o")
        await store.folders("")
        async for _ in store.list(""):
            clock.seconds += 100  # the reader's own time
        await store.delete(["a/o"])
        with pytest.raises(ObjectNotFound):
            await store.get("a/o", 0, 1)
        metrics = store.metrics
        assert (metrics.put.requests, metrics.put.bytes, metrics.put.errors) == (1, 5, 0)
        assert (metrics.get.requests, metrics.get.bytes, metrics.get.errors) == (3, 7, 1)
        for operation in (metrics.size, metrics.folders, metrics.list, metrics.delete):
            assert (operation.requests, operation.errors) == (1, 0)
        parts = (metrics.put, metrics.get, metrics.size, metrics.folders, metrics.list, metrics.delete)
        assert sum(part.seconds for part in parts) == pytest.approx(sum(clock.slept))

    asyncio.run(work())


def test_keys_that_could_not_be_deleted_count_as_errors(clock: HandClock) -> None:
    store = MeteredStore(FlakyStore(clock, failures=2), clock)
    assert len(asyncio.run(store.delete(["a", "b", "c"]))) == 2
    assert store.metrics.delete.errors == 2


def faulty(clock: HandClock, inner: MemoryStore, seed: int = 7, **plan: float) -> FaultyStore:
    return FaultyStore(inner, clock, random.Random(seed), FaultPlan(**plan))


def test_a_put_fails_before_or_after_it_is_done(clock: HandClock) -> None:
    async def work() -> None:
        inner = MemoryStore(clock)
        for plan in ({"fail_before": 1.0}, {"no_space": 1.0}):
            with pytest.raises(StorageError):
                await faulty(clock, inner, **plan).put("o", [b"x"])
            with pytest.raises(ObjectNotFound):
                await inner.size("o")
        with pytest.raises(StorageError):
            await faulty(clock, inner, fail_after=1.0).put("o", [b"x"])
        assert await inner.size("o") == 1

    asyncio.run(work())


def test_gets_and_listings_are_cut_short(clock: HandClock) -> None:
    async def work() -> None:
        inner = MemoryStore(clock)
        await inner.put("o", [b"1234"])
        store = faulty(clock, inner, truncate=1.0)
        for ask in (store.get("o", 0, 4), store.get_all("o"), anext(store.list(""))):
            with pytest.raises(StorageError):
                await ask

    asyncio.run(work())


def test_deletes_fail_in_part(clock: HandClock) -> None:
    async def work() -> None:
        inner = MemoryStore(clock)
        keys = [f"o{i}" for i in range(100)]
        for key in keys:
            await inner.put(key, [b""])
        failed: dict[str, StorageError] = {}
        store = faulty(clock, inner, fail_before=0.2, fail_after=0.2)
        while not failed:
            try:
                failed = dict(await store.delete(keys))
            except StorageError:
                continue
        left = {stored.key async for stored in inner.list("")}
        assert left < set(failed) < set(keys)

    asyncio.run(work())


def test_the_same_seed_gives_the_same_faults(clock: HandClock) -> None:
    async def faults(seed: int) -> list[str]:
        store = faulty(clock, MemoryStore(clock), seed, delay=0.5, max_delay_s=1, fail_before=0.2, fail_after=0.2)
        seen = []
        for i in range(50):
            try:
                await store.put(f"o{i}", [b""])
            except StorageError as error:
                seen.append(str(error))
        return seen

    assert asyncio.run(faults(1)) == asyncio.run(faults(1)) != asyncio.run(faults(2))


def test_a_prefixed_store_sees_its_folder_only(clock: HandClock) -> None:
    async def work() -> None:
        inner = MemoryStore(clock)
        await inner.put("prefix2/o", [b""])
        await inner.put("a", [b""])
        store = PrefixedStore(inner, "prefix")
        await store.put("c/o", [b"x"])
        assert await inner.size("prefix/c/o") == 1
        assert [stored.key async for stored in store.list("")] == ["c/o"]
        assert list(await store.folders("")) == ["c"]

    asyncio.run(work())


@pytest.mark.parametrize("prefix", ["", "/", "/a", "a/../b", "a b", "s3://bucket"])
def test_a_prefix_typed_wrong_is_a_clear_error(clock: HandClock, prefix: str) -> None:
    with pytest.raises(SettingError, match="key prefix"):
        PrefixedStore(MemoryStore(clock), prefix)


def test_memory_keeps_a_copy_of_the_body(clock: HandClock) -> None:
    async def work() -> None:
        store = MemoryStore(clock)
        body = bytearray(b"before")
        await store.put("o", [body])
        body[:] = b"after!"
        assert bytes(await store.get_all("o")) == b"before"
        (stored,) = [stored async for stored in store.list("")]
        assert stored.modified_ms == clock.now_ms()

    asyncio.run(work())
