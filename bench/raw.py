"""Load from prebuilt frames over plain sockets: next to no work for the client, any number of connections.

librdkafka spends more on a small request than the broker does, so it would be the client that is measured. Frames
are Produce version 9 and Fetch version 12, which both brokers speak.
"""

import selectors
import socket
import struct
import time
from collections import deque
from itertools import islice
from typing import Any

from inkless.records.batch import crc_of
from inkless.records.record import Record, encode_batch
from inkless.wire import fetch, produce
from inkless.wire.api import APIS, ApiKey
from inkless.wire.frames import encode_request

PRODUCE_VERSION = 9
FETCH_VERSION = 12
READ_BYTES = 1024 * 1024
JOIN_BELOW_BYTES = 64 * 1024
PIECES_PER_SEND = 64
QUIET_S = 60.0
_SIZE = struct.Struct(">i")
_ERROR = struct.Struct(">h")
_CRC = struct.Struct(">I")
_CRC_AT = 17
_STAMP = struct.Struct(">q")
_MARK = b"<-stamp>"


def produce_frame(topic: str, partition: int, batch: bytes) -> list[memoryview]:
    """In pieces, so that the frames of many partitions share one large batch; a small frame is one piece."""
    data = produce.PartitionProduceData(index=partition, records=memoryview(batch))
    request = produce.ProduceRequest(
        acks=-1, timeout_ms=30_000, topic_data=[produce.TopicProduceData(name=topic, partition_data=[data])]
    )
    pieces = encode_request(APIS[ApiKey.PRODUCE], PRODUCE_VERSION, 1, "bench", request)
    if len(batch) < JOIN_BELOW_BYTES:
        pieces = [b"".join(pieces)]
    return [memoryview(piece) for piece in pieces]


def fetch_frame(topic: str, partitions: list[int], offset: int, max_bytes: int) -> bytes:
    asked = [
        fetch.FetchPartition(partition=p, fetch_offset=offset, partition_max_bytes=max_bytes) for p in partitions
    ]
    request = fetch.FetchRequest(
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=max_bytes,
        topics=[fetch.FetchTopic(topic=topic, partitions=asked)],
    )
    return b"".join(encode_request(APIS[ApiKey.FETCH], FETCH_VERSION, 1, "bench", request))


def batch_of(records: int, record_bytes: int) -> bytes:
    now_ms = time.time_ns() // 1_000_000
    value = _MARK + b"v" * (record_bytes - len(_MARK))
    return bytes(encode_batch([Record(offset=i, timestamp=now_ms, key=None, value=value) for i in range(records)]))


class Stamped:
    """A batch of one record whose value begins with the time of sending."""

    def __init__(self, record_bytes: int) -> None:
        self._batch = bytearray(batch_of(1, record_bytes))
        self._value_at = self._batch.index(_MARK)

    def now(self) -> bytes:
        _STAMP.pack_into(self._batch, self._value_at, time.monotonic_ns())
        _CRC.pack_into(self._batch, _CRC_AT, crc_of(memoryview(self._batch)))
        return bytes(self._batch)


class _Lane:
    """One connection: what is still to be sent, what is waited for."""

    __slots__ = ("index", "out", "rest", "sent_s", "skip", "sock")

    def __init__(self, address: str, index: int) -> None:
        host, _, port = address.partition(":")
        self.sock = socket.create_connection((host, int(port)), timeout=QUIET_S)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock.setblocking(False)
        self.out: deque[memoryview] = deque()
        self.sent_s: deque[float] = deque()
        self.rest = b""
        self.skip = 0
        self.index = index


class _Load:
    """Connections with so many requests in flight each; the next goes out when an answer has come."""

    def __init__(self, address: str, connections: int) -> None:
        self._selector = selectors.EpollSelector()
        self._lanes = [_Lane(address, index) for index in range(connections)]
        for lane in self._lanes:
            self._selector.register(lane.sock, selectors.EVENT_READ, lane)
        self._scratch = memoryview(bytearray(READ_BYTES))
        self._taken_ms: list[float] = []
        self._bytes_in = 0
        self._in_flight = 0

    # Each load says what to send next and what to make of what came; `_came` returns the number of answers.

    def _next_frame(self, lane: _Lane) -> list[memoryview]:
        raise NotImplementedError

    def _came(self, lane: _Lane, data: memoryview) -> int:
        raise NotImplementedError

    def run(self, seconds: float, depth: int) -> dict[str, Any]:
        """Closed loop: `depth` requests in flight on each connection for so long, then until all is answered."""
        self._taken_ms.clear()
        self._bytes_in = answered = 0
        started = time.monotonic()
        for lane in self._lanes:
            self._ask(lane, depth)
        while self._in_flight:
            answered += self._turn(started + seconds)
        return self._result(answered, started)

    def _turn(self, until: float) -> int:
        events = self._selector.select(QUIET_S)
        if not events:
            raise RuntimeError(f"no answer for {QUIET_S} s")
        answered = 0
        for key, mask in events:
            lane: _Lane = key.data
            if mask & selectors.EVENT_WRITE:
                self._flush(lane)
            if mask & selectors.EVENT_READ:
                came = self._receive(lane)
                answered += came
                if came and time.monotonic() < until:
                    self._ask(lane, came)
        return answered

    def _result(self, answered: int, started: float) -> dict[str, Any]:
        return {
            "requests": answered,
            "bytes_in": self._bytes_in,
            "seconds": time.monotonic() - started,
        }

    def _ask(self, lane: _Lane, count: int) -> None:
        now_s = time.monotonic()
        for _ in range(count):
            lane.out += self._next_frame(lane)
            lane.sent_s.append(now_s)
        self._in_flight += count
        self._flush(lane)

    def _flush(self, lane: _Lane) -> None:
        out = lane.out
        while out:
            try:
                sent = lane.sock.sendmsg(islice(out, PIECES_PER_SEND))
            except BlockingIOError:
                self._watch(lane, selectors.EVENT_READ | selectors.EVENT_WRITE)
                return
            while sent:
                if sent >= len(out[0]):
                    sent -= len(out.popleft())
                else:
                    out[0] = out[0][sent:]
                    sent = 0
        self._watch(lane, selectors.EVENT_READ)

    def _watch(self, lane: _Lane, events: int) -> None:
        if self._selector.get_key(lane.sock).events != events:
            self._selector.modify(lane.sock, events, lane)

    def _receive(self, lane: _Lane) -> int:
        try:
            size = lane.sock.recv_into(self._scratch)
        except BlockingIOError:
            return 0
        if size == 0:
            raise RuntimeError("the broker closed a connection")
        self._bytes_in += size
        came = self._came(lane, self._scratch[:size])
        self._in_flight -= came
        now_s = time.monotonic()
        for _ in range(came):
            self._taken_ms.append((now_s - lane.sent_s.popleft()) * 1000)
        return came

    def close(self) -> None:
        for lane in self._lanes:
            lane.sock.close()


