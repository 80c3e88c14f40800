"""A connection without a socket: bytes are pushed into the protocol, and what it writes is kept."""

import asyncio
from collections.abc import Sequence
from typing import Any

from inkless.broker.budget import Budget
from inkless.broker.connection import Connection, Limits
from inkless.broker.intake import SCRATCH_BYTES
from inkless.broker.registry import Registry
from inkless.broker.router import Router


class FakeTransport(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.written = bytearray()
        self.writes = 0
        self.reading = True
        self.closed = False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("192.0.2.1", 1234) if name == "peername" else default

    def writelines(self, list_of_data: Any) -> None:
        self.writes += 1
        for data in list_of_data:
            self.written += data

    def pause_reading(self) -> None:
        assert self.reading
        self.reading = False

    def resume_reading(self) -> None:
        assert not self.reading
        self.reading = True

    def get_write_buffer_size(self) -> int:
        return 0

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True

    def frames(self) -> list[bytes]:
        """The answers written so far, whole ones only, without their sizes."""
        found, position = [], 0
        while position < len(self.written):
            size = int.from_bytes(self.written[position : position + 4])
            found.append(bytes(self.written[position + 4 : position + 4 + size]))
            position += 4 + size
        return found

    def correlation_ids(self) -> list[int]:
        return [int.from_bytes(frame[:4]) for frame in self.frames()]


class Wire:
    """A protocol on a fake transport, with the means to feed it in pieces."""

    def __init__(
        self,
        router: Router,
        services: Any = None,
        frame_bytes: int = 1 << 20,
        connection_bytes: int = 1 << 20,
        request_bytes: int = 1 << 22,
    ) -> None:
        self.transport = FakeTransport()
        self.budget = Budget(request_bytes)
        self.registry = Registry(10, self.budget)
        self.scratch = memoryview(bytearray(SCRATCH_BYTES))
        self.protocol = Connection(
            services,
            router,
            Limits(frame_bytes, connection_bytes),
            self.budget,
            "PLAINTEXT",
            self.scratch,
            self.registry,
        )
        self.protocol.connection_made(self.transport)

    def feed(self, data: bytes) -> int:
        """As much as the protocol reads; how much that was."""
        position = 0
        while position < len(data) and self.transport.reading and not self.transport.closed:
            buffer = self.protocol.get_buffer(-1)
            piece = data[position : position + len(buffer)]
            buffer[: len(piece)] = piece
            if buffer.obj is not self.scratch.obj:
                buffer.release()  # as the loop does before it tells: the buffer may have to grow
            self.protocol.buffer_updated(len(piece))
            position += len(piece)
        return position


async def turns(count: int = 3) -> None:
    """Let the loop turn a few times."""
    for _ in range(count):
        await asyncio.sleep(0)


def frame(chunks: Sequence[Any]) -> bytes:
    return b"".join(bytes(chunk) for chunk in chunks)
