"""One client connection: frames in, an ordered reply slot for each, buffers out.

Small frames are read into a buffer that all connections share and copied out of it; a large one is read straight
into its own. Back-pressure is by not reading.
"""

import asyncio
import logging
from collections import deque
from typing import Any, cast

from inkless.broker.budget import Budget
from inkless.broker.registry import Registry
from inkless.broker.router import Call, Routed, Router
from inkless.broker.services import Services
from inkless.broker.turns import Turn
from inkless.core.errors import InklessError
from inkless.wire.api import ApiKey
from inkless.wire.errors import WireError
from inkless.wire.frames import encode_response
from inkless.wire.shape import Buffer

log = logging.getLogger(__name__)

SIZE_BYTES = 4
SCRATCH_BYTES = 64 * 1024
MAX_REQUESTS_IN_FLIGHT = 1000


class Limits:
    """What a connection may cost."""

    __slots__ = ("connection_bytes", "frame_bytes")

    def __init__(self, frame_bytes: int, connection_bytes: int) -> None:
        self.frame_bytes = frame_bytes
        self.connection_bytes = connection_bytes


class _Slot:
    """The place of an answer in the order of the requests."""

    __slots__ = ("answer", "frame_bytes")

    def __init__(self, frame_bytes: int) -> None:
        self.frame_bytes = frame_bytes
        self.answer: list[Buffer] | None = None


