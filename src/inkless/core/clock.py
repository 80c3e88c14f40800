"""Time, sleep, randomness and ids behind one port.

Everything else asks a Clock, so that the simulation can run the same code on simulated time with a seed.
"""

import asyncio
import secrets
import time
from typing import Protocol

_RANDOM_POOL_BYTES = 4096


class Clock(Protocol):
    def now_ms(self) -> int:
        """Wall-clock time, milliseconds since the epoch."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back; only differences mean anything."""
        ...

    async def sleep(self, seconds: float) -> None: ...

    def random(self) -> float:
        """A number in [0, 1), for jitter and sampling."""
        ...

    def random_bytes(self, count: int) -> bytes: ...


class SystemClock:
    """The clock of the machine. Randomness is drawn from the system a few kilobytes at a time."""

    def __init__(self) -> None:
        self._random = b""
        self._taken = 0

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def random(self) -> float:
        return int.from_bytes(self.random_bytes(7)) / (1 << 56)

    def random_bytes(self, count: int) -> bytes:
        if self._taken + count > len(self._random):
            self._random = secrets.token_bytes(max(_RANDOM_POOL_BYTES, count))
            self._taken = 0
        start = self._taken
        self._taken += count
        return self._random[start : self._taken]
