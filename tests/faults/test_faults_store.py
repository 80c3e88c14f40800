"""A store that is slow, fails, or fails after having written, and a plane whose commits do: the property holds."""

import asyncio
import contextlib
import os
import random
import select
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import raw_client
from checker import History, Record, check, read_log
from producer_load import Load, create_topic, running
from raw_client import RawClient, produced

from inkless import compose
from inkless.control_plane.sqlite import connection as plane_connection
from inkless.core.clock import SystemClock
from inkless.core.errors import StorageError
from inkless.storage.faulty import FaultPlan, FaultyStore
from inkless.storage.port import Buffer, ObjectStore
from inkless.testing import broker

PARTITIONS = 3
PRODUCERS = 3
RECORDS = int(os.environ.get("INKLESS_RECORDS", "5000"))
NO_FAULTS = FaultPlan()
KAFKA_STORAGE_ERROR = 56
REQUEST_TIMED_OUT = 7

Wrap = Callable[[ObjectStore], ObjectStore]


@pytest.fixture
def seed() -> int:
    drawn = int(os.environ.get("FAULTS_SEED", random.randrange(2**32)))
    print(f"FAULTS_SEED={drawn}")
    return drawn


def wrap_store(monkeypatch: pytest.MonkeyPatch, wrap: Wrap, *, below_retries: bool) -> None:
    """Brokers that start from now on have this around their store, under its retries or above them."""
    seam = "MeteredStore" if below_retries else "open_store"
    make = getattr(compose, seam)
    monkeypatch.setattr(compose, seam, lambda *args, **named: wrap(make(*args, **named)))


class CountedFaults(FaultyStore):
    """Tells how many faults there were, because a test without any shows nothing."""

    puts = gets = 0

    async def put(self, key: str, body: Sequence[Buffer]) -> None:
        try:
            await super().put(key, body)
        except StorageError:
            self.puts += 1
            raise

    async def get(self, key: str, start: int, end: int) -> Buffer:
        try:
            return await super().get(key, start, end)
        except StorageError:
            self.gets += 1
            raise


class Faults:
    """Makes stores that follow one plan, which can be changed while they run."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self.stores: list[CountedFaults] = []

    def wrap(self, inner: ObjectStore) -> ObjectStore:
        self.stores.append(CountedFaults(inner, SystemClock(), self._chance, NO_FAULTS))
        return self.stores[-1]

    def follow(self, plan: FaultPlan) -> None:
        assert self.stores, "no broker has opened a store"
        for store in self.stores:
            store.plan = plan

    def __str__(self) -> str:
        return ", ".join(f"{store.puts} failed puts and {store.gets} failed gets" for store in self.stores)


def write_and_check(bootstrap: str, faults: Callable[[bool], None]) -> None:
    """Idempotent producers, five requests in flight, while the faults are on; then everything is read back."""
    create_topic(bootstrap, "t", PARTITIONS)
    faults(True)
    each = RECORDS // PRODUCERS
    loads = [Load(f"p{number}", bootstrap, "t", PARTITIONS, limit=each) for number in range(PRODUCERS)]
    with running(loads):
        for load in loads:
            load.join()
    faults(False)
    history = History.joined([load.history for load in loads])
    assert len(history.acknowledged) == each * PRODUCERS
    check(history, read_log(bootstrap, "t", PARTITIONS))


SLOW = FaultPlan(delay=0.3, max_delay_s=0.05)
ERRORS = FaultPlan(fail_before=0.2)
ERRORS_AFTER = FaultPlan(fail_after=0.2)
ALL = FaultPlan(delay=0.2, max_delay_s=0.05, fail_before=0.1, fail_after=0.1, no_space=0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plan", "uploads", "retried"),
    [(SLOW, 4, False), (ERRORS, 1, False), (ERRORS_AFTER, 4, False), (ALL, 2, True)],
    ids=["slow", "errors", "errors after writing", "all of it"],
)
def test_records_are_there_once_and_in_order_with_a_faulty_store(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, seed: int, plan: FaultPlan, uploads: int, retried: bool
) -> None:
    """Above the store's retries a fault is an object that fails for good; with `retried` there are some below too."""
    faults = Faults(seed)
    wrap_store(monkeypatch, faults.wrap, below_retries=False)
    if retried:
        monkeypatch.setattr(compose, "RETRY_FIRST_S", 0.01)
        wrap_store(monkeypatch, faults.wrap, below_retries=True)
    with broker({"inkless.data.dir": tmp_path, "inkless.produce.uploads.in.flight": uploads}) as under_test:
        write_and_check(under_test.bootstrap_servers, lambda on: faults.follow(plan if on else NO_FAULTS))
    print(faults)
    assert plan is SLOW or all(store.puts > 0 for store in faults.stores)


