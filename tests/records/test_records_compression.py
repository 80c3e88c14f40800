"""Codecs: round trips, foreign framings, broken input, and bombs whose memory stays near the bound."""

import gzip
import tracemalloc
import zlib
from contextlib import suppress

import cramjam
import lz4.frame
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from inkless.core.errors import ErrorKind
from inkless.records.batch import BatchError
from inkless.records.compression import Compression, compress, decompress

CODECS = [codec for codec in Compression if codec is not Compression.NONE]
MIB = 1 << 20
ZEROS_MIB = 64


def zstd_stream(data: bytes) -> bytes:
    packer = zstandard.ZstdCompressor().compressobj()
    return packer.compress(data) + packer.flush()


def gzip_bomb() -> bytes:
    packer = zlib.compressobj(9, wbits=31)
    return b"".join([packer.compress(bytes(MIB)) for _ in range(ZEROS_MIB)]) + packer.flush()


def lz4_bomb() -> bytes:
    with lz4.frame.LZ4FrameCompressor(block_size=lz4.frame.BLOCKSIZE_MAX4MB) as packer:
        return packer.begin() + b"".join([packer.compress(bytes(MIB)) for _ in range(ZEROS_MIB)]) + packer.flush()


def zstd_bomb() -> bytes:
    packer = zstandard.ZstdCompressor(level=19).compressobj()
    return b"".join([packer.compress(bytes(MIB)) for _ in range(ZEROS_MIB)]) + packer.flush()


def snappy_block_bomb() -> bytes:
    return bytes(cramjam.snappy.compress_raw(bytes(64 * MIB)))


def snappy_framed_bomb() -> bytes:
    block = bytes(cramjam.snappy.compress_raw(bytes(MIB)))
    return compress(Compression.SNAPPY, b"") + (len(block).to_bytes(4, "big") + block) * ZEROS_MIB


def snappy_liar() -> bytes:
    """A block whose preamble says 4 GiB."""
    return b"\xff\xff\xff\xff\x0f" + bytes(100)


@given(st.sampled_from(list(Compression)), st.binary(max_size=2_000), st.integers(0, 60))
@settings(max_examples=150, deadline=None)
def test_what_goes_in_comes_out(codec: Compression, data: bytes, times: int) -> None:
    data *= times
    assert decompress(codec, compress(codec, data), len(data)) == data


@pytest.mark.parametrize("codec", list(Compression))
def test_the_bound_is_exact(codec: Compression) -> None:
    packed = compress(codec, b"ab" * 100_000)
    assert len(decompress(codec, packed, 200_000)) == 200_000
    with pytest.raises(BatchError) as caught:
        decompress(codec, packed, 199_999)
    assert caught.value.kind is ErrorKind.BATCH_TOO_LARGE


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_buffer_will_do(codec: Compression, kind) -> None:
    assert decompress(codec, kind(compress(codec, kind(b"records"))), 100) == b"records"


@pytest.mark.parametrize(
    ("codec", "packed"),
    [
        (Compression.SNAPPY, bytes(cramjam.snappy.compress_raw(b"records" * 9))),
        (Compression.ZSTD, zstd_stream(b"records" * 9)),
        (Compression.ZSTD, zstd_stream(b"records" * 4) + zstandard.compress(b"records" * 5)),
        (Compression.ZSTD, zstandard.ZstdCompressor(write_checksum=True).compress(b"records" * 9)),
        (Compression.GZIP, gzip.compress(b"records" * 4) + gzip.compress(b"records" * 5)),
        (Compression.LZ4, lz4.frame.compress(b"records" * 4) + lz4.frame.compress(b"records" * 5)),
        (Compression.LZ4, lz4.frame.compress(b"records" * 9, content_checksum=True, block_linked=False)),
    ],
    ids=["raw snappy", "stream", "two frames", "checksum", "two members", "two lz4 frames", "lz4 checksum"],
)
def test_what_other_producers_write(codec: Compression, packed: bytes) -> None:
    assert decompress(codec, packed, 63) == b"records" * 9
    with pytest.raises(BatchError):
        decompress(codec, packed, 62)


def test_snappy_is_written_as_java_does() -> None:
    packed = compress(Compression.SNAPPY, bytes(40_000))
    assert packed[:16] == b"\x82SNAPPY\x00" + bytes((0, 0, 0, 1, 0, 0, 0, 1))
    length = int.from_bytes(packed[16:20], "big")
    assert bytes(cramjam.snappy.decompress_raw(packed[20 : 20 + length])) == bytes(32 * 1024)


@pytest.mark.parametrize("codec", CODECS)
def test_input_cut_off_at_any_byte_is_an_error(codec: Compression) -> None:
    packed = compress(codec, b"some records, some records, and more of them" * 3)
    for end in range(len(packed)):
        if codec is Compression.SNAPPY and end == 16:
            continue  # a framed stream of no blocks is whole
        with pytest.raises(BatchError):
            decompress(codec, packed[:end], MIB)


@given(st.sampled_from(CODECS), st.binary(max_size=300), st.booleans())
@settings(max_examples=300, deadline=None)
def test_rubbish_raises_batch_errors_only(codec: Compression, rubbish: bytes, has_good_start: bool) -> None:
    packed = compress(codec, b"records")[:18] + rubbish if has_good_start else rubbish
    with suppress(BatchError):
        decompress(codec, packed, 1_000)


@pytest.mark.parametrize(
    ("codec", "bomb"),
    [
        (Compression.GZIP, gzip_bomb),
        (Compression.LZ4, lz4_bomb),
        (Compression.ZSTD, zstd_bomb),
        (Compression.SNAPPY, snappy_block_bomb),
        (Compression.SNAPPY, snappy_framed_bomb),
        (Compression.SNAPPY, snappy_liar),
    ],
)
def test_a_bomb_is_stopped_near_the_bound(codec: Compression, bomb) -> None:
    packed = bomb()
    tracemalloc.start()
    try:
        with pytest.raises(BatchError) as caught:
            decompress(codec, packed, MIB)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert caught.value.kind is ErrorKind.BATCH_TOO_LARGE
    assert peak < 24 * MIB
