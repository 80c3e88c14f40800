"""A clock whose hands a test moves."""

import asyncio
import random

from inkless.core.clock import SystemClock

NEVER_S = 1_000.0


class HandClock(SystemClock):
    """Sleeping takes no time, but moves the hands and is written down; a sleep of NEVER_S doesn't end."""

    def __init__(self, seed: int = 1) -> None:
        self._random = random.Random(seed)
        self.seconds = 1_700_000_000.0
        self.slept: list[float] = []

    def now_ms(self) -> int:
        return int(self.seconds * 1000)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        if seconds == NEVER_S:
            await asyncio.Event().wait()
        self.slept.append(seconds)
        self.seconds += seconds
        await asyncio.sleep(0)

    def random(self) -> float:
        return self._random.random()
