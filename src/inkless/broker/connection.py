"""One client connection: frames in, an ordered reply slot for each, buffers out.

Back-pressure is by not reading. Answers that become ready in one turn of the loop are written together.
"""

import asyncio
import logging
from collections import deque
from typing import Any, cast

from inkless.broker.budget import Budget, Claim
from inkless.broker.intake import Intake
from inkless.broker.registry import Registry
from inkless.broker.router import CLOSE, Call, Routed, Router
from inkless.broker.services import Services
from inkless.broker.turns import Turn
from inkless.core.errors import InklessError
from inkless.wire.errors import WireError
from inkless.wire.frames import encode_response
from inkless.wire.shape import Buffer

log = logging.getLogger(__name__)

MAX_QUEUED_ALONE = 8
MAX_REQUESTS_IN_FLIGHT = 1000


class Limits:
    """What a connection may cost."""

    __slots__ = ("connection_bytes", "frame_bytes")

    def __init__(self, frame_bytes: int, connection_bytes: int) -> None:
        self.frame_bytes = frame_bytes
        self.connection_bytes = connection_bytes


class _Slot:
    """The place of an answer in the order of the requests.

    `claim` is what a large frame holds of the budget; `turn`, if any, is passed on when the answer was written.
    """

    __slots__ = ("answer", "claim", "frame_bytes", "is_charged", "turn")

    def __init__(self, frame_bytes: int, claim: Claim | None) -> None:
        self.frame_bytes = frame_bytes
        self.claim = claim
        self.is_charged = True
        self.turn: Turn | None = None
        self.answer: list[Buffer] | None = None


