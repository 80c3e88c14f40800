"""Producer ids, handed out of a block that the plane allocated."""

import asyncio

from inkless.control_plane.port import ControlPlane
from inkless.core.clock import Clock

BLOCK = 1000
MAX_AGE_S = 3600.0


class ProducerIds:
    """A block is dropped long before its ids could count as expired: their age is the block's (rule 6)."""

    def __init__(self, plane: ControlPlane, clock: Clock, expiration_ms: int) -> None:
        self._plane = plane
        self._clock = clock
        self._max_age_s = min(MAX_AGE_S, expiration_ms / 1000 / 10)
        self._left = iter(range(0))
        self._allocated_s = 0.0
        self._allocating = asyncio.Lock()

    async def next(self) -> int:
        async with self._allocating:
            found = None
            if self._clock.monotonic() - self._allocated_s < self._max_age_s:
                found = next(self._left, None)
            if found is None:
                self._allocated_s = self._clock.monotonic()
                self._left = iter(await self._plane.allocate_producer_ids(BLOCK))
                found = next(self._left)
            return found
