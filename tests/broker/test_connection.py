"""Frames in any pieces, answers in order, and the bounds of a connection, without sockets."""

import asyncio
import logging
from typing import Any

import pytest
from fake_transport import Wire, frame, turns

from inkless.broker.router import Call, Router, route
from inkless.wire.api import APIS, ApiKey
from inkless.wire.api_versions import ApiVersionsRequest, ApiVersionsResponse
from inkless.wire.fetch import FetchRequest, FetchResponse
from inkless.wire.frames import encode_request
from inkless.wire.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData


class Handlers:
    """Handlers whose answers a test gives when it wants to."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.gates: dict[str, asyncio.Future[None]] = {}
        self.router = Router(
            [
                route(ApiKey.API_VERSIONS, self.versions),
                route(ApiKey.PRODUCE, self.produce, ordered=True, keeps_frame=True),
                route(ApiKey.FETCH, self.fetch, one_at_a_time=True, abandonable=True),
            ]
        )

    async def _wait(self, call: Call) -> None:
        name = call.client_id or ""
        self.started.append(name)
        gate = self.gates.setdefault(name, asyncio.get_running_loop().create_future())
        if name.startswith("held"):
            await gate

    async def versions(self, services: Any, request: Any, call: Call) -> ApiVersionsResponse:
        await self._wait(call)
        return ApiVersionsResponse()

    async def produce(self, services: Any, request: ProduceRequest, call: Call) -> ProduceResponse | None:
        await call.turn.reached()
        call.turn.pass_on()
        await self._wait(call)
        return ProduceResponse() if request.acks else None

    async def fetch(self, services: Any, request: Any, call: Call) -> FetchResponse:
        await self._wait(call)
        return FetchResponse()

    def let_go(self, name: str) -> None:
        self.gates[name].set_result(None)


def versions(number: int, name: str = "") -> bytes:
    return frame(encode_request(APIS[ApiKey.API_VERSIONS], 0, number, name, ApiVersionsRequest()))


def fetch(number: int, name: str = "") -> bytes:
    return frame(encode_request(APIS[ApiKey.FETCH], 12, number, name, FetchRequest()))


def produce(number: int, name: str = "", acks: int = -1, size: int = 100) -> bytes:
    data = PartitionProduceData(index=0, records=memoryview(bytes(size)))
    request = ProduceRequest(acks=acks, topic_data=[TopicProduceData(name="t", partition_data=[data])])
    return frame(encode_request(APIS[ApiKey.PRODUCE], 9, number, name, request))


def test_frames_cut_anywhere_are_put_together() -> None:
    async def main() -> None:
        data = versions(1) + produce(2, size=70_000) + versions(3) + produce(4, size=300_000) + versions(5)
        for step in (1, 7, 4096, 65_536, len(data)):
            wire = Wire(Handlers().router)
            for start in range(0, len(data), step):
                assert wire.feed(data[start : start + step]) == len(data[start : start + step])
                if step > 1:
                    await turns(1)
            await turns()
            assert wire.transport.correlation_ids() == [1, 2, 3, 4, 5]
            assert wire.budget.used == 0

    asyncio.run(main())


def test_answers_are_in_order_and_written_together() -> None:
    async def main() -> None:
        handlers = Handlers()
        wire = Wire(handlers.router)
        wire.feed(produce(1, "held a") + produce(2, "b") + versions(3, "c") + produce(4, "d", acks=0) + versions(5))
        await turns()
        assert handlers.started == ["held a", "b", "c", "d", ""]
        assert wire.transport.frames() == []
        handlers.let_go("held a")
        await turns()
        assert wire.transport.correlation_ids() == [1, 2, 3, 5]
        assert wire.transport.writes == 1

    asyncio.run(main())


def test_fetches_of_a_connection_run_one_at_a_time_and_produces_pass_them() -> None:
    async def main() -> None:
        handlers = Handlers()
        wire = Wire(handlers.router)
        wire.feed(fetch(1, "held f1") + fetch(2, "f2") + produce(3, "p"))
        await turns()
        assert handlers.started == ["held f1", "p"]
        handlers.let_go("held f1")
        await turns(6)
        assert handlers.started == ["held f1", "p", "f2"]
        assert wire.transport.correlation_ids() == [1, 2, 3]

    asyncio.run(main())


def test_a_client_that_does_not_read_gets_no_further_fetch() -> None:
    async def main() -> None:
        handlers = Handlers()
        wire = Wire(handlers.router)
        wire.protocol.pause_writing()
        assert not wire.transport.reading
        wire.protocol.resume_writing()
        wire.feed(fetch(1, "f1") + fetch(2, "f2"))
        wire.protocol.pause_writing()
        await turns(5)
        assert handlers.started == ["f1"]
        wire.protocol.resume_writing()
        await turns(5)
        assert handlers.started == ["f1", "f2"]

    asyncio.run(main())


def test_reading_stops_at_the_connections_bound_and_goes_on() -> None:
    async def main() -> None:
        handlers = Handlers()
        wire = Wire(handlers.router, connection_bytes=1000)
        data = b"".join(produce(number, f"held {number}", size=400) for number in range(6))
        wire.feed(data)
        await turns()
        assert len(handlers.started) == 3
        assert not wire.transport.reading
        for number in range(6):
            handlers.let_go(f"held {number}")
            await turns(5)
        assert wire.transport.correlation_ids() == list(range(6))
        assert wire.transport.reading
        assert wire.budget.used == 0

    asyncio.run(main())


@pytest.mark.parametrize(
    "data",
    [
        b"\x7f\xff\xff\xff",
        b"\x80\x00\x00\x00",
        b"\x00\x00\x00\x00",
        b"\x00\x00\x00\x04abcd",
        b"\x00\x00\x00\x0a" + b"\x00\x63\x00\x00" + bytes(6),
        versions(1)[:4] + bytes(len(versions(1)) - 4),
    ],
)
def test_nonsense_closes_its_connection_with_one_line(data: bytes, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        wire = Wire(Handlers().router)
        wire.feed(data + versions(2))
        await turns()
        assert wire.transport.closed
        assert wire.transport.frames() == []
        wire.protocol.connection_lost(None)
        assert wire.budget.used == 0

    with caplog.at_level(logging.INFO):
        asyncio.run(main())
    assert len([record for record in caplog.records if "192.0.2.1:1234" in record.message]) == 1


def test_a_handler_that_breaks_costs_its_connection_only(caplog: pytest.LogCaptureFixture) -> None:
    async def broken(services: Any, request: Any, call: Call) -> None:
        raise ZeroDivisionError

    async def main() -> None:
        wire = Wire(Router([route(ApiKey.API_VERSIONS, broken)]))
        wire.feed(versions(1))
        await turns()
        assert wire.transport.closed

    asyncio.run(main())
    assert "ApiVersions version 0 failed" in caplog.text


def test_produced_records_are_written_though_the_client_has_gone() -> None:
    async def main() -> None:
        handlers = Handlers()
        wire = Wire(handlers.router)
        wire.feed(produce(1, "p", acks=0) + fetch(2, "held f"))
        wire.protocol.connection_lost(None)
        await turns(5)
        assert handlers.started == ["p"]
        assert wire.budget.used == 0

    asyncio.run(main())


def test_an_announcement_takes_nothing_and_a_large_frame_waits_its_turn() -> None:
    async def main() -> None:
        handlers = Handlers()
        first = Wire(handlers.router, frame_bytes=1 << 24, connection_bytes=1 << 24)
        first.feed((1 << 23).to_bytes(4) + bytes(100))
        assert first.budget.used == 0
        data = produce(7, size=3 << 20)
        assert first.feed(bytes(0)) == 0
        second = Wire(handlers.router, frame_bytes=1 << 24, connection_bytes=1 << 24)
        assert second.feed(data) == len(data)
        await turns()
        assert second.transport.correlation_ids() == [7]
        assert second.budget.used == 0

    asyncio.run(main())


def test_waiting_fetches_take_nothing_of_the_budget() -> None:
    async def main() -> None:
        handlers = Handlers()
        wire = Wire(handlers.router)
        wire.feed(b"".join(fetch(number, "held") for number in range(50)))
        await turns()
        assert wire.budget.used == 0

    asyncio.run(main())


def test_a_connection_that_waits_for_itself_and_then_for_the_budget_is_not_forgotten() -> None:
    async def main() -> None:
        handlers = Handlers()
        wire = Wire(handlers.router, connection_bytes=500, request_bytes=4000)
        wire.feed(produce(1, "held", size=600) + versions(2))
        await turns()
        assert not wire.transport.reading
        wire.budget.add_small(1000)
        handlers.let_go("held")
        await turns(5)
        assert wire.transport.correlation_ids() == [1]
        wire.budget.remove_small(1000)
        wire.registry.room_in_budget()
        await turns(5)
        assert wire.transport.correlation_ids() == [1, 2]
        assert wire.transport.reading

    asyncio.run(main())
