"""The order of a connection's requests: each passes a point only after those before it have."""

import asyncio


class Turn:
    """A place in a line. `reached` waits for those before, `pass_on` lets the next one go."""

    __slots__ = ("_before", "_passed", "_waiting")

    def __init__(self, before: "Turn | None") -> None:
        self._passed = False
        self._before = None if before is None or before._passed else before
        self._waiting: asyncio.Future[None] | None = None

    @property
    def is_reached(self) -> bool:
        return self._before is None or self._before._passed

    async def reached(self) -> None:
        before = self._before
        if before is not None and not before._passed:
            before._waiting = asyncio.get_running_loop().create_future()
            await before._waiting
        self._before = None

    def pass_on(self) -> None:
        self._passed = True
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)
