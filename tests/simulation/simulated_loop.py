"""An event loop on simulated time: it jumps to the next timer instead of waiting. A run is a function of its seed."""

import asyncio
import random
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

START_MS = 1_700_000_000_000


class Stuck(Exception):
    """Every task waits for another one: nothing can ever happen again."""


class _JumpingSelector:
    def __init__(self, loop: "SimulatedLoop") -> None:
        self._loop = loop

    def select(self, timeout: float | None) -> list[Any]:
        if timeout is None:
            raise Stuck
        self._loop.now_s += timeout
        return []

    def close(self) -> None:
        pass


class SimulatedLoop(asyncio.BaseEventLoop):
    def __init__(self) -> None:
        super().__init__()
        self.now_s = 0.0
        self._selector = _JumpingSelector(self)

    def time(self) -> float:
        return self.now_s

    def _process_events(self, event_list: list[Any]) -> None:
        assert not event_list

    def _write_to_self(self) -> None:
        pass


class SimulatedClock:
    """A broker's clock on the simulated loop; `skew_ms` sets brokers' wall clocks apart."""

    def __init__(self, loop: SimulatedLoop, rng: random.Random, skew_ms: int = 0) -> None:
        self._loop = loop
        self._rng = rng
        self._skew_ms = skew_ms

    def now_ms(self) -> int:
        return START_MS + self._skew_ms + int(self._loop.now_s * 1000)

    def monotonic(self) -> float:
        return self._loop.now_s

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def random(self) -> float:
        return self._rng.random()

    def random_bytes(self, count: int) -> bytes:
        return self._rng.randbytes(count)


class InlineExecutor:
    """Runs calls on the loop's own thread, a random while later."""

    def __init__(self, clock: SimulatedClock, max_delay_s: float) -> None:
        self._clock = clock
        self._max_delay_s = max_delay_s
        self._free = asyncio.Lock()

    async def run(self, call: Callable[..., T], *args: Any) -> T:
        async with self._free:
            await self._clock.sleep(self._clock.random() * self._max_delay_s)
            return call(*args)

    def close(self) -> None:
        pass
