"""Trying again what may pass: with growing pauses, within a deadline."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from inkless.client.errors import ClientError
from inkless.core.clock import Clock

T = TypeVar("T")

FIRST_PAUSE_S = 0.05
MAX_PAUSE_S = 1.0


class Attempts:
    """The attempts at one thing, and how long they may take together."""

    def __init__(self, clock: Clock, timeout_s: float) -> None:
        self._clock = clock
        self._deadline = clock.monotonic() + timeout_s
        self._pause_s = FIRST_PAUSE_S

    async def again(self, error: ClientError) -> None:
        """Return when it is time to try again; raise the error where that is of no use or too late."""
        pause_s = self._pause_s * (0.8 + 0.4 * self._clock.random())
        if not error.retriable or self._clock.monotonic() + pause_s > self._deadline:
            raise error
        self._pause_s = min(self._pause_s * 2, MAX_PAUSE_S)
        await self._clock.sleep(pause_s)

    async def run(self, attempt: Callable[[], Awaitable[T]]) -> T:
        while True:
            try:
                return await attempt()
            except ClientError as error:
                await self.again(error)
