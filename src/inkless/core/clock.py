"""Time, sleep, randomness and ids behind one port.

Everything else asks a Clock, so that the simulation can run the same code on simulated time with a seed.
"""

import asyncio
import secrets
import time
from typing import Protocol


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
    """The clock of the machine."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def random(self) -> float:
        return secrets.randbits(53) / (1 << 53)

    def random_bytes(self, count: int) -> bytes:
        return secrets.token_bytes(count)