class Connection(asyncio.BufferedProtocol):
    """Parses frames, runs each request as a task, and writes the answers in order."""

    def __init__(
        self,
        services: Services,
        router: Router,
        limits: Limits,
        budget: Budget,
        listener: str,
        scratch: memoryview,
        registry: Registry,
    ) -> None:
        self._services = services
        self._router = router
        self._limits = limits
        self._budget = budget
        self._listener = listener
        self._scratch = scratch
        self._registry = registry
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self.peer = "?"
        self.last_active_s = self._loop.time()
        self._pending = b""
        self._frame: bytearray | None = None
        self._frame_filled = 0
        self._slots: deque[_Slot] = deque()
        self._bytes_in_flight = 0
        self._turns: dict[int, Turn] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._fetches: set[asyncio.Task[None]] = set()
        self._waiting_for_budget = False
        self._writable = True
        self._reading = True
        self._eof = False
        self._ended = False

    # The transport's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is no subclass of it
        name = self._transport.get_extra_info("peername")
        self.peer = f"{name[0]}:{name[1]}" if name else "?"
        if not self._registry.admit(self):
            self._ended = True
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended = True
        self._registry.leave(self)
        if self._waiting_for_budget:
            self._waiting_for_budget = False
            self._budget.withdraw(self._budget_granted)
        elif self._frame is not None:
            self._budget.give_back(len(self._frame))
        self._frame = None
        self._pending = b""
        for fetch in self._fetches:
            fetch.cancel()  # what was produced is written all the same, and so is what an admin client asked for
        self._budget.give_back(self._bytes_in_flight)
        self._bytes_in_flight = 0

    def pause_writing(self) -> None:
        self._writable = False
        self._steer_reading()

    def resume_writing(self) -> None:
        self._writable = True
        self._go_on()

    def eof_received(self) -> bool:
        """A client that has sent all it wants may still wait for its answers."""
        self._eof = True
        return bool(self._slots)

    # Reading

    def get_buffer(self, sizehint: int) -> memoryview:
        if self._frame is not None and not self._waiting_for_budget:
            return memoryview(self._frame)[self._frame_filled :]
        return self._scratch

    def buffer_updated(self, nbytes: int) -> None:
        self.last_active_s = self._loop.time()
        if self._ended:
            return
        if self._frame is not None and not self._waiting_for_budget:
            self._frame_filled += nbytes
            if self._frame_filled == len(self._frame):
                frame, self._frame = self._frame, None
                self._take_frame(memoryview(frame))
                self._steer_reading()
            return
        # Whatever is not taken out of the shared buffer now is copied: the next read of any connection overwrites it.
        self._pending = self._pending + self._scratch[:nbytes] if self._pending else bytes(self._scratch[:nbytes])
        self._parse()
        self._steer_reading()

    def _parse(self) -> None:
        """Take every whole frame out of what was read, as long as the limits allow."""
        data, position, end = self._pending, 0, len(self._pending)
        view = memoryview(data)
        while end - position >= SIZE_BYTES and self._may_take():
            size = int.from_bytes(data[position : position + SIZE_BYTES], "big", signed=True)
            if not 0 < size <= self._limits.frame_bytes:
                self._refuse(f"a frame of {size} bytes; at most {self._limits.frame_bytes} are allowed")
                return
            start = position + SIZE_BYTES
            if size <= end - start:
                self._budget.force(size)
                self._take_frame(view[start : start + size])
                position = start + size
                if self._ended:
                    return
                continue
            if size <= SCRATCH_BYTES:
                break
            self._begin_large_frame(size, view[start:end])
            position = end
            break
        self._pending = data[position:] if position else data

    def _begin_large_frame(self, size: int, head: memoryview) -> None:
        """Its bytes go straight into a buffer of their own, once the budget has room for them."""
        self._frame = bytearray(size)
        self._frame[: len(head)] = head
        self._frame_filled = len(head)
        self._waiting_for_budget = not self._budget.take(size, self._budget_granted)

    def _budget_granted(self) -> None:
        self._waiting_for_budget = False
        self._go_on()

    def _may_take(self) -> bool:
        return (
            self._writable
            and self._frame is None
            and len(self._slots) < MAX_REQUESTS_IN_FLIGHT
            and self._bytes_in_flight < self._limits.connection_bytes
            and not self._budget.is_full
        )

    def _go_on(self) -> None:
        """Something has room again: take frames that were read already, then read on."""
        if self._ended:
            return
        if self._pending:
            self._parse()
        self._steer_reading()

    def _steer_reading(self) -> None:
        if self._transport is None or self._ended:
            return
        wanted = not self._waiting_for_budget and (self._frame is not None or self._may_take())
        if wanted and not self._reading:
            self._transport.resume_reading()
        elif not wanted and self._reading:
            self._transport.pause_reading()
            if self._budget.is_full:
                self._registry.wait_for_budget(self)
        self._reading = wanted

    def budget_has_room(self) -> None:
        self._go_on()

    # Requests

    def _take_frame(self, frame: memoryview) -> None:
        """Its bytes are in the budget already; they go back when its answer is written."""
        size = len(frame)
        self._bytes_in_flight += size
        try:
            routed = self._router.route(frame)
        except WireError as error:
            self._refuse(str(error))
            return
        turn = self._next_turn(routed)
        slot = _Slot(size)
        self._slots.append(slot)
        task = self._loop.create_task(self._run(slot, routed, turn))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if routed.header.api_key == ApiKey.FETCH:
            self._fetches.add(task)
            task.add_done_callback(self._fetches.discard)

    def _next_turn(self, routed: Routed) -> Turn:
        if not routed.route.ordered:
            return _FREE
        key = routed.header.api_key
        turn = self._turns[key] = Turn(self._turns.get(key))
        return turn

    async def _run(self, slot: _Slot, routed: Routed, turn: Turn) -> None:
        header, route, request, version = routed
        call = Call(version, header.client_id, self._listener, self.peer, turn)
        try:
            answer: Any = await route.handler(self._services, request, call)
            slot.answer = [] if answer is None else encode_response(header.correlation_id, answer, version, route.api)
        except InklessError as error:
            self._refuse(f"{route.api.name}: {error}")
            return
        except Exception:  # a mistake of ours must cost this connection and nothing else
            log.exception("%s: %s version %d failed", self.peer, route.api.name, version)
            self._refuse(f"{route.api.name} failed")
            return
        self._write_ready()

    def _write_ready(self) -> None:
        """Write every answer whose turn has come."""
        if self._ended or self._transport is None:
            return
        out: list[Buffer] = []
        freed = 0
        while self._slots and self._slots[0].answer is not None:
            slot = self._slots.popleft()
            out += slot.answer or ()
            freed += slot.frame_bytes
        if out:
            self._transport.writelines(out)
        if freed:
            self._bytes_in_flight -= freed
            self._budget.give_back(freed)
            self._registry.room_in_budget()
            if not self._reading:
                self._go_on()
        if not self._slots:
            self._registry.answered()
            if self._eof:
                self.end()

    def _refuse(self, reason: str) -> None:
        """Close this connection, with one line in the log."""
        if not self._ended:
            log.warning("closing the connection of %s: %s", self.peer, reason)
            self.end()

    # The server's side

    @property
    def is_idle(self) -> bool:
        return not self._slots

    @property
    def is_mid_frame(self) -> bool:
        return self._reading and (self._frame is not None or bool(self._pending))

    def stop_reading(self) -> None:
        """The broker drains: answer what was taken, take no more."""
        if self._transport is not None and self._reading and not self._ended:
            self._transport.pause_reading()
            self._reading = False
        self._writable = False

    def end(self) -> None:
        """Close at once, as soon as what was written has been sent."""
        self._ended = True
        if self._transport is not None:
            self._transport.close()


_FREE = Turn(None)
