"""A Kafka client made by hand, byte for byte, so that it can send what no honest client would.

Nothing here comes from the broker's own codec: the frames are written out with `struct` from Kafka's protocol guide.
"""

import socket
import struct
from collections.abc import Sequence

import crc32c

API_PRODUCE = 0
API_FETCH = 1
API_VERSIONS = 18
PRODUCE_VERSION = 7
FETCH_VERSION = 4
NO_PRODUCER = (-1, -1, -1)


def string(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def frame(api_key: int, version: int, correlation_id: int, body: bytes) -> bytes:
    """A request with header version 1, the four bytes of its size before it."""
    header = struct.pack(">hhi", api_key, version, correlation_id) + string("raw")
    return struct.pack(">i", len(header) + len(body)) + header + body


def api_versions(correlation_id: int = 1, version: int = 0) -> bytes:
    return frame(API_VERSIONS, version, correlation_id, b"")


def varint(number: int) -> bytes:
    zigzag = (number << 1) ^ (number >> 63)
    out = bytearray()
    while zigzag > 0x7F:
        out.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    out.append(zigzag)
    return bytes(out)


def batch(values: Sequence[bytes], producer: tuple[int, int, int] = NO_PRODUCER, timestamp_ms: int = 1) -> bytes:
    """A record batch; `producer` is id, epoch and base sequence."""
    records = b""
    for at, value in enumerate(values):
        record = b"\0" + varint(0) + varint(at) + varint(-1) + varint(len(value)) + value + varint(0)
        records += varint(len(record)) + record
    last = len(values) - 1
    tail = struct.pack(">hiqqqhii", 0, last, timestamp_ms, timestamp_ms, *producer, len(values)) + records
    crc = crc32c.crc32c(tail)
    return struct.pack(">qiibI", 0, len(tail) + 9, 0, 2, crc) + tail


def produce(
    topic: str,
    batches: Sequence[tuple[int, bytes]],
    correlation_id: int = 1,
    acks: int = -1,
    timeout_ms: int = 30_000,
) -> bytes:
    """Batches of one topic, each with its partition."""
    body = struct.pack(">hhii", -1, acks, timeout_ms, 1) + string(topic) + struct.pack(">i", len(batches))
    for partition, data in batches:
        body += struct.pack(">ii", partition, len(data)) + data
    return frame(API_PRODUCE, PRODUCE_VERSION, correlation_id, body)


def fetch(
    topic: str, partition: int, offset: int, max_bytes: int, correlation_id: int = 1, wait_ms: int = 0
) -> bytes:
    body = struct.pack(">iiiib", -1, wait_ms, 1, max_bytes, 0) + struct.pack(">i", 1) + string(topic)
    body += struct.pack(">iiqi", 1, partition, offset, max_bytes)
    return frame(API_FETCH, FETCH_VERSION, correlation_id, body)


def fetched(answer: bytes) -> tuple[int, int, int]:
    """Error code, high watermark and size of the records of a fetch answer of one partition (version 4)."""
    (name_length,) = struct.unpack_from(">h", answer, 12)
    position = 14 + name_length + 8
    error, high_watermark, _, aborted = struct.unpack_from(">hqqi", answer, position)
    (size,) = struct.unpack_from(">i", answer, position + 22 + 16 * max(aborted, 0))
    return error, high_watermark, max(size, 0)


def produced(answer: bytes) -> list[tuple[int, int, int]]:
    """Partition, error code and base offset of each batch of a produce answer of one topic (version 7)."""
    (name_length,) = struct.unpack_from(">h", answer, 8)
    position = 10 + name_length
    (count,) = struct.unpack_from(">i", answer, position)
    row = struct.Struct(">ihqqq")
    return [row.unpack_from(answer, position + 4 + at * row.size)[:3] for at in range(count)]


class RawClient:
    """One connection."""

    def __init__(self, port: int, timeout_s: float = 20.0, receive_bytes: int | None = None) -> None:
        self._socket = socket.socket()
        self._socket.settimeout(timeout_s)
        if receive_bytes is not None:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self._socket.connect(("127.0.0.1", port))
        self.name = "{}:{}".format(*self._socket.getsockname())
        self.port = int(self._socket.getsockname()[1])

    def __enter__(self) -> "RawClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def end_sending(self) -> None:
        self._socket.shutdown(socket.SHUT_WR)

    def settimeout(self, seconds: float) -> None:
        self._socket.settimeout(seconds)

    def answer(self) -> bytes:
        """The next answer without its size: correlation id and body."""
        (size,) = struct.unpack(">i", self._exactly(4))
        return self._exactly(size)

    def ask(self, request: bytes) -> bytes:
        self.send(request)
        return self.answer()

    def is_closed_by_broker(self) -> bool:
        """Reads what is left; True when the other side has closed. TimeoutError where it does not."""
        try:
            while self._socket.recv(65_536):
                pass
        except ConnectionResetError:
            pass
        return True

    def fileno(self) -> int:
        return self._socket.fileno()

    def _exactly(self, size: int) -> bytes:
        out = bytearray()
        while len(out) < size:
            piece = self._socket.recv(min(size - len(out), 1 << 20))
            if not piece:
                raise ConnectionError(f"closed by the broker after {len(out)} of {size} bytes")
            out += piece
        return bytes(out)
