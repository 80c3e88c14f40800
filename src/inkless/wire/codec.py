"""Decode and encode functions per message class and version, compiled on first use and kept."""

from collections.abc import Callable
from typing import TypeVar, cast

from inkless.wire.decode_source import compile_decoder
from inkless.wire.encode_source import compile_encoder
from inkless.wire.shape import Buffer

M = TypeVar("M")

Decode = Callable[[memoryview, int], tuple[M, int]]
Encode = Callable[[M], list[Buffer]]

_decoders: dict[tuple[type, int], Decode[object]] = {}
_encoders: dict[tuple[type, int], Encode[object]] = {}


def decoder(cls: type[M], version: int) -> Decode[M]:
    """Reads a message from a byte view at a position; gives it and the position behind it.

    Whatever is malformed raises WireError. Records stay views of what was read. Of a tagged field sent twice the last
    one holds.
    """
    found = _decoders.get((cls, version))
    if found is None:
        found = _decoders[cls, version] = compile_decoder(cls, version)
    return cast("Decode[M]", found)


def encoder(cls: type[M], version: int) -> Encode[M]:
    """Gives a message as chunks to be sent one after the other; the first is never the caller's own records.

    A message without records is one chunk. Fields that the version lacks are left out.
    """
    found = _encoders.get((cls, version))
    if found is None:
        found = _encoders[cls, version] = cast("Encode[object]", compile_encoder(cls, version))
    return cast("Encode[M]", found)
