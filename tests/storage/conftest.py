"""The stores that the contract is run over."""

import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hand_clock import HandClock

from inkless.core.clock import SystemClock
from inkless.core.tasks import ThreadExecutor
from inkless.storage.faulty import FaultPlan, FaultyStore
from inkless.storage.local import LocalStore
from inkless.storage.memory import MemoryStore
from inkless.storage.metered import MeteredStore
from inkless.storage.port import ObjectStore
from inkless.storage.prefixed import PrefixedStore
from inkless.storage.retrying import RetryingStore

Opener = Callable[[], "asynccontextmanager[ObjectStore]"]


def build(name: str, folder: Path, executor: ThreadExecutor) -> ObjectStore:
    clock = SystemClock()
    memory = MemoryStore(clock)
    match name:
        case "local":
            return LocalStore(folder / "store", executor)
        case "memory":
            return memory
        case "retrying":
            return RetryingStore(memory, clock, attempts=3, first_delay_s=0.001, max_delay_s=0.01, timeout_s=30)
        case "metered":
            return MeteredStore(memory, clock)
        case "faulty":
            return FaultyStore(memory, clock, random.Random(1), FaultPlan())
        case "prefixed":
            return PrefixedStore(memory, "some/where/")
        case "stack":
            flaky = FaultyStore(
                memory, clock, random.Random(2), FaultPlan(fail_before=0.1, fail_after=0.1, truncate=0.1)
            )
            patient = RetryingStore(flaky, clock, attempts=30, first_delay_s=0, max_delay_s=0, timeout_s=30)
            return PrefixedStore(MeteredStore(patient, clock), "p")
    raise AssertionError(name)


@pytest.fixture(params=["local", "memory", "retrying", "metered", "faulty", "prefixed", "stack"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    @asynccontextmanager
    async def opened() -> AsyncIterator[ObjectStore]:
        executor = ThreadExecutor("store", threads=4)
        store = build(request.param, tmp_path, executor)
        try:
            yield store
        finally:
            store.close()
            executor.close()

    return opened


@pytest.fixture
def clock() -> HandClock:
    return HandClock()