class Connection(asyncio.BufferedProtocol):
    """Runs each request, as a task where it must wait, and writes the answers in order."""

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
        self._registry = registry
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self.peer = "?"
        self.last_active_s = self._loop.time()
        self._intake = Intake(self, budget, limits.frame_bytes, scratch)
        self._slots: deque[_Slot] = deque()
        self._bytes_in_flight = 0
        self._turns: dict[int, Turn] = {}
        self._held_turns: list[Turn] = []
        self._queued_alone = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._abandonable: set[asyncio.Task[None]] = set()
        self._writable = True
        self._reading = True
        self._starved = False
        self._flush_soon = False
        self._backlog = 0
        self._draining = False
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
        if not self._ended and self._intake.is_mid_frame:
            log.warning("the connection of %s ended in the middle of a frame", self.peer)
        self._ended = True
        self._intake.drop()
        for task in self._abandonable:
            task.cancel()
        for slot in self._slots:
            if slot.answer is not None:
                self._uncharge(slot)  # the others are still in the writer's hands: see `_answer`
        self._slots.clear()
        self._registry.leave(self)

    def pause_writing(self) -> None:
        self._writable = False
        self._steer_reading()

    def resume_writing(self) -> None:
        self._writable = True
        self.last_active_s = self._loop.time()
        self._pass_turns_on()
        self._go_on()

    def eof_received(self) -> bool:
        """A client that has sent all it wants may still wait for its answers."""
        self._eof = True
        return bool(self._slots)

    # Reading

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._intake.buffer()

    def buffer_updated(self, nbytes: int) -> None:
        self.last_active_s = self._loop.time()
        if not self._ended:
            self._intake.read(nbytes)
            self._steer_reading()

    def may_read_on(self) -> None:
        self.last_active_s = self._loop.time()
        self._steer_reading()

    def may_take(self) -> bool:
        return (
            self._writable
            and not self._draining
            and len(self._slots) < MAX_REQUESTS_IN_FLIGHT
            and self._queued_alone < MAX_QUEUED_ALONE
            and self._bytes_in_flight < self._limits.connection_bytes
            and not self._budget.is_full
        )

    def _go_on(self) -> None:
        """Something has room again: take frames that were read already, then read on."""
        if self._ended:
            return
        self._intake.take_frames()
        self._steer_reading()

    def _steer_reading(self) -> None:
        if self._transport is None or self._ended:
            return
        intake = self._intake
        wanted = intake.has_room and not self._draining if intake.is_in_large_frame else self.may_take()
        if wanted and not self._reading:
            self._transport.resume_reading()
        elif not wanted and self._reading:
            self._transport.pause_reading()
        self._reading = wanted
        if not wanted and not intake.is_in_large_frame and self._budget.is_full and not self._starved:
            self._starved = True
            self._registry.wait_for_budget(self)

    def budget_has_room(self) -> None:
        self._starved = False
        self._go_on()

    # Requests

    def take_frame(self, frame: memoryview, claim: Claim | None) -> bool:
        """Its bytes are in the budget already; they go back when its answer is written."""
        slot = _Slot(len(frame), claim)
        self._bytes_in_flight += slot.frame_bytes
        self._slots.append(slot)
        try:
            routed = self._router.route(frame)
        except WireError as error:
            self._uncharge(slot)
            self.refuse(str(error))
            return False
        if not routed.route.keeps_frame:
            self._uncharge(slot)
        call = Call(routed.version, routed.header.client_id, self._listener, self.peer, self._next_turn(routed))
        if not self._begin(slot, routed, call):
            self._spawn(slot, routed, call)
        return not self._ended

    def _begin(self, slot: _Slot, routed: Routed, call: Call) -> bool:
        """Take the way without a task, where the route has one and the request need not wait."""
        begin = routed.route.begin
        if begin is None:
            return False

        def done(answer: Any) -> None:
            try:
                self._answer(slot, routed, answer)
            except Exception:  # noqa: BLE001 - others' answers come behind this one
                self._uncharge(slot)
                self._blame_us(routed)

        return begin(self._services, routed.request, call, done)

    def _spawn(self, slot: _Slot, routed: Routed, call: Call) -> None:
        route = routed.route
        if route.one_at_a_time:
            slot.turn = call.turn
            self._queued_alone += 1
        task = self._loop.create_task(self._run(slot, routed, call))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if route.abandonable:
            self._abandonable.add(task)
            task.add_done_callback(self._abandonable.discard)

    def _next_turn(self, routed: Routed) -> Turn:
        if not (routed.route.ordered or routed.route.one_at_a_time):
            return _FREE
        key = routed.header.api_key
        turn = self._turns[key] = Turn(self._turns.get(key))
        return turn

    async def _run(self, slot: _Slot, routed: Routed, call: Call) -> None:
        _, route, request, _ = routed
        try:
            if route.one_at_a_time:
                await call.turn.reached()
            self._answer(slot, routed, await route.handler(self._services, request, call))
        except InklessError as error:
            self._uncharge(slot)
            self.refuse(f"{route.api.name}: {error}")
        except Exception:  # noqa: BLE001 - a mistake of ours must cost this connection and nothing else
            self._uncharge(slot)
            self._blame_us(routed)

    def _blame_us(self, routed: Routed) -> None:
        log.exception("%s: %s version %d failed", self.peer, routed.route.api.name, routed.version)
        self.refuse(f"{routed.route.api.name} failed")

    def _answer(self, slot: _Slot, routed: Routed, answer: Any) -> None:
        """Put an answer into its slot; all that are ready in this turn of the loop are written at its end."""
        if self._ended:
            self._uncharge(slot)
            self._registry.room_in_budget()
            return
        header, route, _, version = routed
        if answer is CLOSE:
            self._uncharge(slot)
            self.refuse(f"{route.api.name} failed, and its client waits for no answer")
            return
        slot.answer = [] if answer is None else encode_response(header.correlation_id, answer, version, route.api)
        if not self._flush_soon:
            self._flush_soon = True
            self._loop.call_soon(self._write_ready)

    def _write_ready(self) -> None:
        """Write every answer whose turn has come."""
        self._flush_soon = False
        if self._ended or self._transport is None:
            return
        out: list[Buffer] = []
        freed = False
        while self._slots and self._slots[0].answer is not None:
            slot = self._slots.popleft()
            out += slot.answer or ()
            self._give_back(slot)
            freed = True
        if out:
            self._transport.writelines(out)
        if freed:
            self._pass_turns_on()
            self._registry.room_in_budget()
            if not self._reading:
                self._go_on()
        if not self._slots:
            self._registry.answered()
            if self._eof:
                self.end()

    def _give_back(self, slot: _Slot) -> None:
        self._bytes_in_flight -= slot.frame_bytes
        self._uncharge(slot)
        if slot.turn is not None:
            self._held_turns.append(slot.turn)
            self._queued_alone -= 1

    def _uncharge(self, slot: _Slot) -> None:
        """Give a frame's bytes back to the budget, once."""
        if slot.is_charged:
            slot.is_charged = False
            if slot.claim is None:
                self._budget.remove_small(slot.frame_bytes)
            else:
                slot.claim.release()

    def _pass_turns_on(self) -> None:
        """The next request that runs alone may start, unless the client does not read what it was sent."""
        if self._writable and self._held_turns:
            for turn in self._held_turns:
                turn.pass_on()
            self._held_turns.clear()

    def refuse(self, reason: str) -> None:
        """Close this connection, with one line in the log."""
        if not self._ended:
            log.warning("closing the connection of %s: %s", self.peer, reason)
            self.end()

    # The server's side

    @property
    def is_idle(self) -> bool:
        return not self._slots

    @property
    def is_stalled(self) -> bool:
        """Whether it is the client's turn: to send the rest of a frame, or to read its answers."""
        return not self._writable or (self._reading and self._intake.is_mid_frame)

    def note_progress(self) -> None:
        """A client that reads slowly is active all the same."""
        backlog = 0 if self._transport is None else self._transport.get_write_buffer_size()
        if backlog != self._backlog:
            self._backlog = backlog
            self.last_active_s = self._loop.time()

    def stop_reading(self) -> None:
        """The broker drains: answer what was taken, take no more."""
        self._draining = True
        self._steer_reading()

    def end(self) -> None:
        """Close as soon as what was written has been sent."""
        self._ended = True
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Close now, whatever the client has not read."""
        self._ended = True
        if self._transport is not None:
            self._transport.abort()

    @property
    def is_ending(self) -> bool:
        return self._ended


_FREE = Turn(None)
