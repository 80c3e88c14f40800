"""Bytes and connections that no honest client makes: they cost themselves and nobody else.

The connection concerned is closed with one line in the log, everyone else is served, and memory stays bounded.
"""

import contextlib
import random
import resource
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import raw_client
from broker_process import BrokerProcess
from checker import check, read_log
from producer_load import Load, create_topic, running
from raw_client import RawClient, fetch, fetched, produced

UNSUPPORTED_VERSION = 35
SERVED_WITHIN_S = 5.0
LARGE_WITHIN_S = 10.0
RSS_LIMIT_MB = 400.0
MEGABYTE = b"m" * 1_000_000


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path_factory.mktemp("served")) as broker:
        create_topic(broker.address, "t", 4)
        create_topic(broker.address, "cut", 1)
        yield broker


@pytest.fixture
def bystander(served: BrokerProcess) -> Iterator[RawClient]:
    """A connection that was there before; at the end it is served, and so is a new one, within bounded memory."""
    with RawClient(served.port) as client:
        yield client
        assert_served(served, client)
        with RawClient(served.port) as late:
            assert_served(served, late)
    assert served.process.poll() is None
    assert served.rss_mb < RSS_LIMIT_MB, served.rss_mb


def assert_served(broker: BrokerProcess, client: RawClient) -> None:
    began_s = time.monotonic()
    client.settimeout(SERVED_WITHIN_S)
    assert client.ask(raw_client.api_versions(77))[:6] == struct.pack(">ih", 77, 0)
    answer = client.ask(raw_client.produce("t", [(3, raw_client.batch([b"bystander"]))], 78))
    assert produced(answer)[0][:2] == (3, 0)
    assert time.monotonic() - began_s < SERVED_WITHIN_S


def assert_one_line(broker: BrokerProcess, client: RawClient) -> str:
    line = broker.wait_for_line(f"{client.name}")
    assert broker.lines_with(client.name) == [line]
    return line


def size(number: int) -> bytes:
    return struct.pack(">i", number)


VALID = raw_client.api_versions(5)

HOSTILE = {
    "2 GB": size(2**31 - 1),
    "2 GB and some bytes": size(2**31 - 1) + b"\0" * 100_000,
    "just over the limit": size(104_857_601),
    "negative": size(-1),
    "most negative": size(-(2**31)),
    "zero": size(0),
    "HTTP": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x55" * 506,
    "a frame of one byte": size(1) + b"\0",
    "a header cut inside its frame": size(5) + b"\0\0\0\0\0",
    "a client id longer than the frame": size(12) + struct.pack(">hhih", 18, 0, 1, 30_000) + b"ab",
    "an unknown API": raw_client.frame(999, 0, 1, b""),
    "a negative API": raw_client.frame(-1, 0, 1, b""),
    "an unknown version": raw_client.frame(raw_client.API_PRODUCE, 999, 1, b"\0" * 20),
    "a negative version": raw_client.frame(raw_client.API_FETCH, -5, 1, b"\0" * 20),
    "a removed version": raw_client.frame(raw_client.API_PRODUCE, 0, 1, b"\0" * 20),
    "an array of 2 billion": raw_client.frame(3, 4, 1, size(2**31 - 1) + b"\0"),
    "records longer than the frame": raw_client.frame(
        raw_client.API_PRODUCE,
        raw_client.PRODUCE_VERSION,
        1,
        struct.pack(">hhii", -1, -1, 1000, 1) + raw_client.string("t") + struct.pack(">iii", 1, 0, 2**31 - 1),
    ),
}