class HeldStore:
    """A store whose first object, counted from `arm`, waits for `release`; the others are written."""

    def __init__(self, inner: ObjectStore) -> None:
        self._inner = inner
        self._armed = False
        self._held_key: str | None = None
        self._loop = asyncio.get_running_loop()
        self._gate = asyncio.Event()
        self._fails = False
        self.held = threading.Event()
        self.others_written = threading.Semaphore(0)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def put(self, key: str, body: Sequence[Buffer]) -> None:
        if self._armed and self._held_key in (None, key):
            self._held_key = key
            self.held.set()
            await self._gate.wait()
            if self._fails:
                raise StorageError(f"put {key}: failed for good (injected)")
        await self._inner.put(key, body)
        self.others_written.release()

    def arm(self) -> None:
        self._armed = True

    def release(self, *, failing: bool = False) -> None:
        self._fails = failing
        self._loop.call_soon_threadsafe(self._gate.set)


@pytest.fixture
def held_stores(monkeypatch: pytest.MonkeyPatch) -> list[HeldStore]:
    """The stores of brokers that are started afterwards, under their retries."""
    stores: list[HeldStore] = []

    def wrap(inner: ObjectStore) -> ObjectStore:
        stores.append(HeldStore(inner))
        return stores[-1]

    wrap_store(monkeypatch, wrap, below_retries=True)
    monkeypatch.setattr(compose, "RETRY_FIRST_S", 0.01)
    return stores


def test_an_object_that_fails_for_good_costs_its_own_requests_only(
    held_stores: list[HeldStore], tmp_path: Path
) -> None:
    """The next object is written while the first one hangs, waits for its fate, and commits when it has failed."""
    settings = {"inkless.data.dir": tmp_path, "inkless.produce.uploads.in.flight": 2}
    with broker(settings) as under_test, RawClient(under_test.port) as one, RawClient(under_test.port) as other:
        create_topic(under_test.bootstrap_servers, "t", 1)
        (store,) = held_stores
        store.arm()
        one.send(request(0))
        assert store.held.wait(10)
        other.send(request(1))
        assert store.others_written.acquire(timeout=10)
        assert not select.select([one, other], [], [], 0.1)[0], "answered before an earlier object was settled"
        store.release(failing=True)
        assert produced(one.answer()) == [(0, KAFKA_STORAGE_ERROR, -1)]
        assert produced(other.answer()) == [(0, 0, 0)]
        assert produced(one.ask(request(2))) == [(0, 0, 1)]
        found = read_log(under_test.bootstrap_servers, "t", 1)[0].records
    assert found == [(0, Record("raw", 0, 1)), (1, Record("raw", 0, 2))]


def test_a_broker_that_stops_waits_for_a_slow_object(held_stores: list[HeldStore], tmp_path: Path) -> None:
    with broker({"inkless.data.dir": tmp_path}) as under_test, RawClient(under_test.port) as client:
        create_topic(under_test.bootstrap_servers, "t", 1)
        (store,) = held_stores
        store.arm()
        client.send(request(0))
        assert store.held.wait(10)
        stopping = threading.Thread(target=under_test.stop, daemon=True)
        stopping.start()
        assert not select.select([client], [], [], 0.1)[0]
        store.release()
        assert produced(client.answer()) == [(0, 0, 0)]
        assert client.is_closed_by_broker()
        stopping.join(10)
    with broker({"inkless.data.dir": tmp_path}) as again:
        assert read_log(again.bootstrap_servers, "t", 1)[0].records == [(0, Record("raw", 0, 0))]


