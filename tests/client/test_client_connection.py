"""One connection: versions, answers in any order, and everything that can be wrong with the other side."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from fake_broker import CLOSE, SILENCE, FakeBroker, closed

from inkless.client.connection import MAX_FRAME_BYTES, Connection
from inkless.client.errors import ApiNotSupported, ClientError, ConnectionFailed, InvalidAnswer, RequestTimedOut
from inkless.wire.api import ApiKey
from inkless.wire.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from inkless.wire.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from inkless.wire.metadata import MetadataRequest, MetadataResponse, MetadataResponseBroker


async def opened(broker: FakeBroker, timeout_s: float = 5.0) -> Connection:
    return await Connection.open(broker.host, broker.port, "me", timeout_s)


def test_the_highest_version_that_both_know_is_used() -> None:
    versions = {ApiKey.API_VERSIONS: (0, 3), ApiKey.METADATA: (4, 9), ApiKey.DESCRIBE_CLUSTER: (0, 99)}

    async def body() -> None:
        handlers = {
            MetadataRequest: lambda _: MetadataResponse(cluster_id="c", brokers=[MetadataResponseBroker(node_id=7)]),
            DescribeClusterRequest: lambda _: DescribeClusterResponse(cluster_id="d"),
        }
        async with FakeBroker(handlers, versions) as broker:
            connection = await opened(broker)
            answer = await connection.request(MetadataRequest(topics=None))
            assert (answer.cluster_id, answer.brokers[0].node_id) == ("c", 7)
            assert (await connection.request(DescribeClusterRequest())).cluster_id == "d"
            await connection.close()
        assert broker.asked_versions == [
            (ApiKey.API_VERSIONS, 4),
            (ApiKey.API_VERSIONS, 3),  # the first answer said that 4 is too new
            (ApiKey.METADATA, 9),
            (ApiKey.DESCRIBE_CLUSTER, 2),
        ]

    asyncio.run(body())


def test_an_api_without_a_version_in_common_is_refused() -> None:
    async def body() -> None:
        versions = {ApiKey.API_VERSIONS: (0, 4), ApiKey.METADATA: (50, 60)}
        async with FakeBroker({}, versions) as broker:
            connection = await opened(broker)
            for request in (MetadataRequest(), InitProducerIdRequest()):
                with pytest.raises(ApiNotSupported, match="serves no version of"):
                    await connection.request(request)
            assert not connection.is_broken
            await connection.close()

    asyncio.run(body())


def test_requests_are_in_flight_together_and_answers_find_theirs() -> None:
    async def body() -> None:
        asked: list[int] = []
        all_there = asyncio.Event()

        async def handle(request: InitProducerIdRequest) -> InitProducerIdResponse:
            number = request.transaction_timeout_ms
            asked.append(number)
            if len(asked) == 5:
                all_there.set()
            await all_there.wait()
            await asyncio.sleep((5 - number) * 0.01)  # the last one asked is answered first
            return InitProducerIdResponse(producer_id=number)

        async with FakeBroker({InitProducerIdRequest: handle}) as broker:
            connection = await opened(broker)
            requests = [connection.request(InitProducerIdRequest(transaction_timeout_ms=n)) for n in range(5)]
            answers = await asyncio.gather(*requests)
            assert [answer.producer_id for answer in answers] == [0, 1, 2, 3, 4]
            await connection.close()

    asyncio.run(body())


def test_a_request_without_an_answer_breaks_the_connection_for_all() -> None:
    async def body() -> None:
        async with FakeBroker({MetadataRequest: lambda _: SILENCE}) as broker:
            connection = await opened(broker)
            behind = asyncio.create_task(connection.request(MetadataRequest()))
            await asyncio.sleep(0)
            with pytest.raises(RequestTimedOut, match=r"did not answer Metadata within 0\.05 s") as caught:
                await connection.request(MetadataRequest(), timeout_s=0.05)
            assert caught.value.retriable
            with pytest.raises(RequestTimedOut):
                await behind
            assert connection.is_broken
            with pytest.raises(ConnectionFailed):
                await connection.request(MetadataRequest())
            await connection.close()

    asyncio.run(body())


def test_a_caller_that_gave_up_does_not_disturb_the_others() -> None:
    async def body() -> None:
        async def handle(_: MetadataRequest) -> MetadataResponse:
            await asyncio.sleep(0.02)
            return MetadataResponse(cluster_id="late")

        handlers = {MetadataRequest: handle, InitProducerIdRequest: lambda _: InitProducerIdResponse(producer_id=3)}
        async with FakeBroker(handlers) as broker:
            connection = await opened(broker)
            given_up = asyncio.create_task(connection.request(MetadataRequest()))
            await asyncio.sleep(0.005)
            given_up.cancel()
            assert (await connection.request(MetadataRequest())).cluster_id == "late"
            assert (await connection.request(InitProducerIdRequest())).producer_id == 3
            await connection.close()

    asyncio.run(body())


def test_the_broker_hangs_up() -> None:
    async def body() -> None:
        async with FakeBroker({MetadataRequest: lambda _: CLOSE}) as broker:
            connection = await opened(broker)
            with pytest.raises(ConnectionFailed, match="closed the connection"):
                await connection.request(MetadataRequest())
            await connection.close()
            await connection.close()

    asyncio.run(body())


def test_nobody_listens() -> None:
    async def body() -> None:
        async with FakeBroker({}) as broker:
            port = broker.port
        with pytest.raises(ConnectionFailed, match=f"can't connect to 127.0.0.1:{port}: Connection refused"):
            await Connection.open("127.0.0.1", port, "me", 1.0)
        with pytest.raises(ConnectionFailed, match=r"can't connect to no\.such\.host\.invalid:1: \w+"):
            await Connection.open("no.such.host.invalid", 1, "me", 5.0)

    asyncio.run(body())


async def _with_answer(frame: bytes, use: Callable[[str, int], Awaitable[None]]) -> None:
    """Whatever is asked, these bytes come back."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.read(1)
            writer.write(frame)
            await reader.read()
        finally:
            await closed(writer)
            done.set()

    done = asyncio.Event()
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        await use(*server.sockets[0].getsockname())
        await done.wait()


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "does not speak Kafka's protocol"),
        (b"\x15\x03\x03\x00\x02\x02\x50", "does not speak Kafka's protocol"),
        (b"\xff\xff\xff\xff", "announced -1 bytes"),
        ((MAX_FRAME_BYTES + 1).to_bytes(4), "announced 268435457 bytes"),
        (b"\0\0\0\4\0\0\0\x63", "answered a request that nobody made"),
        (b"\0\0\0\7\0\0\0\1\0\0\x7f", "answered something else than it was asked"),
    ],
    ids=["http", "tls", "negative size", "too large", "unknown correlation id", "cut off"],
)
def test_the_other_side_is_no_broker(frame: bytes, message: str) -> None:
    async def use(host: str, port: int) -> None:
        with pytest.raises(InvalidAnswer, match=message):
            await Connection.open(host, port, "me", 5.0)

    asyncio.run(_with_answer(frame, use))


def test_a_silent_listener_is_given_up_in_time() -> None:
    async def use(host: str, port: int) -> None:
        with pytest.raises(RequestTimedOut, match="did not answer ApiVersions"):
            await Connection.open(host, port, "me", 0.05)

    asyncio.run(_with_answer(b"", use))


def test_every_failure_is_a_client_error() -> None:
    for kind in (ApiNotSupported, ConnectionFailed, InvalidAnswer, RequestTimedOut):
        assert issubclass(kind, ClientError)
