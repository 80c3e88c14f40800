"""Standard input, line by line, while the event loop goes on."""

import asyncio
import os
from collections.abc import AsyncGenerator

from inkless.cli.payload import InputError

MAX_LINE_BYTES = 128 * 1024 * 1024

_CHUNK_BYTES = 16 * 1024  # small, so that what was read before gets its turn on the loop


async def read_lines(descriptor: int) -> AsyncGenerator[bytes, None]:
    """Each line without its end; the last one needs none."""
    begun: list[bytes] = []
    begun_bytes = 0
    while chunk := await _read(descriptor):
        *ended, rest = chunk.split(b"\n")
        for line in ended:
            yield b"".join((*begun, line)) if begun else line
            begun, begun_bytes = [], 0
        if rest:
            begun.append(rest)
            begun_bytes += len(rest)
        if begun_bytes > MAX_LINE_BYTES:
            raise InputError(f"a line is longer than {MAX_LINE_BYTES} bytes")
    if begun:
        yield b"".join(begun)


async def _read(descriptor: int) -> bytes:
    """What is there; a read of a terminal or pipe that is ready does not block."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    try:
        loop.add_reader(descriptor, ready.set)
    except PermissionError:  # a file on disk can't be waited for, nor need it be
        await asyncio.sleep(0)
        return os.read(descriptor, _CHUNK_BYTES)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)
    return os.read(descriptor, _CHUNK_BYTES)
