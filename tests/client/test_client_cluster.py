"""Finding brokers and leaders, and asking again where that helps."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from fake_broker import CLOSE, FakeBroker
from fake_topic import NAME, TOPIC_ID, FakeTopic

from inkless.client import admin
from inkless.client.cluster import Address, Cluster, parse_bootstrap
from inkless.client.errors import BrokerError, ClientError, ConnectionFailed, InvalidAnswer
from inkless.client.offsets import EARLIEST, LATEST, AtOffset, AtTime, find_offsets
from inkless.client.probe import Answering, who_answers
from inkless.client.retry import Attempts
from inkless.core.clock import SystemClock
from inkless.core.errors import SettingError
from inkless.wire.create_topics import CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse
from inkless.wire.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from inkless.wire.error_codes import ErrorCode
from inkless.wire.metadata import MetadataRequest, MetadataResponse, MetadataResponseTopic


@asynccontextmanager
async def cluster_of(*brokers: FakeBroker, timeout_s: float = 5.0) -> AsyncIterator[Cluster]:
    cluster = Cluster([Address(broker.host, broker.port) for broker in brokers], "me", SystemClock(), timeout_s)
    try:
        yield cluster
    finally:
        await cluster.close()


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("127.0.0.1:9092", [("127.0.0.1", 9092)]),
        ("a:1, b:2,", [("a", 1), ("b", 2)]),
        ("localhost", [("localhost", 9092)]),
        ("[::1]:9093", [("::1", 9093)]),
        ("PLAINTEXT://127.0.0.1:19092", [("127.0.0.1", 19092)]),
    ],
)
def test_bootstrap_servers(text: str, addresses: list[tuple[str, int]]) -> None:
    assert list(parse_bootstrap(text)) == addresses


@pytest.mark.parametrize("text", ["", ",", "a:b", "a:0", "a:65536", "http://a:1", "a b:1", ":9092"])
def test_what_is_no_bootstrap_server(text: str) -> None:
    with pytest.raises(SettingError, match=r"expected host:port, such as 127\.0\.0\.1:9092"):
        parse_bootstrap(text)


def test_a_dead_bootstrap_server_is_passed_over() -> None:
    async def body() -> None:
        topic = FakeTopic([1])
        async with FakeBroker({}) as gone:
            pass
        async with topic.broker(1) as broker, cluster_of(gone, broker) as cluster:
            assert (await cluster.topic(NAME)).topic_id == TOPIC_ID
        async with cluster_of(gone) as cluster:
            with pytest.raises(ConnectionFailed, match="Connection refused"):
                await cluster.any_connection()

    asyncio.run(body())


def test_a_partition_is_asked_for_at_its_leader() -> None:
    async def body() -> None:
        topic = FakeTopic([1, 2])
        async with topic.broker(1) as first, topic.broker(2) as second, cluster_of(first) as cluster:
            known = await cluster.topic(NAME)
            assert known.leaders == (1, 2)
            assert (await cluster.leader(known, 0)).address == f"127.0.0.1:{first.port}"
            assert (await cluster.leader(known, 1)).address == f"127.0.0.1:{second.port}"
            assert (await cluster.leader(known, 1)) is (await cluster.leader(known, 1))
            with pytest.raises(ClientError, match="topic t has no partition 2, only 0 to 1"):
                await cluster.leader(known, 2)
            topic.leaders = [2, -1]
            assert await cluster.topic(NAME) == known
            cluster.forget(NAME)
            moved = await cluster.topic(NAME)
            assert (await cluster.leader(moved, 0)).address == f"127.0.0.1:{second.port}"
            with pytest.raises(BrokerError, match="LEADER_NOT_AVAILABLE: t-1 has no leader") as caught:
                await cluster.leader(moved, 1)
            assert caught.value.retriable

    asyncio.run(body())


def test_a_broken_connection_is_replaced() -> None:
    async def body() -> None:
        topic = FakeTopic([1])
        answers = iter([CLOSE])

        def flaky(request: MetadataRequest) -> object:
            return next(answers, None) or topic.metadata(request)

        async with topic.broker(1, MetadataRequest=flaky) as broker, cluster_of(broker) as cluster:
            assert (await cluster.topic(NAME)).leaders == (1,)
            assert broker.connections == 2

    asyncio.run(body())


def test_an_unknown_topic_is_asked_for_again_for_a_moment_only() -> None:
    async def body() -> None:
        topic = FakeTopic([1])
        async with topic.broker(1) as broker, cluster_of(broker, timeout_s=60) as cluster:
            started = SystemClock().monotonic()
            with pytest.raises(BrokerError, match="UNKNOWN_TOPIC_OR_PARTITION: there is no topic nope"):
                await cluster.topic("nope")
            assert 0.5 < SystemClock().monotonic() - started < 5
            asked = broker.requests_of(MetadataRequest)
            assert len(asked) > 2
            assert not any(request.allow_auto_topic_creation for request in asked)

    asyncio.run(body())


def test_a_wrong_topic_name_is_not_asked_for_again() -> None:
    async def body() -> None:
        def refuse(_: MetadataRequest) -> MetadataResponse:
            code = ErrorCode.INVALID_TOPIC_EXCEPTION
            return MetadataResponse(topics=[MetadataResponseTopic(name="a b", error_code=code)])

        async with FakeBroker({MetadataRequest: refuse}) as broker, cluster_of(broker) as cluster:
            with pytest.raises(BrokerError, match="INVALID_TOPIC_EXCEPTION: topic a b"):
                await cluster.topic("a b", create=True)
            assert len(broker.requests_of(MetadataRequest)) == 1

    asyncio.run(body())


def test_attempts_end_at_the_deadline_and_pause_longer_each_time() -> None:
    class FastClock(SystemClock):
        def __init__(self) -> None:
            self.now = 0.0
            self.pauses: list[float] = []

        def random(self) -> float:
            return 0.5

        def monotonic(self) -> float:
            return self.now

        async def sleep(self, seconds: float) -> None:
            self.now += seconds
            self.pauses.append(seconds)

    clock = FastClock()
    failure = ConnectionFailed("gone")

    async def attempt() -> None:
        raise failure

    with pytest.raises(ConnectionFailed) as caught:
        asyncio.run(Attempts(clock, 10).run(attempt))
    assert caught.value is failure
    assert clock.pauses == pytest.approx([0.05, 0.1, 0.2, 0.4, 0.8] + [1.0] * 8)  # 9.55 s, and no time for one more
    clock.pauses.clear()

    async def hopeless() -> None:
        raise InvalidAnswer("no")

    with pytest.raises(InvalidAnswer):
        asyncio.run(Attempts(clock, 10).run(hopeless))
    assert clock.pauses == []


def test_offsets_are_found_by_end_time_and_number() -> None:
    async def body() -> None:
        topic = FakeTopic([1, 2, 1, 1])
        topic.log_start, topic.ends = 3, topic.ends | {0: 10, 1: 20, 2: 30, 3: 40}  # type: ignore[assignment]
        async with topic.broker(1) as first, topic.broker(2), cluster_of(first) as cluster:
            starts = {0: EARLIEST, 1: LATEST, 2: AtTime(5), 3: AtOffset(7)}
            # No record is as late as the time asked for: the end.
            assert await find_offsets(cluster, NAME, starts) == {0: 3, 1: 20, 2: 30, 3: 7}

    asyncio.run(body())


def test_create_is_not_repeated_after_a_lost_answer() -> None:
    async def body() -> None:
        topic = FakeTopic([1])
        broker = topic.broker(1)
        broker.handlers[CreateTopicsRequest] = lambda _: CLOSE
        async with broker, cluster_of(broker) as cluster:
            with pytest.raises(ConnectionFailed):
                await admin.create_topic(cluster, "new", 3)
            assert len(broker.requests_of(CreateTopicsRequest)) == 1
            answer = CreatableTopicResult(name="new", topic_id=TOPIC_ID, num_partitions=3, configs=[])
            broker.handlers[CreateTopicsRequest] = lambda _: CreateTopicsResponse(topics=[answer])
            made = await admin.create_topic(cluster, "new", 3, {"retention.ms": "1"})
            assert (made.topic_id, made.partitions) == (TOPIC_ID, 3)
            asked = broker.requests_of(CreateTopicsRequest)[1].topics[0]
            assert (asked.num_partitions, asked.replication_factor) == (3, -1)
            assert [(config.name, config.value) for config in asked.configs] == [("retention.ms", "1")]

    asyncio.run(body())


def test_who_answers() -> None:
    async def body() -> None:
        answer = DescribeClusterResponse(cluster_id="c", controller_id=7)
        async with FakeBroker({DescribeClusterRequest: lambda _: answer}) as broker:
            assert await who_answers(broker.host, broker.port, 5) == Answering("c", 7)
        assert await who_answers(broker.host, broker.port, 5) is None
        async with FakeBroker({DescribeClusterRequest: lambda _: CLOSE}) as broker:
            assert await who_answers(broker.host, broker.port, 5) is None

    asyncio.run(body())


def test_nobody_answers_in_time() -> None:
    async def body() -> None:
        hold = asyncio.Event()

        async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await hold.wait()
            writer.close()
            await writer.wait_closed()
            closed.set()

        closed = asyncio.Event()
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with server:
            host, port = server.sockets[0].getsockname()
            assert await who_answers(host, port, 0.05) is None
            hold.set()
            await closed.wait()

    asyncio.run(body())