@pytest.mark.parametrize("sent", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_bytes_close_their_connection_with_one_line(
    served: BrokerProcess, bystander: RawClient, sent: bytes
) -> None:
    with RawClient(served.port) as client:
        with contextlib.suppress(ConnectionError):  # closed while we were still sending
            client.send(sent)
        assert client.is_closed_by_broker()
        print(assert_one_line(served, client))


def test_garbage_behind_a_valid_request(served: BrokerProcess, bystander: RawClient) -> None:
    with RawClient(served.port) as client:
        assert client.ask(VALID)[:6] == struct.pack(">ih", 5, 0)
        client.send(b"\xff" * 50)
        assert client.is_closed_by_broker()
        assert_one_line(served, client)
    with RawClient(served.port) as client:
        client.send(VALID + b"\xff" * 50)
        assert client.is_closed_by_broker()
        assert_one_line(served, client)


def test_random_bytes(served: BrokerProcess, bystander: RawClient) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    for _ in range(100):
        with RawClient(served.port) as client:
            # Half of them with a length that is allowed, so that the bytes behind it are looked at.
            data = chance.randbytes(chance.randrange(4, 3000))
            if chance.random() < 0.5:
                data = size(len(data)) + struct.pack(">h", chance.randrange(20)) + b"\0" + data[3:]
            with contextlib.suppress(ConnectionError):
                client.send(data)
                client.end_sending()
            assert client.is_closed_by_broker()
            assert len(served.lines_with(client.name)) <= 1
    assert not [line for line in served.lines if "Traceback" in line], served.tail()


def test_an_unknown_version_of_api_versions_is_answered_in_version_0(served: BrokerProcess) -> None:
    """KIP-511: the client learns what it may use instead, and goes on with it on the same connection."""
    with RawClient(served.port) as client:
        answer = client.ask(raw_client.api_versions(9, version=99))
        correlation_id, error, count = struct.unpack_from(">ihi", answer)
        assert (correlation_id, error) == (9, UNSUPPORTED_VERSION)
        rows = [struct.unpack_from(">hhh", answer, 10 + 6 * at) for at in range(count)]
        assert len(answer) == 10 + 6 * count
        assert raw_client.API_VERSIONS in [key for key, _, _ in rows]
        assert client.ask(raw_client.api_versions(10))[:6] == struct.pack(">ih", 10, 0)
        assert not served.lines_with(client.name)


CUT_PRODUCE = raw_client.produce("cut", [(0, raw_client.batch([b"never to be seen"]))])


@pytest.mark.parametrize("whole", [CUT_PRODUCE, raw_client.api_versions()], ids=["Produce", "ApiVersions"])
def test_a_frame_cut_anywhere(served: BrokerProcess, bystander: RawClient, whole: bytes) -> None:
    """At every byte; every other client ends its half and listens on, as if it waited for the answer."""
    for length in range(1, len(whole)):
        with RawClient(served.port) as client:
            client.send(whole[:length])
            if length % 2:
                client.end_sending()
                assert client.is_closed_by_broker()
            else:
                client.close()
            assert_one_line(served, client)
    assert read_log(served.address, "cut", 1)[0].high_watermark == 0


def test_a_cut_between_frames_is_an_ordinary_end(served: BrokerProcess) -> None:
    with RawClient(served.port) as client:
        client.send(VALID + VALID)
        client.end_sending()
        assert client.answer()[:6] == client.answer()[:6]
        assert client.is_closed_by_broker()
        assert not [line for line in served.lines_with(client.name) if "WARNING" in line or "ERROR" in line]


@pytest.mark.parametrize("announced_mb", [100, 30], ids=["more than the budget", "less than the budget"])
def test_announced_frames_that_do_not_come_take_nothing_from_others(
    served: BrokerProcess, bystander: RawClient, announced_mb: int
) -> None:
    """The size is allowed, so the broker waits for the bytes, but neither others nor memory may pay for them."""
    before_mb = served.rss_mb
    large = raw_client.produce("t", [(2, raw_client.batch([MEGABYTE]))])
    with contextlib.ExitStack() as stack:
        for _ in range(40):
            client = stack.enter_context(RawClient(served.port))
            client.send(size(announced_mb * 1_000_000) + struct.pack(">hh", raw_client.API_PRODUCE, 7))
        for _ in range(3):
            assert_served(served, bystander)
        began_s = time.monotonic()
        bystander.settimeout(LARGE_WITHIN_S)
        assert produced(bystander.ask(large))[0][1] == 0
        print(f"a produce of 1 MB took {time.monotonic() - began_s:.2f} s")
        print(f"RSS {before_mb:.0f} MB, with 40 announcements of {announced_mb} MB {served.rss_mb:.0f} MB")
        assert served.rss_mb < before_mb + 150


@pytest.fixture
def impatient(tmp_path: Path) -> Iterator[BrokerProcess]:
    """A broker that closes idle connections early."""
    with BrokerProcess(tmp_path, settings={"connections.max.idle.ms": 1500}) as broker:
        create_topic(broker.address, "t", 4)
        yield broker


@pytest.mark.slow
def test_a_client_that_stops_in_the_middle_of_a_frame_is_closed(impatient: BrokerProcess) -> None:
    with RawClient(impatient.port) as small, RawClient(impatient.port) as large:
        small.send(CUT_PRODUCE[:-5])
        large.send(size(1_000_000) + b"\0" * 500_000)
        for client in (small, large):
            with RawClient(impatient.port) as other:
                assert_served(impatient, other)
            assert client.is_closed_by_broker()
            print(assert_one_line(impatient, client))


@pytest.mark.slow
def test_a_client_that_never_reads_its_answers_is_closed(impatient: BrokerProcess) -> None:
    """Its fetches take bounded memory, and others are served in the meantime."""
    with RawClient(impatient.port) as writer:
        for _ in range(100):
            assert produced(writer.ask(raw_client.produce("t", [(0, raw_client.batch([MEGABYTE]))])))[0][1] == 0
    loaded_mb = impatient.rss_mb
    with PeakMemory(impatient) as peak, RawClient(impatient.port, receive_bytes=4096) as deaf:
        deaf.send(b"".join(fetch("t", 0, at * 17 % 90, 50_000_000, at) for at in range(300)))
        with RawClient(impatient.port) as other:
            assert_served(impatient, other)
        line = impatient.wait_for_line(deaf.name, 20)
        deadline = time.monotonic() + 5
        while connection_is_open(impatient, deaf):
            assert time.monotonic() < deadline, f"said to be closed, but open: {line}"
            time.sleep(0.02)
        assert impatient.lines_with(deaf.name) == [line]
    print(f"RSS {loaded_mb:.0f} MB, at most {peak.mb:.0f} MB; {line}")
    assert peak.mb < RSS_LIMIT_MB


def connection_is_open(broker: BrokerProcess, client: RawClient) -> bool:
    connections = psutil.Process(broker.process.pid).net_connections("tcp")
    return any(one.raddr and one.raddr.port == client.port for one in connections)


@pytest.mark.slow
def test_a_client_that_never_reads_does_not_keep_the_broker_from_stopping(served_once: BrokerProcess) -> None:
    with RawClient(served_once.port) as writer:
        for _ in range(20):
            writer.ask(raw_client.produce("t", [(0, raw_client.batch([MEGABYTE]))]))
    with RawClient(served_once.port, receive_bytes=4096) as deaf:
        deaf.send(b"".join(fetch("t", 0, 0, 50_000_000, at) for at in range(20)))
        with RawClient(served_once.port) as other:
            assert_served(served_once, other)
        code, took_s = served_once.stop()
    print(f"stopped with code {code} after {took_s:.2f} s")
    assert code == 0
    assert took_s < 5


@pytest.fixture
def served_once(tmp_path: Path) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path) as broker:
        create_topic(broker.address, "t", 4)
        yield broker


