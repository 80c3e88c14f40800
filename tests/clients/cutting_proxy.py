"""A proxy between clients and a broker that loses what is on the way, by a seeded plan."""

import asyncio
import contextlib
import random
import threading
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

SIZE_BYTES = 4
PRODUCE = 0
CLOSE_S = 10.0
LATE_S = 0.05
ON_THE_WAY_S = 0.004


class Cut(Enum):
    """What becomes of a Produce request when its connection is cut."""

    ANSWER_LOST = "the broker did it, and its answer is gone"
    ANSWER_TORN = "the broker did it, and a part of its answer arrives"
    REQUEST_TORN = "a part of the request arrives at the broker"
    REQUEST_LATE = "the request arrives at the broker after the client has come back"


ON_REQUEST = (Cut.REQUEST_TORN, Cut.REQUEST_LATE)
ON_ANSWER = (Cut.ANSWER_LOST, Cut.ANSWER_LOST, Cut.ANSWER_TORN)


@dataclass(slots=True)
class Plan:
    """So many cuts, each frame with this chance, until none is left."""

    rng: random.Random = field(default_factory=random.Random)
    left: int = 0
    chance: float = 0.0
    made: Counter[Cut] = field(default_factory=Counter)
    most_in_flight: int = 0

    def draw(self, cuts: tuple[Cut, ...]) -> Cut | None:
        if self.left == 0 or self.rng.random() >= self.chance:
            return None
        self.left -= 1
        cut = self.rng.choice(cuts)
        self.made[cut] += 1
        return cut


class _Link:
    """One client's connection and the one behind it."""

    def __init__(self, plan: Plan, client: "_Side", broker: "_Side") -> None:
        self._plan = plan
        self._client = client
        self._broker = broker
        self._waiting: deque[int] = deque()  # the API keys of the requests without an answer

    async def run(self) -> None:
        pumps = [asyncio.create_task(self._requests()), asyncio.create_task(self._answers())]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            for side in (self._client, self._broker):
                side.close(abort=self._plan.rng.random() < 0.5)

    async def _requests(self) -> None:
        while frame := await self._client.frame():
            api_key = int.from_bytes(frame[SIZE_BYTES : SIZE_BYTES + 2])
            match self._plan.draw(ON_REQUEST) if api_key == PRODUCE else None:
                case Cut.REQUEST_TORN:
                    await self._broker.send(frame[: self._plan.rng.randrange(len(frame))])
                    self._broker.close(abort=False)
                    return
                case Cut.REQUEST_LATE:
                    self._client.close(abort=True)
                    await asyncio.sleep(self._plan.rng.uniform(0, LATE_S))
                    await self._broker.send(frame)
                    await self._broker.frame()
                    return
            self._waiting.append(api_key)
            self._plan.most_in_flight = max(self._plan.most_in_flight, self._waiting.count(PRODUCE))
            await self._broker.send(frame)

    async def _answers(self) -> None:
        while frame := await self._broker.frame():
            if self._plan.left:
                await asyncio.sleep(ON_THE_WAY_S)  # so that the client has several requests in flight
            api_key = self._waiting.popleft()
            match self._plan.draw(ON_ANSWER) if api_key == PRODUCE else None:
                case Cut.ANSWER_LOST:
                    return
                case Cut.ANSWER_TORN:
                    await self._client.send(frame[: self._plan.rng.randrange(1, len(frame))])
                    self._client.close(abort=False)
                    return
            await self._client.send(frame)


class _Side:
    """A stream of frames."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def frame(self) -> bytes:
        """The next whole frame with its size; nothing at the end of the stream."""
        try:
            size = await self._reader.readexactly(SIZE_BYTES)
            return size + await self._reader.readexactly(int.from_bytes(size))
        except (asyncio.IncompleteReadError, ConnectionError):
            return b""

    async def send(self, data: bytes) -> None:
        with contextlib.suppress(ConnectionError):
            self._writer.write(data)
            await self._writer.drain()

    def close(self, *, abort: bool) -> None:
        if abort:
            self._writer.transport.abort()
        else:
            self._writer.close()


class CuttingProxy:
    """Forwards everything unless a plan is set. Made by `cutting_proxy`."""

    def __init__(self) -> None:
        self.target = ""
        self.plan = Plan()
        self._links: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    @property
    def address(self) -> str:
        assert self._server is not None
        host, port = self._server.sockets[0].getsockname()
        return f"{host}:{port}"

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)

    async def close(self) -> None:
        assert self._server is not None
        self._server.close()
        for link in self._links:
            link.cancel()
        await asyncio.gather(*self._links, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._links.add(task)
        task.add_done_callback(self._links.discard)
        client = _Side(reader, writer)
        host, port = self.target.split(":")
        try:
            broker = _Side(*await asyncio.open_connection(host, int(port)))
        except ConnectionError:  # the broker has stopped
            client.close(abort=True)
        else:
            await _Link(self.plan, client, broker).run()


@contextlib.contextmanager
def cutting_proxy() -> Iterator[CuttingProxy]:
    """Runs on an event loop in a thread of its own; it listens before it has a target."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="cutting-proxy")
    thread.start()
    proxy = CuttingProxy()
    try:
        asyncio.run_coroutine_threadsafe(proxy.open(), loop).result(CLOSE_S)
        yield proxy
        asyncio.run_coroutine_threadsafe(proxy.close(), loop).result(CLOSE_S)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(CLOSE_S)
        loop.close()
