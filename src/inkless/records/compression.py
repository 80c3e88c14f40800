"""The codecs that a batch's records may be packed with; unpacking is bounded, because its input is hostile."""

import zlib
from collections.abc import Callable
from enum import IntEnum
from struct import Struct
from typing import Protocol

import cramjam
import lz4.frame
import zstandard

from inkless.core.errors import ErrorKind
from inkless.records.batch import BatchError, Buffer


class Compression(IntEnum):
    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


# Java's snappy stream: this header (magic, version, oldest compatible version), then blocks behind their length.
_XERIAL_MAGIC = b"\x82SNAPPY\0"
_XERIAL_HEAD = _XERIAL_MAGIC + b"\0\0\0\1\0\0\0\1"
_XERIAL_BLOCK_BYTES = 32 * 1024
_BLOCK_LENGTH = Struct(">i")

# Input goes in by windows so small that one window's output, at the format's highest ratio (1,032, 255 and about
# 32,768 to one), stays near 8 MiB: that is how far memory may pass the bound.
_GZIP_WINDOW = 8 * 1024
_LZ4_WINDOW = 8 * 1024  # lz4 doubles its buffer until a block fits, hence smaller
_ZSTD_WINDOW = 256

_GZIP_WBITS = 31


class _Stream(Protocol):
    """What the decoders of zlib, lz4 and zstandard have in common."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes | None: ...

    def decompress(self, data: Buffer, /) -> bytes: ...


def compress(codec: Compression, data: Buffer) -> bytes:
    match codec:
        case Compression.NONE:
            return bytes(data)
        case Compression.GZIP:
            packer = zlib.compressobj(wbits=_GZIP_WBITS)
            return packer.compress(data) + packer.flush()
        case Compression.SNAPPY:
            return _snap(memoryview(data))
        case Compression.LZ4:
            return bytes(lz4.frame.compress(data))
        case Compression.ZSTD:
            return zstandard.ZstdCompressor().compress(data)


def decompress(codec: Compression, data: Buffer, max_bytes: int) -> bytes:
    """The unpacked bytes, whole or not at all; more than `max_bytes` of them is an error."""
    view = memoryview(data)
    match codec:
        case Compression.NONE:
            return _bounded(bytes(view), max_bytes)
        case Compression.GZIP:
            return _unpack(_gunzipper, _GZIP_WINDOW, view, max_bytes)
        case Compression.SNAPPY:
            return _unsnap(view, max_bytes)
        case Compression.LZ4:
            return _unpack(lz4.frame.LZ4FrameDecompressor, _LZ4_WINDOW, view, max_bytes)
        case Compression.ZSTD:
            decoder = zstandard.ZstdDecompressor()
            return _unpack(lambda: decoder.decompressobj(write_size=_write_size(view)), _ZSTD_WINDOW, view, max_bytes)


def _gunzipper() -> _Stream:
    return zlib.decompressobj(wbits=_GZIP_WBITS)


def _write_size(view: memoryview) -> int:
    """The piece in which zstandard hands out bytes: it is allocated at every call, so small for small input."""
    return 16 * 1024 if len(view) < 1024 else 64 * 1024


def _unpack(new_stream: Callable[[], _Stream], window: int, view: memoryview, max_bytes: int) -> bytes:
    """Unpack one or several members (frames) that lie one behind the other."""
    pieces = []
    room = max_bytes
    position, end = 0, len(view)
    stream = new_stream()
    try:
        while position < end:
            if stream.eof:
                stream = new_stream()
            piece = stream.decompress(view[position : position + window])
            position = min(position + window, end)
            if stream.eof:
                position -= len(stream.unused_data or b"")
            if piece:
                room -= len(piece)
                if room < 0:
                    raise _too_large(max_bytes)
                pieces.append(piece)
    except (zlib.error, RuntimeError, EOFError, zstandard.ZstdError) as error:  # RuntimeError is lz4's
        raise _broken(str(error)) from error
    if not stream.eof:
        raise _broken("the compressed records end too early")
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _snap(view: memoryview) -> bytes:
    blocks: list[bytes] = [_XERIAL_HEAD]
    for start in range(0, len(view), _XERIAL_BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(view[start : start + _XERIAL_BLOCK_BYTES]))
        blocks += (_BLOCK_LENGTH.pack(len(block)), block)
    return b"".join(blocks)


def _unsnap(view: memoryview, max_bytes: int) -> bytes:
    """Both framings that producers use: Java's blocks, and one bare block (librdkafka's)."""
    if view[: len(_XERIAL_MAGIC)] != _XERIAL_MAGIC:
        return _unsnap_block(view, max_bytes, max_bytes)
    blocks = []
    room = max_bytes
    position, end = len(_XERIAL_HEAD), len(view)
    if end < position:
        raise _broken("the snappy header is cut off")
    while position < end:
        if end - position < _BLOCK_LENGTH.size:
            raise _broken("a snappy block's length is cut off")
        (length,) = _BLOCK_LENGTH.unpack_from(view, position)
        position += _BLOCK_LENGTH.size
        if not 0 < length <= end - position:
            raise _broken(f"a snappy block says {length} bytes, {end - position} are there")
        block = _unsnap_block(view[position : position + length], room, max_bytes)
        room -= len(block)
        blocks.append(block)
        position += length
    return b"".join(blocks)


def _unsnap_block(view: memoryview, room: int, max_bytes: int) -> bytes:
    try:
        if cramjam.snappy.decompress_raw_len(view) > room:
            raise _too_large(max_bytes)
        return bytes(cramjam.snappy.decompress_raw(view))
    except cramjam.DecompressionError as error:
        raise _broken(str(error)) from error


def _bounded(data: bytes, max_bytes: int) -> bytes:
    if len(data) > max_bytes:
        raise _too_large(max_bytes)
    return data


def _too_large(max_bytes: int) -> BatchError:
    return BatchError(ErrorKind.BATCH_TOO_LARGE, f"the records are larger than {max_bytes} bytes when unpacked")


def _broken(reason: str) -> BatchError:
    return BatchError(ErrorKind.CORRUPT_BATCH, f"compressed records are broken: {reason}")
