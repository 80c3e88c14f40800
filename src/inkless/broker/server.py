"""The server: listening sockets, the watch over idle connections, and the order of shutting down."""

import asyncio
import logging
import socket
from collections.abc import Sequence

from inkless.broker.budget import Budget
from inkless.broker.connection import Connection, Limits
from inkless.broker.intake import SCRATCH_BYTES
from inkless.broker.registry import Registry
from inkless.broker.router import Router
from inkless.broker.services import Services
from inkless.core.clock import Clock
from inkless.core.errors import SettingError
from inkless.core.tasks import TaskSet
from inkless.settings.listeners import Listener

log = logging.getLogger(__name__)

BACKLOG = 1024
WATCH_INTERVAL_S = 2.0
STALLED_S = 60.0
STALLED_IN_THE_WAY_S = 5.0
LAST_WORDS_S = 0.1


def bind(listeners: Sequence[Listener]) -> list[socket.socket]:
    """Take the addresses without accepting yet, so that a port in use is told before anything else is done."""
    taken: list[socket.socket] = []
    for listener in listeners:
        family = socket.AF_INET6 if ":" in listener.host else socket.AF_INET
        sock = socket.socket(family, socket.SOCK_STREAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((listener.host, listener.port))
        except OSError as error:
            for other in [*taken, sock]:
                other.close()
            raise SettingError(f"can't listen on {listener}: {error.strerror or error}") from error
        taken.append(sock)
    return taken


def bound(listeners: Sequence[Listener], sockets: Sequence[socket.socket]) -> tuple[Listener, ...]:
    """The listeners with the ports that they got."""
    pairs = zip(listeners, sockets, strict=True)
    return tuple(Listener(listener.name, listener.host, sock.getsockname()[1]) for listener, sock in pairs)


class Server:
    """Owns the sockets of one broker."""

    def __init__(
        self,
        services: Services,
        router: Router,
        limits: Limits,
        *,
        max_connections: int,
        request_bytes: int,
        idle_s: float,
        clock: Clock,
    ) -> None:
        self._services = services
        self._router = router
        self._limits = limits
        self._idle_s = idle_s
        self._clock = clock
        self._budget = Budget(request_bytes)
        self.registry = Registry(max_connections, self._budget)
        self._scratch = memoryview(bytearray(SCRATCH_BYTES))
        self._servers: list[asyncio.Server] = []
        self._tasks = TaskSet()

    async def start(self, listeners: Sequence[Listener], sockets: Sequence[socket.socket]) -> None:
        loop = asyncio.get_running_loop()
        for listener, sock in zip(listeners, sockets, strict=True):

            def connect(name: str = listener.name) -> Connection:
                return Connection(
                    self._services, self._router, self._limits, self._budget, name, self._scratch, self.registry
                )

            self._servers.append(await loop.create_server(connect, sock=sock, backlog=BACKLOG))
        self._tasks.spawn(self._watch(), "idle connections")

    async def _watch(self) -> None:
        """Close connections that have been idle for too long, or stopped in the middle of a frame."""
        loop = asyncio.get_running_loop()
        while True:
            await self._clock.sleep(min(WATCH_INTERVAL_S, self._idle_s))
            now_s = loop.time()
            patience_s = STALLED_IN_THE_WAY_S if self._budget.has_line else min(STALLED_S, self._idle_s)
            for member in self.registry:
                member.note_progress()
                quiet_s = now_s - member.last_active_s
                if member.is_ending and quiet_s > STALLED_IN_THE_WAY_S:
                    member.abort()
                elif member.is_stalled and quiet_s > patience_s:
                    log.warning("closing the connection of %s: it neither sends nor reads what it began", member.peer)
                    member.abort()
                elif member.is_idle and quiet_s > self._idle_s:
                    log.info("closing the connection of %s: idle for %d s", member.peer, quiet_s)
                    member.abort()

    def stop_accepting(self) -> None:
        for server in self._servers:
            server.close()
        self.registry.stop_reading()

    async def close(self) -> None:
        for server in self._servers:
            server.close()
        await self._tasks.cancel()
        for member in self.registry:
            member.end()
        if len(self.registry):
            await self._clock.sleep(LAST_WORDS_S)
        for member in self.registry:
            member.abort()
        for server in self._servers:
            await server.wait_closed()