class ProduceLoad(_Load):
    """Every request is one batch for one partition; requests go round the partitions."""

    def __init__(
        self, address: str, connections: int, topic: str, partitions: int, record_bytes: int, batch_records: int
    ) -> None:
        super().__init__(address, connections)
        batch = batch_of(batch_records, record_bytes)
        self._topic = topic
        self._record_bytes = record_bytes
        self._partitions = partitions
        self._frames = [produce_frame(topic, index, batch) for index in range(partitions)]
        self._next = 0
        self._error_at = 4 + 4 + 1 + 1 + (1 + len(topic)) + 1 + 4

    def _next_frame(self, lane: _Lane) -> list[memoryview]:
        self._next = (self._next + 1) % len(self._frames)
        return self._frames[self._next]

    def _came(self, lane: _Lane, data: memoryview) -> int:
        whole = lane.rest + data if lane.rest else bytes(data)
        position, came, end = 0, 0, len(whole)
        while end - position >= 4:
            (size,) = _SIZE.unpack_from(whole, position)
            if end - position < 4 + size:
                break
            (error,) = _ERROR.unpack_from(whole, position + self._error_at)
            if error:
                raise RuntimeError(f"a produce request was answered with error {error}")
            position += 4 + size
            came += 1
        lane.rest = whole[position:]
        return came

    def write(self, requests: int) -> dict[str, Any]:
        """So many requests, one after the other."""
        answered = 0
        started = time.monotonic()
        while answered < requests:
            self._ask(self._lanes[0], 1)
            while self._in_flight:
                answered += self._turn(0.0)
        return self._result(answered, started)

    def pace(self, seconds: float, rate: float) -> dict[str, Any]:
        """Open loop: so many requests a second, round the connections, each with the time in its record."""
        self._taken_ms.clear()
        self._bytes_in = answered = number = 0
        stamped = Stamped(self._record_bytes)
        started = time.monotonic()
        total = int(seconds * rate)
        while answered < total:
            now_s = time.monotonic()
            while number < total and started + number / rate <= now_s:
                lane = self._lanes[number % len(self._lanes)]
                lane.out += produce_frame(self._topic, number % self._partitions, stamped.now())
                lane.sent_s.append(time.monotonic())
                self._in_flight += 1
                self._flush(lane)
                number += 1
            wait_s = started + number / rate - time.monotonic() if number < total else QUIET_S
            for key, mask in self._selector.select(max(0.0, wait_s)):
                if mask & selectors.EVENT_WRITE:
                    self._flush(key.data)
                if mask & selectors.EVENT_READ:
                    answered += self._receive(key.data)
        return self._result(answered, started) | {"taken_ms": self._taken_ms}


class FetchLoad(_Load):
    """Every connection fetches the same partitions from the same offset, over and over."""

    def __init__(self, address: str, connections: int, topic: str, fetched: list[list[int]], max_bytes: int) -> None:
        """`fetched` lists the partitions of each kind of request; connections take them in turn."""
        super().__init__(address, connections)
        self._frames = [memoryview(fetch_frame(topic, each, 0, max_bytes)) for each in fetched]

    def _next_frame(self, lane: _Lane) -> list[memoryview]:
        return [self._frames[lane.index % len(self._frames)]]

    def _came(self, lane: _Lane, data: memoryview) -> int:
        """Answers are large: their bytes are counted and skipped."""
        came, position, end = 0, 0, len(data)
        while position < end:
            if not lane.skip:
                missing = 4 - len(lane.rest)
                lane.rest += bytes(data[position : position + missing])
                position += missing
                if len(lane.rest) < 4:
                    break
                (lane.skip,) = _SIZE.unpack(lane.rest)
                lane.rest = b""
            step = min(lane.skip, end - position)
            lane.skip -= step
            position += step
            came += not lane.skip
        return came