def test_a_broker_that_stops_does_not_wait_for_ever(held_stores: list[HeldStore], tmp_path: Path) -> None:
    """Whoever waits for an object that hangs is told that its outcome is unknown, or nothing, but never success."""
    settings = {"inkless.data.dir": tmp_path, "inkless.drain.timeout.ms": 300}
    with broker(settings) as under_test, RawClient(under_test.port) as client:
        create_topic(under_test.bootstrap_servers, "t", 1)
        (store,) = held_stores
        store.arm()
        client.send(request(0))
        assert store.held.wait(10)
        began_s = time.monotonic()
        under_test.stop()
        took_s = time.monotonic() - began_s
        with contextlib.suppress(ConnectionError):
            assert produced(client.answer()) == [(0, REQUEST_TIMED_OUT, -1)]
        assert client.is_closed_by_broker()
    print(f"stopped after {took_s:.2f} s")
    assert took_s < 2


def request(number: int) -> bytes:
    return raw_client.produce("t", [(0, raw_client.batch([Record("raw", 0, number).value()]))], number)


@pytest.mark.slow
def test_a_reader_gets_everything_from_a_store_whose_gets_fail(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, seed: int
) -> None:
    """The writer's broker has gone, so nothing is in memory, and the cache is too small to help."""
    with broker({"inkless.data.dir": tmp_path}) as writing:
        create_topic(writing.bootstrap_servers, "t", PARTITIONS)
        load = Load("p", writing.bootstrap_servers, "t", PARTITIONS, limit=RECORDS)
        load.join()
    faults = Faults(seed)
    wrap_store(monkeypatch, faults.wrap, below_retries=False)
    with broker({"inkless.data.dir": tmp_path, "inkless.consume.cache.max.bytes": 0}) as reading:
        faults.follow(FaultPlan(delay=0.05, max_delay_s=0.02, fail_before=0.02, fail_after=0.02, truncate=0.02))
        log = read_log(reading.bootstrap_servers, "t", PARTITIONS, **{"fetch.error.backoff.ms": 10})
    print(faults)
    assert faults.stores[0].gets > 0
    check(load.history, log)


class CommitFaults:
    """COMMITs of SQLite that fail, at random, before or after they are done."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self.likelihood = 0.0
        self.before = self.after = 0

    def commit(self, execute: Callable[[str], sqlite3.Cursor]) -> sqlite3.Cursor:
        drawn = self._chance.random()
        if drawn < self.likelihood / 2:
            self.before += 1
            raise sqlite3.OperationalError("disk I/O error (injected, before)")
        done = execute("COMMIT")
        if drawn < self.likelihood:
            self.after += 1
            raise sqlite3.OperationalError("disk I/O error (injected, after)")
        return done


@pytest.mark.slow
def test_records_are_there_once_and_in_order_with_commits_that_fail(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, seed: int
) -> None:
    faults = CommitFaults(seed)

    class FaultyCursor(sqlite3.Cursor):
        def execute(self, statement: str, *args: Any) -> sqlite3.Cursor:
            if statement == "COMMIT":
                return faults.commit(super().execute)
            return super().execute(statement, *args)

    class FaultyConnection(sqlite3.Connection):
        def cursor(self, factory: Any = FaultyCursor) -> Any:
            return super().cursor(factory)

    connect = sqlite3.connect
    faulty = lambda *args, **named: connect(*args, factory=FaultyConnection, **named)  # noqa: E731
    monkeypatch.setattr(plane_connection.sqlite3, "connect", faulty)
    with broker({"inkless.data.dir": tmp_path}) as under_test:
        write_and_check(under_test.bootstrap_servers, lambda on: setattr(faults, "likelihood", 0.2 if on else 0.0))
    print(f"{faults.before} commits failed before they were done, {faults.after} after")
    assert faults.before
    assert faults.after