IDLE_CONNECTIONS = 5000
SPARE_FILES = 200
USUAL_SOFT_LIMIT = 1024


@contextlib.contextmanager
def open_files_raised() -> Iterator[int]:
    """As many open files as this process may have; how many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = hard if hard != resource.RLIM_INFINITY else max(soft, 4 * IDLE_CONNECTIONS)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    try:
        yield wanted
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.slow
def test_5000_idle_connections(tmp_path: Path) -> None:
    """The broker starts with the soft limit that most systems give, and has to raise it itself."""
    under = ("sh", "-c", f'ulimit -Sn {USUAL_SOFT_LIMIT} && exec "$@"', "sh")
    with open_files_raised() as allowed, contextlib.ExitStack() as stack:
        count = min(IDLE_CONNECTIONS, allowed - SPARE_FILES)
        if count < IDLE_CONNECTIONS:
            print(f"only {count} connections: the hard limit on open files is {allowed}")
        broker = stack.enter_context(BrokerProcess(tmp_path, under=under))
        create_topic(broker.address, "t", 4)
        before_mb, lines_before = broker.rss_mb, len(broker.lines)
        idle = [stack.enter_context(RawClient(broker.port)) for _ in range(count)]
        for client in idle[:: count // 50]:
            assert client.ask(VALID)[:6] == struct.pack(">ih", 5, 0)
        with running([Load("p", broker.address, "t", 3, limit=2000)]) as (load,):
            load.join()
        check(load.history, dict(list(read_log(broker.address, "t", 4).items())[:3]))
        print(f"{count} idle connections: RSS {before_mb:.0f} MB before, {broker.rss_mb:.0f} MB with them")
        assert broker.rss_mb < RSS_LIMIT_MB
        for client in (idle[0], idle[-1]):
            assert_served(broker, client)
        assert not broker.lines[lines_before:], broker.tail()


PUSHERS = 30
PUSHED_REQUESTS = 8


@pytest.mark.slow
def test_more_requests_than_fit_are_held_back_and_nobody_is_dropped(served_once: BrokerProcess) -> None:
    """Bytes in flight stay bounded by not reading: each connection pipelines far more than its share."""
    part = raw_client.batch([MEGABYTE])
    requests = [raw_client.produce("t", [(p, part) for p in range(3)], at) for at in range(PUSHED_REQUESTS)]
    pushed_mb = PUSHERS * sum(map(len, requests)) / 1e6
    peak = PeakMemory(served_once)
    problems: list[BaseException] = []

    def push() -> None:
        try:
            with RawClient(served_once.port, timeout_s=60) as client:
                sender = threading.Thread(target=client.send, args=(b"".join(requests),), daemon=True)
                sender.start()
                for at in range(PUSHED_REQUESTS):
                    answer = client.answer()
                    assert answer[:4] == struct.pack(">i", at)
                    assert [error for _, error, _ in produced(answer)] == [0, 0, 0]
                sender.join(10)
        except BaseException as problem:
            problems.append(problem)

    pushers = [threading.Thread(target=push, daemon=True) for _ in range(PUSHERS)]
    with peak:
        for pusher in pushers:
            pusher.start()
        with RawClient(served_once.port) as other:
            assert_served(served_once, other)
        for pusher in pushers:
            pusher.join(60)
    assert not problems, problems[:3]
    assert not any(pusher.is_alive() for pusher in pushers)
    print(f"{pushed_mb:.0f} MB pushed over {PUSHERS} connections, RSS at most {peak.mb:.0f} MB")
    assert peak.mb < RSS_LIMIT_MB
    assert read_offsets(served_once) == [PUSHERS * PUSHED_REQUESTS] * 3


@pytest.mark.slow
def test_frames_larger_than_the_budget_all_get_through(served_once: BrokerProcess) -> None:
    """Each alone has more bytes than `inkless.request.bytes.in.flight`; at the same time they must not lock up."""
    create_topic(served_once.address, "wide", 70)
    request = raw_client.produce("wide", [(p, raw_client.batch([MEGABYTE])) for p in range(70)])
    errors: list[set[int]] = []

    def push() -> None:
        with RawClient(served_once.port, timeout_s=60) as client:
            client.send(request)
            errors.append({error for _, error, _ in produced(client.answer())})

    pushers = [threading.Thread(target=push, daemon=True) for _ in range(4)]
    with PeakMemory(served_once) as peak:
        for pusher in pushers:
            pusher.start()
        for pusher in pushers:
            pusher.join(60)
    print(f"{len(pushers)} frames of {len(request) / 1e6:.0f} MB, RSS at most {peak.mb:.0f} MB")
    assert errors == [{0}] * len(pushers)
    assert peak.mb < RSS_LIMIT_MB


@pytest.mark.soak
def test_half_frames_that_fill_the_budget_are_thrown_out(served_once: BrokerProcess) -> None:
    """These have really sent their bytes; when they stop, others get the room after a few seconds at most."""
    half = size(16_000_000) + bytes(8_000_000)
    with contextlib.ExitStack() as stack, PeakMemory(served_once) as peak:
        for _ in range(10):
            client = stack.enter_context(RawClient(served_once.port, timeout_s=0.2))
            with contextlib.suppress(OSError):  # no more is read of those for whom there is no room
                client.send(half)
        began_s = time.monotonic()
        other = stack.enter_context(RawClient(served_once.port))
        assert_served(served_once, other)
        small_s = time.monotonic() - began_s
        other.settimeout(20)
        assert produced(other.ask(raw_client.produce("t", [(0, raw_client.batch([MEGABYTE]))])))[0][1] == 0
        large_s = time.monotonic() - began_s
    print(f"small served after {small_s:.2f} s, large after {large_s:.2f} s; RSS at most {peak.mb:.0f} MB")
    assert peak.mb < RSS_LIMIT_MB
    assert served_once.lines_with("WARNING"), "nobody was thrown out"


def test_a_small_record_keeps_none_of_the_bytes_it_came_with(served_once: BrokerProcess) -> None:
    """The cache keeps the record, and must not hold on to a large frame that was read together with it."""
    beside = raw_client.frame(raw_client.API_VERSIONS, 0, 1, bytes(60_000))
    small = raw_client.produce("t", [(0, raw_client.batch([b"v"]))])
    before_mb = served_once.rss_mb
    with RawClient(served_once.port) as client:
        for _ in range(400):
            client.send(beside + small)
            client.answer()
            client.answer()
    grown_mb = served_once.rss_mb - before_mb
    print(f"400 small records, each sent behind 60 kB: RSS {before_mb:.0f} MB, {grown_mb:.1f} MB more afterwards")
    assert grown_mb < 10


def read_offsets(broker: BrokerProcess) -> list[int]:
    with RawClient(broker.port) as client:
        return [fetched(client.ask(fetch("t", p, 0, 1000)))[1] for p in range(3)]


class PeakMemory:
    """Watches a broker's resident memory while a block runs."""

    def __init__(self, broker: BrokerProcess) -> None:
        self._broker = broker
        self._over = threading.Event()
        self._watch = threading.Thread(target=self._run, daemon=True)
        self.mb = 0.0

    def _run(self) -> None:
        while not self._over.wait(0.02):
            self.mb = max(self.mb, self._broker.rss_mb)

    def __enter__(self) -> "PeakMemory":
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._watch.join()
