"""From bytes to frames: small ones out of a buffer that all connections share, large ones straight into their own.

What is read is charged to the budget as it arrives, never as it is announced.
"""

from typing import Protocol

from inkless.broker.budget import Budget, Claim

SIZE_BYTES = 4
SCRATCH_BYTES = 64 * 1024
LARGE_FROM_BYTES = 32 * 1024
FIRST_STEP_BYTES = 1024 * 1024
PLAIN_FRAME_BYTES = 2 * 1024 * 1024
PRODUCE_KEY = b"\x00\x00"


class Owner(Protocol):
    """The connection that an intake reads for."""

    def may_take(self) -> bool:
        """Whether the limits allow one more request."""
        ...

    def take_frame(self, frame: memoryview, claim: Claim | None) -> bool:
        """Work on a frame, whose bytes are charged already; False where the connection is at its end."""
        ...

    def refuse(self, reason: str) -> None: ...

    def may_read_on(self) -> None:
        """The budget has granted what a large frame waited for."""
        ...


class _LargeFrame:
    """A frame with a buffer of its own, which grows as its bytes arrive and the budget grants them."""

    __slots__ = ("buffer", "claim", "filled", "head", "size")

    def __init__(self, size: int, head: bytes, claim: Claim) -> None:
        self.size = size
        self.head = head
        self.claim = claim
        self.filled = 0
        self.buffer = bytearray()

    @property
    def next_step(self) -> int:
        """How much the buffer grows next: it doubles, from a mebibyte on."""
        return min(self.size - len(self.buffer), max(len(self.buffer), FIRST_STEP_BYTES))

    @property
    def has_room(self) -> bool:
        return self.filled < len(self.buffer)

    def grow(self) -> None:
        step = self.next_step
        if self.buffer:
            self.buffer = self.buffer + bytes(step)
            return
        self.buffer = bytearray(step)
        self.buffer[: len(self.head)] = self.head
        self.filled = len(self.head)
        self.head = b""


class Intake:
    """What a connection has read and not yet taken."""

    def __init__(self, owner: Owner, budget: Budget, frame_bytes: int, scratch: memoryview) -> None:
        self._owner = owner
        self._budget = budget
        self._frame_bytes = frame_bytes
        self._scratch = scratch
        self._pending = b""
        self._large: _LargeFrame | None = None

    @property
    def is_mid_frame(self) -> bool:
        return self._large is not None or bool(self._pending)

    @property
    def is_in_large_frame(self) -> bool:
        return self._large is not None

    @property
    def has_room(self) -> bool:
        """Whether the large frame that is being read has room for more bytes."""
        return self._large is not None and self._large.has_room

    def buffer(self) -> memoryview:
        """Where the next bytes go."""
        if self._large is not None:
            return memoryview(self._large.buffer)[self._large.filled :]
        return self._scratch

    def read(self, count: int) -> None:
        """So many bytes were put into the buffer."""
        large = self._large
        if large is not None:
            large.filled += count
            if large.filled == large.size:
                self._large = None
                self._owner.take_frame(memoryview(large.buffer), large.claim)
            elif not large.has_room and large.claim.ask(large.next_step):
                large.grow()
            return
        # The next read of any connection overwrites the shared buffer, so its bytes are copied out of it.
        fresh = self._scratch[:count]
        self._pending = b"".join((self._pending, fresh)) if self._pending else bytes(fresh)
        self.take_frames()

    def take_frames(self) -> None:
        """Take every whole frame out of what was read, as long as the limits allow."""
        data, position, end = self._pending, 0, len(self._pending)
        view = memoryview(data)
        while end - position >= SIZE_BYTES and self._large is None and self._owner.may_take():
            size = int.from_bytes(data[position : position + SIZE_BYTES], "big", signed=True)
            start = position + SIZE_BYTES
            if (problem := self._problem_with(size, data[start : start + 2])) is not None:
                self._owner.refuse(problem)
                return
            if size <= end - start:
                position = start + size
                if not self._owner.take_frame(view[start:position], self._charge(size)):
                    return
            elif size > SCRATCH_BYTES and end - start >= LARGE_FROM_BYTES:
                self._begin_large_frame(size, data[start:])
                position = end
            else:
                break
        self._pending = data[position:] if position else data

    def _problem_with(self, size: int, key: bytes) -> str | None:
        if not 0 < size <= self._frame_bytes:
            return f"a frame of {size} bytes; at most {self._frame_bytes} are allowed"
        if size > PLAIN_FRAME_BYTES and len(key) == len(PRODUCE_KEY) and key != PRODUCE_KEY:
            return f"a frame of {size} bytes without records; at most {PLAIN_FRAME_BYTES} are allowed"
        return None

    def _charge(self, size: int) -> Claim | None:
        """Count a frame that was read as a whole."""
        if size <= SCRATCH_BYTES:
            self._budget.add_small(size)
            return None
        claim = Claim(self._budget, self._granted)
        claim.take(size)
        return claim

    def _begin_large_frame(self, size: int, head: bytes) -> None:
        large = self._large = _LargeFrame(size, head, Claim(self._budget, self._granted))
        if large.claim.ask(large.next_step):
            large.grow()

    def _granted(self) -> None:
        assert self._large is not None
        self._large.grow()
        self._owner.may_read_on()

    def drop(self) -> None:
        """The connection is gone, and so is what it had sent by half."""
        self._pending = b""
        large, self._large = self._large, None
        if large is not None:
            large.claim.release()
